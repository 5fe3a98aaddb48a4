"""`python check.py 3` says whether the exercise of lesson 3 is solved, and what is missing where it is not."""

import importlib
import json
import sys

import click

from compare.backends import demo_model, script
from compare.comparison import compare_scenario
from compare.findings import SEVERITIES
from compare.judge import Judged
from compare.lanes import LaneError, load_lane, load_lanes, one_line
from compare.process import AS_EXPECTED, SURPRISED, WRONG_USE, lanes_at_work
from compare.replies import Reply
from compare.rows import DIFFERENT
from compare.scenario import ScenarioError, find
from compare.server import ModelServer, Request
from protocol import read_reply, tool_calls

LANES = {
    "2": ("step2_back", "one-call", "reasoning-content-lost", "thought-signature-on-a-call"),
    "3": ("step3_result", "one-call", "list-then-read", "id-long"),
    "4": ("step4_two_calls", "one-call", "two-calls-in-one-turn", "three-tools-in-one-turn", "same-call-twice"),
    "5": ("step5_errors", "unknown-tool", "arguments-not-json", "arguments-missing-field", "division-by-zero"),
    "6": ("step6_limit", "endless-caller", "one-round-only", "answer-in-the-last-round", "finish-length-in-an-answer"),
}
"""The lanes that are exercises, each with the scenarios that it has to get through."""


def problem(lesson: str) -> str:
    """What is missing in the exercise of a lesson, in one line; empty where it is solved."""
    match lesson:
        case "1":
            return problem_of_request()
        case "7":
            return problem_of_tool()
        case "8":
            return problem_of_scenario()
    return problem_of_lane(*LANES[lesson])


def problem_of_request() -> str:
    """Whether the request makes the demo model call the calculator."""
    with ModelServer(demo_model, "demo-model") as server:
        reply = importlib.import_module("step1_request").ask(server.base_url)
    message, _ = read_reply(json.dumps(reply).encode())
    return "" if tool_calls(message) else f"the model did not call the calculator, it said: {message.get('content')}"


def problem_of_lane(name: str, *scenarios: str) -> str:
    """The first thing that the lane does and a faithful one would not."""
    lane = load_lane(name)
    for scenario in scenarios:
        result = compare_scenario(find(scenario)[0], [lane])
        if surprises := result.surprises[lane.name]:
            what = worst(result.lanes[0]) or surprises[0]
            return f"{what}. See: diptych run {scenario} --lanes raw,{name}"
    return ""


def worst(lane: Judged) -> str:
    """What the lane raised, else the gravest of what was found in it, in words; empty where there is neither."""
    if (error := lane.run.raised) is not None:
        return f"it raises {type(error).__name__}: {error} ({lane.run.raised_at})"
    # What the lane says of itself is wrong, too, where something else is: that is for last.
    for one in sorted(lane.findings, key=lambda one: (-SEVERITIES.index(one.severity), one.kind == "claim-differs")):
        return f"{one.kind} at {one.path}: {one.consequence}"
    return ""


def problem_of_tool() -> str:
    """Whether both loops offer the tool as the lesson says, and bring back what it counted."""
    scenario = find("step7_words.toml")[0]
    scripts = [script(scenario.replies, scenario.model) for _ in range(2)]
    # The second loop's first request is the first that holds no more than the prompt again.
    begun = 0

    def answer(request: Request) -> Reply:
        nonlocal begun
        begun += len(request.body.messages()) == 1
        return scripts[begun - 1](request)

    with ModelServer(answer) as server:
        importlib.import_module("step7_tool").main(server.base_url)
    bodies = [json.loads(exchange.request.body.raw()) for exchange in server.exchanges]
    for body in bodies:
        offered = body["tools"][0]["function"]["parameters"]
        if offered["properties"].get("text", {}).get("type") != "string" or offered.get("required") != ["text"]:
            return f"the schema should have text, a string, which is required, but it is {json.dumps(offered)}"
    told = [str(body["messages"][-1]["content"]) for body in bodies if len(body["messages"]) == 5]
    if len(told) < 2:
        return "a loop ended early"
    wrong = [text for text in told if "6" not in text]
    return f"the model is told {wrong[0]}, but to be or not to be are 6 words" if wrong else ""


def problem_of_scenario() -> str:
    """Whether the loops part on the learner's scenario, and the file says so."""
    scenario = find("step8_mine.toml")[0]
    results = [compare_scenario(scenario, load_lanes("raw,lc"), mode) for mode in scenario.modes]
    if all(result.verdict != DIFFERENT for result in results):
        return "the loops do not part on this scenario yet; change what the model says"
    surprises = [one for result in results for each in result.surprises.values() for one in each]
    return f"{surprises[0]}. Look at it, then: diptych accept step8_mine.toml" if surprises else ""


def main(arguments: list[str]) -> int:
    """Check one lesson; returns the exit code."""
    if len(arguments) != 1 or arguments[0] not in {"1", "7", "8", *LANES}:
        click.echo("python check.py LESSON, where LESSON is a number from 1 to 8", err=True)
        return WRONG_USE
    try:
        with lanes_at_work():
            what = problem(arguments[0])
    except (LaneError, ScenarioError) as error:
        what = str(error)
    except Exception as error:  # noqa: BLE001 # the learner's code may fail in any way
        what = f"it raises {type(error).__name__}: {error}"
    if what:
        click.echo(f"lesson {arguments[0]}: not yet. {one_line(what)}", err=True)
        return SURPRISED
    click.echo(f"lesson {arguments[0]}: solved")
    return AS_EXPECTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
