"""Lesson 6: the loop of lesson 4, which never stops by itself and calls every ending an answer."""

import httpx

from toolbox import execute


def run(prompt, tools, *, base_url, model, api_key, system=None, max_rounds=8, timeout=60.0):
    """Answer the prompt; returns all messages and the stop reason."""
    by_name = {tool.name: tool for tool in tools}
    schemas = [tool.schema() for tool in tools]
    messages = [{"role": "user", "content": prompt}]
    # Exercise, first half: at most max_rounds requests; then the run ends as "round-limit".
    while True:
        request = {"model": model, "tools": schemas, "messages": messages}
        reply = httpx.post(f"{base_url}/chat/completions", json=request, timeout=timeout).json()
        if "error" in reply:
            return messages, "http-error"
        message = reply["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            # Exercise, second half: where the choice has the finish_reason "length", this is "cut-off".
            return messages, "answer"
        for call in message["tool_calls"]:
            observation = execute(by_name, call["function"]["name"], call["function"]["arguments"])
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": observation})
