"""LangChain's own agent as a lane: where it goes as the textbook graph does, and where the two part."""

import inspect
import logging
import subprocess
import sys
import warnings
from typing import Any

import pytest

import lc
from compare.comparison import compare_scenario
from compare.lanes import load_lanes
from compare.report import report
from compare.scenario import find
from compare.server import ModelServer
from lc import prebuilt
from tests.servers import bodies, broken_tool, calls, echo_tool, results, says, serving, settings
from tests.test_layers import loaded_by
from toolbox import Tool

BROKEN = '{"text": '
WHOLE = '{"text": "a"}'
SAID = "Tool call echo with id {} could not be executed - arguments were malformed or truncated."
EITHER = pytest.mark.parametrize("run", [lc.run, prebuilt.run], ids=["graph", "prebuilt"])


def run(server: ModelServer, *tools: Tool, **more: Any) -> tuple[list[Any], str]:
    return prebuilt.run("hello", list(tools or [echo_tool()]), **settings(server), **more)


# --- over the catalogue ---

SAMPLE = [
    "one-call",
    "two-calls-in-one-turn",
    "system-prompt",
    "one-round-only",
    "endless-caller",
    "arguments-not-json",
    "arguments-cut-off",
    "arguments-cut-off-unlabelled",
    "stream-ends-in-a-sum",
    "arguments-null-as-text",
    "one-good-one-broken-call",
    "one-broken-one-good-call",
    "index-zero-for-all-calls",
    "id-changes-in-a-call",
    "arguments-a-list",
    "arguments-a-number",
    "arguments-encoded-twice",
    "arguments-as-object",
    "division-by-zero",
    "missing-file",
    "one-good-one-raising-call",
    "unknown-tool",
    "id-missing",
    "id-missing-in-two-calls",
    "custom-call",
    "custom-call-beside-a-good-one",
    "call-without-function",
    "arguments-wrong-type",
    "arguments-missing-field",
    "arguments-extra-field",
    "message-id-constant",
    "id-reused-in-a-later-round",
    "reasoning-content-lost",
    "model-name-picks-the-endpoint",
]
"""Where something is lost, refused, crashes or ends early, in this agent or in the textbook graph."""
RUNS = [(name, mode) for name in SAMPLE for mode in find(name)[0].modes]


@pytest.mark.parametrize("scenario", RUNS, ids="-".join)
def test_a_scenario_goes_as_expected(scenario: tuple[str, str]) -> None:
    """No difference that is not known, and none that is gone, plain or streamed."""
    name, mode = scenario
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outside of pytest, too, a warning of pydantic's is no crash of the lane
        compared = compare_scenario(find(name)[0], load_lanes("lc.prebuilt"), mode)
    (lane,) = report([compared])["comparisons"][0]["lanes"]
    assert (["lc.prebuilt"], []) == ([lane["name"]], lane["surprises"])


# --- what it shares with the textbook graph ---


def test_it_has_the_signature_and_the_docstring_of_the_textbook_graph() -> None:
    """A diff of the files shows only the idea."""
    assert inspect.signature(lc.run) == inspect.signature(prebuilt.run)
    assert lc.run.__doc__ == prebuilt.run.__doc__


@pytest.mark.parametrize("stream", [False, True])
def test_its_requests_are_the_bytes_that_the_textbook_graph_sends(stream: bool) -> None:
    """With a system text, and with a result behind a call; and it tells the same of what happened."""
    sent, told = [], []
    for lane in (lc.run, prebuilt.run):
        with serving(calls(("c1", "echo", WHOLE)), says("b")) as server:
            told.append(lane("hello", [echo_tool()], **settings(server), system="be brief", stream=stream))
            sent.append([exchange.request.body.raw() for exchange in server.exchanges])
    assert sent[0] == sent[1]
    assert told[0] == told[1]
    assert ["system", "user", "assistant", "tool", "assistant"] == [message["role"] for message in told[1][0]]


def test_it_lets_a_tools_exception_escape() -> None:
    """Its tool node is the same one, with the same default."""
    with serving(calls(("c1", "broken", "{}"))) as server, pytest.raises(KeyError, match="x"):
        run(server, broken_tool(KeyError("x")))


@EITHER
def test_ends_in_silence_on_one_broken_call(run: Any) -> None:
    """No model node runs behind it, so the answer that this agent has for a broken call never comes."""
    with serving(calls(("c1", "echo", BROKEN)), says("b")) as server:
        messages, stop = run("hello", [echo_tool()], **settings(server))
        assert 1 == len(server.exchanges)
    assert ("empty-answer", []) == (stop, results(messages))


# --- where it parts from the textbook graph ---


def test_it_answers_a_broken_call_beside_a_good_one_but_out_of_order() -> None:
    """The answer gets into the state in front of the results that were there, and stays in each request."""
    with serving(calls(("c1", "echo", WHOLE), ("c2", "echo", BROKEN)), calls(("c3", "echo", WHOLE)), says()) as server:
        messages, _ = run(server)
        sent = [results(body) for body in bodies(server)]
    answered = [("c2", SAID.format("c2")), ("c1", "a")]
    assert [[], answered, [*answered, ("c3", "a")]] == sent
    assert sent[-1] == results(messages)


def test_it_logs_each_message_once(caplog: pytest.LogCaptureFixture) -> None:
    """Also the answer to a broken call, which joins the state in front of a result that was logged."""
    with (
        caplog.at_level(logging.INFO, "lc"),
        serving(calls(("c1", "echo", WHOLE), ("c2", "echo", BROKEN)), says()) as server,
    ):
        run(server)
    ours = [record.getMessage() for record in caplog.records if record.name == "lc"]
    told = f"[result] {SAID.format('c2')}"
    assert ["[round 1]", '[tool] echo({"text": "a"})', "[result] a", told, "[round 2]"] == ours


def test_it_leaves_a_broken_call_open_whose_id_was_used_before() -> None:
    """An answer anywhere in the history counts as the answer to this call."""
    again = calls(("c1", "echo", BROKEN), ("c2", "echo", WHOLE))
    with serving(calls(("c1", "echo", WHOLE)), again, says()) as server:
        run(server)
        assert [("c1", "a"), ("c2", "a")] == results(bodies(server)[-1])


def test_it_goes_on_where_messages_share_an_id() -> None:
    """It looks for the last message of the model, where the textbook graph looks at the last message."""
    requests = []
    for lane in (lc.run, prebuilt.run):
        replies = [calls((f"c{number}", "echo", WHOLE), id="same") for number in (1, 2)]
        with serving(*replies, says(id="same")) as server:
            lane("hello", [echo_tool()], **settings(server))
            requests.append(bodies(server))
    assert [2, 3] == [len(one) for one in requests]
    last = requests[1][-1]["messages"]
    assert ["c2"] == [call["id"] for message in last for call in message.get("tool_calls", [])]
    assert [("c1", "a"), ("c2", "a")] == results(last)


# --- the package that it needs ---


def test_the_textbook_graph_does_without_the_package() -> None:
    """Only who asks for this lane waits for its import."""
    assert "langchain" not in loaded_by("import lc\nlc.run")
    assert "langchain" in loaded_by("import lc.prebuilt")


def test_one_line_names_the_package_where_it_is_missing() -> None:
    """No traceback, and the exit code of wrong use."""
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'langchain':\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "sys.argv = ['diptych', 'run', 'one-call', '--lanes', 'lc,lc.prebuilt']\n"
        "from compare.cli import main\n"
        "main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = "diptych: lane lc.prebuilt: its import fails: No module named 'langchain'; install what it needs\n"
    assert (2, "", said) == (ran.returncode, ran.stdout, ran.stderr)
