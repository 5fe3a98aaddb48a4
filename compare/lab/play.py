"""What is played: a prompt or a scenario through the lanes, and the lane in the page beside them where it is wanted."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from compare.backends import demo_model, script
from compare.comparison import Comparison, compare, task_of
from compare.comparison import watched as profiles_of
from compare.judge import judge
from compare.lab.browser_lane import BrowserLane
from compare.lab.events import compared_data, ended_data
from compare.lab.show import AT_ONCE, PATIENCE, Show, Stopped
from compare.lab.stage import Watched, run_watched
from compare.lanes import Lane
from compare.modes import PLAIN, STREAM
from compare.process import lanes_at_work
from compare.runner import Run, Task
from compare.scenario import Scenario
from compare.server import Backend, ModelServer

MODEL = "demo-model"


@dataclass(frozen=True)
class Play:
    """A prompt, with the scenario that it is from where there is one, and what plays the model's part."""

    task: Task
    scenario: Scenario | None = None

    def backend(self) -> Backend:
        """The model of one lane."""
        return script(self.scenario.replies, self.scenario.model) if self.scenario else demo_model

    def compared(self, runs: Sequence[Run]) -> Comparison:
        """The runs, judged and laid side by side."""
        one = self.scenario
        if one is None:
            return compare("lab", self.task.prompt, "", self.task, [judge(run) for run in runs], None)
        judged = [judge(run, len(one.replies), profiles_of(one, None)) for run in runs]
        mode = STREAM if self.task.stream else PLAIN
        # What is expected of a lane is known for those that offer the scenario's own tools; the page's does not.
        known = None if any(run.foreign for run in runs) else lambda lane: one.expected(lane, mode)
        return compare(one.name, one.title, one.teaches, self.task, judged, known)


def play_of(prompt: str, scenario: Scenario | None, mode: str) -> Play:
    """The play of a prompt, or of a scenario in one of its modes."""
    if scenario is None:
        return Play(Task(prompt, MODEL, timeout=PATIENCE))
    task = task_of(scenario, mode)
    return Play(task if hurried(scenario) else replace(task, timeout=PATIENCE), scenario)


def hurried(scenario: Scenario) -> bool:
    """Whether the scenario is about the time that a lane has for a reply: then nothing may hold one back."""
    return scenario.timeout < Task("", "").timeout


def pace_of(play: Play, pace: str) -> str:
    """The pace that is wanted, where the play allows one."""
    return AT_ONCE if play.scenario is not None and hurried(play.scenario) else pace


def perform(show: Show, play: Play, lanes: Sequence[Lane], browser: BrowserLane | None = None) -> None:
    """Let all lanes play at the same time, each against a model of its own, and compare them when all have ended."""

    def one(lane: Lane) -> Run:
        watched = Watched(show, lane.name, play.task)
        return told(
            show, run_watched(lane, watched, play.backend(), lambda backend: ModelServer(backend, play.task.model))
        )

    jobs: list[Callable[[], Run]] = [partial(one, lane) for lane in lanes]
    if browser is not None:
        jobs.append(lambda: told(show, browser.wait()))
    with lanes_at_work(), ThreadPoolExecutor(len(jobs)) as pool:
        runs = list(pool.map(lambda job: job(), jobs))
    show.tell("compared", comparison=compared_data(play.compared(runs)))


def told(show: Show, run: Run) -> Run:
    """The run, after telling how it ended."""
    show.tell("ended", lane=run.lane, **ended_data(judge(run)))
    return run


def begin(show: Show, work: Callable[[], None], before: Show | None = None, secret: str = "") -> None:
    """Begin the work in a thread of its own, when the show before is over: they change the environment.

    Whatever happens in it, the show is over afterwards. A fault is told without the secret.
    """

    def run() -> None:
        if before is not None:
            before.over.wait()
        try:
            work()
        except Stopped:
            show.tell("stopped")
        except Exception as error:  # noqa: BLE001 # told to the reader, who would wait for ever otherwise
            text = f"{type(error).__name__}: {error}"
            show.tell("fault", text=text.replace(secret, "***") if secret else text)
        finally:
            show.over.set()

    threading.Thread(target=run, name="show", daemon=True).start()
