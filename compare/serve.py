"""One scenario served to any client, in any language, and the report on what that client did."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from compare.backends import demo_model, script
from compare.comparison import Comparison, compare, enforced_or_not, watched
from compare.judge import judge
from compare.runner import API_KEY, Run, Task
from compare.scenario import Scenario, ScenarioError, find
from compare.server import ModelServer
from protocol.profile import Profile

CLIENT = "client"
DEMO = "demo"


def serve_client(name: str, port: int, say: Callable[[str], Any], enforced: Profile | None = None) -> Comparison:
    """Serve until interrupted (SIGINT or SIGTERM), then judge by the wire alone.

    `name` is a scenario's name or file, or `demo` for the demo model. What to point the client at goes to `say`.
    With a profile enforced, the server refuses what that provider would; then nothing is expected.
    Raises ScenarioError, and OSError in one line for a port that is taken.
    """
    scenario = None if name == DEMO else one_of(name)
    task = task_of(scenario)
    backend = enforced_or_not(demo_model if scenario is None else script(scenario.replies, scenario.model), enforced)
    started = time.perf_counter()
    with interrupted() as stop, ModelServer(backend, task.model, port) as server:
        say(f"OPENAI_BASE_URL={server.base_url}\nOPENAI_API_KEY={API_KEY}\nOPENAI_MODEL={task.model}")
        if scenario is not None:
            say(f"Prompt: {scenario.prompt}")
        say("Point your client there; Ctrl-C ends the serving and shows the report.")
        stop.wait()
        exchanges, seconds = list(server.exchanges), time.perf_counter() - started
        run = Run(CLIENT, task, [], exchanges, [], None, None, None, seconds, server.port, foreign=True)
    judged = judge(run, len(scenario.replies) if scenario and not enforced else None, watched(scenario, enforced))
    if scenario is None:
        return compare(DEMO, "The demo model", "", task, [judged], None, enforced)
    expected = None if enforced else scenario.expected
    return compare(scenario.name, scenario.title, scenario.teaches, task, [judged], expected, enforced)


def one_of(name: str) -> Scenario:
    """The one scenario that the word names. Raises ScenarioError, also for a folder with several."""
    found = find(name)
    if len(found) > 1:
        names = ", ".join(scenario.name for scenario in found[:3])
        raise ScenarioError(
            f"{name}: holds {len(found)} scenarios, but one is served at a time; name one: {names}, ..."
        )
    return found[0]


def task_of(scenario: Scenario | None) -> Task:
    """What the client is asked to do, where a scenario says so."""
    if scenario is None:
        return Task("", "demo-model")
    return Task(scenario.prompt, scenario.model, scenario.system, scenario.max_rounds, scenario.workspace)


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
