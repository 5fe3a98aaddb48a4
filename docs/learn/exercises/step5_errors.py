"""Lesson 5: the loop of lesson 4 without the toolbox's help, which ends where anything goes wrong."""

import json

import httpx


def observe(by_name, call):
    """Carry out one call; returns what the model is told, as JSON text."""
    # Exercise: whatever goes wrong in these three lines is for the model to know.
    tool = by_name[call["function"]["name"]]
    arguments = json.loads(call["function"]["arguments"])
    result = tool.function(**arguments)
    return json.dumps({"ok": True, "result": result})


def run(prompt, tools, *, base_url, model, api_key, system=None, max_rounds=8, timeout=60.0):
    """Answer the prompt; returns all messages and the stop reason."""
    by_name = {tool.name: tool for tool in tools}
    schemas = [tool.schema() for tool in tools]
    messages = [{"role": "user", "content": prompt}]
    for _ in range(max_rounds):
        request = {"model": model, "tools": schemas, "messages": messages}
        reply = httpx.post(f"{base_url}/chat/completions", json=request, timeout=timeout).json()
        if "error" in reply:
            return messages, "http-error"
        message = reply["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return messages, "answer"
        for call in message["tool_calls"]:
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": observe(by_name, call)})
    return messages, "round-limit"
