"""Lesson 4: the loop of lesson 3, written by someone who has only ever seen one call in a turn."""

import httpx

from toolbox import execute


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
        # Exercise: answer every call.
        call = message["tool_calls"][0]
        observation = execute(by_name, call["function"]["name"], call["function"]["arguments"])
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": observation})
    return messages, "round-limit"
