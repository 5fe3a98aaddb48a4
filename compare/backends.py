"""Who answers a request in the model's place: a script, or the demo model."""

from collections.abc import Sequence

from compare import demo
from compare.replies import Reply, Scripted, ScriptedMessage, ScriptedStream, to_reply
from compare.server import Backend, Request
from compare.streams import to_stream
from compare.wire import error_reply
from protocol import encode_json


def script(replies: Sequence[Scripted], model: str) -> Backend:
    """A backend that gives the replies in order, whatever is asked; after the last comes an error that says so.

    Each goes out as a stream where the request asks for one.
    """
    asked = 0

    def answer(request: Request) -> Reply:
        nonlocal asked
        asked += 1
        if asked > len(replies):
            # 400, because clients send a request again after most other errors.
            return error_reply(400, f"request {asked}, but the script ends after {len(replies)}")
        scripted = replies[asked - 1]
        if request.streamed:
            return to_stream(scripted, asked, model, wants_usage(request))
        if isinstance(scripted, ScriptedStream) and scripted.plain is None:
            return error_reply(400, f"reply {asked} of the script is a stream; send the request with stream true")
        return to_reply(scripted, asked, model)

    return answer


def demo_model(request: Request) -> Reply:
    """The backend of `diptych ask`: a small program with rules in the place of a model."""
    envelope = request.body.envelope or {}
    model, usage = envelope.get("model", "demo-model"), {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    choice = demo.answer({**envelope, "messages": request.body.messages()})
    if request.streamed:
        message = ScriptedMessage(encode_json(choice["message"]).decode(), choice["finish_reason"], usage)
        return to_stream(message, request.number, model, wants_usage(request))
    reply = {
        "id": f"chatcmpl-{request.number}",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, **choice}],
        "usage": usage,
    }
    return Reply(200, (("Content-Type", "application/json"),), encode_json(reply))


def wants_usage(request: Request) -> bool:
    """Whether a request for a stream asks for the usage at its end."""
    options = (request.body.envelope or {}).get("stream_options")
    return isinstance(options, dict) and options.get("include_usage") is True
