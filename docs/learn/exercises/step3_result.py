"""Lesson 3: the loop of lesson 2, with a tool message that does not say what it answers."""

import httpx

from toolbox import execute


def tool_message(call, observation):
    """The message that brings the result of a call back to the model."""
    # Exercise: say which call this is the result of.
    return {"role": "tool", "content": observation}


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
            observation = execute(by_name, call["function"]["name"], call["function"]["arguments"])
            messages.append(tool_message(call, observation))
    return messages, "round-limit"
