"""Tiny lanes with exactly one thing wrong each, named for it: each departs from the faithful lane in one step."""

import json
from collections.abc import Callable
from typing import Any

import httpx

from protocol import Message, opening, tool_calls, tool_message
from tests.faithful import Loop, RunLane, StreamLoop, failure, lane

MINIATURES: dict[str, RunLane] = {}
"""The miniatures whose fault shows in both modes, by name."""


def departs_in(step: str, among: dict[str, RunLane] = MINIATURES) -> Callable[[Callable[..., Any]], RunLane]:
    """Make a miniature of a function that takes the place of one step of the loop; it is entered into `among`."""

    def make(fault: Callable[..., Any]) -> RunLane:
        plain, streamed = (type(fault.__name__, (base,), {step: fault}) for base in (Loop, StreamLoop))
        among[fault.__name__] = run = lane(plain, streamed)
        return run

    return make


def with_call(message: Message, number: int, **changes: Any) -> Message:
    """The message with the function of one of its calls changed."""
    calls = tool_calls(message)
    if not calls:
        return message
    changed = {**calls[number], "function": {**calls[number]["function"], **changes}}
    return {**message, "tool_calls": [*calls[:number], changed, *calls[number + 1 :]]}


# What goes back for the model's message


@departs_in("back")
def drops_reasoning(loop: Loop, reply: Message) -> list[Message]:
    """The reasoning does not go back."""
    return [{key: value for key, value in reply.items() if key != "reasoning_content"}]


@departs_in("back")
def renames_reasoning(loop: Loop, reply: Message) -> list[Message]:
    """The reasoning goes back under the key of another provider."""
    return [{("reasoning" if key == "reasoning_content" else key): reply[key] for key in reply}]


@departs_in("back")
def adds_a_field(loop: Loop, reply: Message) -> list[Message]:
    """The assistant gets a name."""
    return [{**reply, "name": "assistant"}]


@departs_in("back")
def drops_a_call(loop: Loop, reply: Message) -> list[Message]:
    """Of several calls, all but the last go back."""
    return [{**reply, "tool_calls": reply["tool_calls"][:-1]}] if "tool_calls" in reply else [reply]


@departs_in("back")
def forgets_the_message(loop: Loop, reply: Message) -> list[Message]:
    """The message with the calls does not go back, so neither do their results."""
    return [] if tool_calls(reply) else [reply]


@departs_in("back")
def changes_an_id(loop: Loop, reply: Message) -> list[Message]:
    """Each call, and its result, gets an id of the lane's own making."""
    calls = [{**call, "id": f"mine_{call['id']}"} for call in tool_calls(reply)]
    return [{**reply, "tool_calls": calls}] if calls else [reply]


@departs_in("back")
def reserialises_arguments(loop: Loop, reply: Message) -> list[Message]:
    """The arguments are parsed, and written anew."""
    calls = tool_calls(reply)
    if not calls:
        return [reply]
    values = json.loads(calls[0]["function"]["arguments"])
    return [with_call(reply, 0, arguments=json.dumps(values))]


@departs_in("back")
def rounds_numbers(loop: Loop, reply: Message) -> list[Message]:
    """Numbers with a point come back without it."""
    calls = tool_calls(reply)
    if not calls:
        return [reply]
    values = json.loads(calls[0]["function"]["arguments"], parse_float=lambda text: int(float(text)))
    return [with_call(reply, 0, arguments=json.dumps(values))]


# What answers the calls


@departs_in("answers")
def swaps_ids(loop: Loop, ids: list[Any], *turn: Any) -> list[Message]:
    """Each result goes back under the id of another call."""
    messages = Loop.answers(loop, ids, *turn)
    contents = [message["content"] for message in reversed(messages)]
    return list(map(tool_message, ids, contents))


@departs_in("answers")
def answers_twice(loop: Loop, *turn: Any) -> list[Message]:
    """The last call's result goes back twice."""
    messages = Loop.answers(loop, *turn)
    return [*messages, messages[-1]]


@departs_in("answers")
def forgets_a_call(loop: Loop, *turn: Any) -> list[Message]:
    """The last call is run, and not answered."""
    return Loop.answers(loop, *turn)[:-1]


@departs_in("answers")
def answers_in_reverse(loop: Loop, *turn: Any) -> list[Message]:
    """The last call is answered first."""
    return Loop.answers(loop, *turn)[::-1]


@departs_in("answers")
def reorders_calls(loop: Loop, *turn: Any) -> list[Message]:
    """The last call goes back first; the results stay in the order of the calls."""
    loop.messages[-1] = {**loop.messages[-1], "tool_calls": loop.messages[-1]["tool_calls"][::-1]}
    return Loop.answers(loop, *turn)


@departs_in("answers")
def invents_a_result(loop: Loop, *turn: Any) -> list[Message]:
    """A result goes back that no call asked for."""
    messages = Loop.answers(loop, *turn)
    return [*messages, tool_message("call_of_nobody", failure("none", "nobody asked"))]


@departs_in("answers")
def adds_a_message(loop: Loop, *turn: Any) -> list[Message]:
    """The lane speaks for the user behind the results."""
    messages = Loop.answers(loop, *turn)
    return [*messages, {"role": "user", "content": "Go on."}]


@departs_in("answers")
def talks_before_answering(loop: Loop, *turn: Any) -> list[Message]:
    """A message stands between the calls and their results."""
    messages = Loop.answers(loop, *turn)
    return [{"role": "user", "content": "Here it comes."}, *messages]


@departs_in("answers")
def marks_its_results(loop: Loop, *turn: Any) -> list[Message]:
    """Each tool message has a key that is no key of tool messages."""
    messages = Loop.answers(loop, *turn)
    return [{**message, "status": "success"} for message in messages]


@departs_in("answers")
def loses_the_first_call_when_broken(loop: Loop, *turn: Any) -> list[Message]:
    """A call whose arguments are no JSON is not answered."""
    messages = Loop.answers(loop, *turn)
    return messages[1:] if '"invalid_json"' in messages[0]["content"] else messages


# What one call comes to


@departs_in("observation")
def executes_cut_off_call(loop: Loop, call: Any, finish_reason: Any, whole: bool) -> str:
    """A turn that was cut off is executed all the same."""
    return Loop.observation(loop, call, "tool_calls", whole)


@departs_in("execute")
def executes_twice(loop: Loop, name: Any, arguments: Any) -> str:
    """Each tool runs twice for one call."""
    Loop.execute(loop, name, arguments)
    return Loop.execute(loop, name, arguments)


@departs_in("execute")
def claims_success(loop: Loop, name: Any, arguments: Any) -> str:
    """The model is told that a failed tool succeeded."""
    return json.dumps({**json.loads(Loop.execute(loop, name, arguments)), "ok": True})


@departs_in("execute")
def claims_failure(loop: Loop, name: Any, arguments: Any) -> str:
    """The model is told that a tool which succeeded failed."""
    return json.dumps({**json.loads(Loop.execute(loop, name, arguments)), "ok": False})


@departs_in("execute")
def makes_up_a_result(loop: Loop, name: Any, arguments: Any) -> str:
    """The model is told of a result, and no tool ran."""
    return json.dumps({"ok": True, "result": 42})


@departs_in("execute")
def cuts_a_result_short(loop: Loop, name: Any, arguments: Any) -> str:
    """The model gets the first characters of each result."""
    result = json.loads(Loop.execute(loop, name, arguments)).get("result")
    return str(result)[:2]


@departs_in("execute")
def coerces_arguments(loop: Loop, name: Any, arguments: Any) -> str:
    """A value of another type than the schema wants is made to fit."""
    values = {key: str(value) for key, value in json.loads(arguments).items()}
    return Loop.execute(loop, name, json.dumps(values))


@departs_in("execute")
def leaves_out_an_argument(loop: Loop, name: Any, arguments: Any) -> str:
    """The tool runs without an argument that the model gave."""
    known = loop.tools[name].parameters["properties"]
    values = {key: value for key, value in json.loads(arguments).items() if key in known}
    return Loop.execute(loop, name, json.dumps(values))


@departs_in("execute")
def words_errors_otherwise(loop: Loop, name: Any, arguments: Any) -> str:
    """A failure is told in words of the lane's own."""
    observation = Loop.execute(loop, name, arguments)
    return observation if json.loads(observation)["ok"] else "Error: that did not work. Please fix your mistakes."


@departs_in("execute")
def lets_the_tool_raise(loop: Loop, name: Any, arguments: Any) -> str:
    """The exception of a tool escapes."""
    result = loop.tools[name].function(**json.loads(arguments))
    return json.dumps({"ok": True, "result": result})


@departs_in("execute")
def raises_after_the_tool_ran(loop: Loop, name: Any, arguments: Any) -> str:
    """The lane itself raises once the tool has run."""
    raise RuntimeError(f"lost {Loop.execute(loop, name, arguments)}")


# What is asked, and how


@departs_in("opening")
def changes_the_prompt(loop: Loop, prompt: str, system: str | None) -> list[Message]:
    """The prompt goes out with a space behind it."""
    return opening(f"{prompt} ", system)


@departs_in("opening")
def adds_instructions(loop: Loop, prompt: str, system: str | None) -> list[Message]:
    """A message follows the prompt that nobody gave."""
    return [*opening(prompt, system), {"role": "system", "content": "Be brief."}]


@departs_in("opening")
def forgets_the_system_text(loop: Loop, prompt: str, system: str | None) -> list[Message]:
    """The system text is not sent."""
    return opening(prompt, None)


@departs_in("body")
def shortens_the_history(loop: Loop) -> dict[str, Any]:
    """The results of earlier rounds are cut short in what is sent."""
    body = Loop.body(loop)
    for index, message in enumerate(loop.messages[:-1]):
        if message["role"] == "tool":
            loop.messages[index] = {**message, "content": "(cleared)"}
    return body


@departs_in("body")
def forgets_the_beginning(loop: Loop) -> dict[str, Any]:
    """Once the conversation is long, its first message is not sent any more."""
    if len(loop.messages) > 4:
        del loop.messages[0]
    return Loop.body(loop)


@departs_in("body")
def asks_another_model(loop: Loop) -> dict[str, Any]:
    """The model's name is not the one that was given."""
    return {**Loop.body(loop), "model": "another-model"}


@departs_in("body")
def renames_the_model(loop: Loop) -> dict[str, Any]:
    """The model's name goes out under another key."""
    return {("engine" if key == "model" else key): value for key, value in Loop.body(loop).items()}


@departs_in("body")
def adds_a_temperature(loop: Loop) -> dict[str, Any]:
    """A parameter goes out that nobody set."""
    return {**Loop.body(loop), "temperature": 0}


@departs_in("body")
def leaves_out_the_tools(loop: Loop) -> dict[str, Any]:
    """The model is not told of the tools."""
    return {key: value for key, value in Loop.body(loop).items() if key != "tools"}


@departs_in("body")
def leaves_out_a_description(loop: Loop) -> dict[str, Any]:
    """The tools go out without their descriptions."""
    body = Loop.body(loop)
    functions = [{**schema["function"]} for schema in body["tools"]]
    for function in functions:
        del function["description"]
    return {**body, "tools": [{"type": "function", "function": function} for function in functions]}


@departs_in("ask")
def retries_silently(loop: Loop, client: httpx.Client) -> httpx.Response:
    """A request that failed goes out once more."""
    response = Loop.ask(loop, client)
    return response if response.is_success else Loop.ask(loop, client)


@departs_in("ask")
def goes_elsewhere(loop: Loop, client: httpx.Client) -> httpx.Response:
    """Another endpoint is asked as well."""
    client.get("usage")
    return Loop.ask(loop, client)


@departs_in("ask")
def sends_what_cannot_be_read(loop: Loop, client: httpx.Client) -> httpx.Response:
    """The request is no JSON."""
    return client.post("chat/completions", content=json.dumps(loop.body())[:-1])


@departs_in("ask")
def runs_a_tool_unasked(loop: Loop, client: httpx.Client) -> httpx.Response:
    """A tool runs before the model has said anything."""
    if len(loop.messages) == 1:
        loop.execute("calculator", '{"expression": "1"}')
    return Loop.ask(loop, client)


# When it ends, and what is said of it


@departs_in("run")
def stops_early(loop: Loop, client: httpx.Client, max_rounds: int) -> tuple[list[Any], str]:
    """The run ends with the model's first message, whatever it asks for."""
    reply, _, _ = loop.hear(loop.ask(client))
    loop.messages += loop.back(reply)
    return loop.claim("unanswered-calls")


@departs_in("run")
def asks_again(loop: Loop, client: httpx.Client, max_rounds: int) -> tuple[list[Any], str]:
    """The model is asked once more behind its answer."""
    claimed = Loop.run(loop, client, max_rounds)
    loop.ask(client)
    return claimed


@departs_in("claim")
def claims_an_answer(loop: Loop, stop: str) -> tuple[list[Any], str]:
    """The lane says that the model answered, whatever it did."""
    return loop.messages, "answer"


@departs_in("claim")
def tells_another_story(loop: Loop, stop: str) -> tuple[list[Any], str]:
    """The answer that the lane returns is not the model's."""
    return [*loop.messages[:-1], {"role": "assistant", "content": "All is well."}], stop


@departs_in("claim")
def tells_more_than_happened(loop: Loop, stop: str) -> tuple[list[Any], str]:
    """The lane returns a result that was never asked for, behind the answer."""
    return [*loop.messages, tool_message("call_9", "9")], stop


@departs_in("claim")
def leaves_out_the_end(loop: Loop, stop: str) -> tuple[list[Any], str]:
    """The lane returns all but the last message."""
    return loop.messages[:-1], stop
