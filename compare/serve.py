"""One scenario served to any client, in any language, and the report on what that client did."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from compare.backends import demo_model, script
from compare.body import read_whole
from compare.comparison import Comparison, compare, task_of, watched
from compare.conversations import Conversations
from compare.heard import heard_to_the_end
from compare.judge import judge
from compare.modes import PLAIN, STREAM
from compare.replies import to_reply
from compare.runner import API_KEY, Run, Task
from compare.scenario import Scenario, ScenarioError, find
from compare.server import Exchange, ModelServer, Request
from compare.streams import to_stream
from compare.visible import visible
from protocol import tool_calls
from protocol.profile import Profile
from toolbox import standard_tools

CLIENT = "client"
DEMO = "demo"


def serve_client(
    name: str,
    port: int,
    say: Callable[[str], object],
    note: Callable[[str], object],
    enforced: Profile | None = None,
) -> Comparison:
    """Serve until interrupted (SIGINT or SIGTERM), then judge by the wire alone, each conversation as a lane.

    `name` is a scenario's name or file, or `demo` for the demo model; the script begins anew with each conversation.
    What to point the client at goes to `say`, and a line on each request to `note`. With a profile enforced, the server
    refuses what that provider would; then nothing is expected.
    Raises ScenarioError, and OSError in one line for a port that is taken.
    """
    scenario = None if name == DEMO else one_of(name)
    task = Task("", "demo-model") if scenario is None else task_of(scenario, PLAIN)
    scripted = None if scenario is None else len(scenario.replies)
    talks = Conversations(lambda: demo_model if scenario is None else script(scenario.replies, task.model), enforced)
    started = time.perf_counter()

    def notice(exchange: Exchange) -> None:
        note(line_on(exchange, talks.places.get(exchange.request.number), scripted))

    with interrupted() as stop, ModelServer(talks.answer, task.model, port, notice) as server:
        talks.exchanges = server.exchanges
        say(f"OPENAI_BASE_URL={server.base_url}\nOPENAI_API_KEY={API_KEY}\nOPENAI_MODEL={task.model}")
        if scenario is not None:
            say(f"Prompt: {scenario.prompt}\n{tools_line(tools_called(scenario))}")
        say("Point your client there; Ctrl-C ends the serving and shows the report.")
        stop.wait()
        seconds = time.perf_counter() - started
    runs = [
        foreign_run(name_of(number), task, exchanges, seconds, server.port)
        for number, exchanges in enumerate(talks.exchanges_of_each(), start=1)
    ]
    judged = [judge(run, None if enforced else scripted, watched(scenario, enforced)) for run in runs]
    if scenario is None:
        return compare(DEMO, "The demo model", "", runs[0].task, judged, None, enforced)
    modes = {run.lane: STREAM if run.task.stream else PLAIN for run in runs}
    expected = None if enforced else lambda lane: scenario.expected(CLIENT, modes[lane])
    return compare(scenario.name, scenario.title, scenario.teaches, runs[0].task, judged, expected, enforced)


def foreign_run(lane: str, task: Task, exchanges: list[Exchange], seconds: float, port: int) -> Run:
    """One conversation of a client as a run, of which we know nothing but the wire."""
    task = replace(task, stream=any(exchange.request.streamed for exchange in exchanges))
    return Run(lane, task, [], exchanges, [], None, None, None, seconds, port, foreign=True)


def name_of(conversation: int) -> str:
    """How the lane is named that a conversation is."""
    return CLIENT if conversation == 1 else f"{CLIENT} {conversation}"


def line_on(exchange: Exchange, place: tuple[int, int] | None, scripted: int | None) -> str:
    """One request in a line: where it went, and what it got."""
    conversation, reply = place or (1, 0)
    if not reply:  # not for the model, or not as an enforced profile wants it
        got = f"HTTP {exchange.reply.status}"
    elif scripted is None:
        got = f"reply {reply}"
    else:
        got = f"reply {reply} of {scripted}" if reply <= scripted else f"no reply left, the script has {scripted}"
    of = f" ({name_of(conversation)})" if conversation > 1 else ""
    return visible(f"{exchange.request.method} {exchange.request.target.split('?')[0]}: {got}{of}")


def tools_called(scenario: Scenario) -> list[str]:
    """The names of the tools that the scripted replies call, in order."""
    names: dict[str, None] = {}
    for mode in scenario.modes:
        body = read_whole(b'{"messages":[],"stream":true}' if mode == STREAM else b'{"messages":[]}')
        for scripted in scenario.replies:
            make = to_stream if mode == STREAM else to_reply
            request = Request(1, "", "", (), b"", body)
            for call in tool_calls(heard_to_the_end(request, make(scripted, 1, "")).message or {}):
                function = call.get("function") if isinstance(call, dict) else None
                name = function.get("name") if isinstance(function, dict) else None
                names |= {name: None} if isinstance(name, str) and name else {}
    return list(names)


def tools_line(called: list[str]) -> str:
    """What the client must offer, in a line."""
    if not called:
        return "Tools: the replies call none."
    ours = {tool.name for tool in standard_tools(".", write=True)}
    strange = [name for name in called if name not in ours]
    more = f" ({', '.join(strange)}: only if you have it, Diptych's own lanes do not)" if strange else ""
    return visible(f"Tools: the replies call these, so your client must offer them: {', '.join(called)}{more}")


def one_of(name: str) -> Scenario:
    """The one scenario that the word names. Raises ScenarioError, also for a folder with several."""
    found = find(name)
    if len(found) > 1:
        names = ", ".join(scenario.name for scenario in found[:3])
        raise ScenarioError(
            f"{name}: holds {len(found)} scenarios, but one is served at a time; name one: {names}, ..."
        )
    return found[0]


@contextmanager
def interrupted() -> Iterator[threading.Event]:
    """An event that is set by SIGINT or SIGTERM instead of what they do otherwise."""
    event = threading.Event()
    before = {number: signal.signal(number, lambda *_: event.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield event
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
