"""Runs made by hand for the judge's tests: what a client sent, what it got, and which tools ran."""

import json
from collections.abc import Sequence
from typing import Any

from compare.body import Bodies
from compare.judge import Judged, judge
from compare.replies import Reply, compact
from compare.runner import Execution, Run, Task
from compare.server import Exchange, Request
from compare.wire import to_bytes
from toolbox import CALCULATOR
from toolbox.calculator import calculator

USER = {"role": "user", "content": "What is 1+1?"}
CLOSED = Reply(0, (), b"", close=True)


def call(call_id: Any = "call_1", arguments: Any = '{"expression": "1+1"}', name: Any = "calculator") -> dict[str, Any]:
    """A tool call."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asking(*calls: Any) -> dict[str, Any]:
    """An assistant message with tool calls."""
    return {"role": "assistant", "content": None, "tool_calls": list(calls)}


def answering(text: Any = "2") -> dict[str, Any]:
    """An assistant message without."""
    return {"role": "assistant", "content": text}


def result(call_id: Any = "call_1", content: Any = '{"ok": true, "result": 2}') -> dict[str, Any]:
    """A tool message."""
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def saying(message: Any, finish_reason: Any = "stop") -> Reply:
    """The reply that carries a message."""
    choice = {"index": 0, "message": message, "finish_reason": finish_reason}
    return Reply(200, (), compact({"choices": [choice]}).encode())


def failing(status: int = 500) -> Reply:
    """A reply that is an error."""
    return Reply(status, (), b'{"error": {"message": "no"}}')


def use(after: int = 1, expression: str = "1+1") -> Execution:
    """One use of the calculator."""
    try:
        value, error = calculator(expression), None
    except ArithmeticError as raised:
        value, error = None, raised
    return Execution(after, "calculator", {"expression": expression}, {}, value, error, 0.0)


def run_of(
    *steps: tuple[Any, Reply],
    uses: Sequence[Execution] = (),
    target: str = "/v1/chat/completions",
    lane: str = "lane",
    **more: Any,
) -> Run:
    """A run of these requests (their messages, or a whole body) and replies."""
    bodies, exchanges = Bodies(), []
    tools = [CALCULATOR.schema()]
    for number, (sent, reply) in enumerate(steps, 1):
        whole = sent if isinstance(sent, dict) else {"model": "m", "tools": tools, "messages": sent}
        body = bodies.read(json.dumps(whole).encode())
        request = Request(number, "POST", target, (), b"", body)
        for_model = target == "/v1/chat/completions" and not body.problem
        exchanges.append(Exchange(request, reply, to_bytes(reply), 0.0, 0.0, for_model))
    task = Task(USER["content"], "m", max_rounds=more.pop("max_rounds", 8))
    messages, stop, raised = more.pop("messages", None), more.pop("stop", None), more.pop("raised", None)
    return Run(lane, task, tools, exchanges, list(uses), messages, stop, raised, 0.0, 0, **more)


def found(judged: Judged) -> list[str]:
    """The keys of a run's findings, in order."""
    return [finding.key for finding in judged.findings]


def found_in(*steps: tuple[Any, Reply], scripted: int | None = None, **more: Any) -> list[str]:
    """The keys of the findings about a run of these steps."""
    return found(judge(run_of(*steps, **more), scripted))
