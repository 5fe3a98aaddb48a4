"""Who answers a request in the model's place: a script, or the demo model."""

import json
from collections.abc import Sequence

from compare import demo
from compare.replies import Reply, Scripted, compact, to_reply
from compare.server import Backend, Request
from compare.wire import error_reply


def script(replies: Sequence[Scripted], model: str) -> Backend:
    """A backend that gives the replies in order, whatever is asked; after the last comes an error that says so."""
    asked = 0

    def answer(request: Request) -> Reply:
        nonlocal asked
        asked += 1
        if asked > len(replies):
            # 400, because clients send a request again after most other errors.
            return error_reply(400, f"request {asked}, but the script ends after {len(replies)}")
        return to_reply(replies[asked - 1], asked, model)

    return answer


def demo_model(request: Request) -> Reply:
    """The backend of `diptych ask`: a small program with rules in the place of a model."""
    envelope = request.body.envelope or {}
    choice = demo.answer({**envelope, "messages": request.body.messages()})
    reply = {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 0,
        "model": envelope.get("model", "demo-model"),
        "choices": [{"index": 0, **choice}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
    }
    return Reply(200, (("Content-Type", "application/json"),), encode(reply))


def encode(value: object) -> bytes:
    """The value as JSON in UTF-8; with ASCII escapes where it holds text that UTF-8 cannot carry."""
    try:
        return compact(value).encode()
    except UnicodeEncodeError:  # a lone surrogate, which the user's prompt may hold and the answer repeat
        return json.dumps(value, separators=(",", ":")).encode()
