"""A scenario file says how a model's reply is streamed, in which modes it runs, and what is expected of each."""

from pathlib import Path

import pytest

from compare.backends import script
from compare.lanes import Lane
from compare.replies import (
    Delta,
    Piece,
    ScriptedBody,
    ScriptedMessage,
    ScriptedStream,
    Sending,
)
from compare.runner import Task, run_lane
from compare.scenario import Expectation, Scenario, ScenarioError, load

HEAD = 'title = "A title"\nteaches = "One sentence."\nprompt = "Say hello."\n'
REPLY = '[[reply]]\ncontent = "hi"\n'
EXPECT = '[expect]\nstop = "answer"\n'


def read(folder: Path, text: str) -> Scenario:
    """The scenario that this text makes."""
    path = folder / "x.toml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def reply(folder: Path, lines: str, modes: str = "") -> object:
    """The one reply of a scenario, given the lines below [[reply]]."""
    (scripted,) = read(folder, f"{HEAD}{modes}[[reply]]\n{lines}\n{EXPECT}").replies
    return scripted


def refusal(folder: Path, text: str) -> str:
    """What a wrong file is told, after the name of the file; always one line."""
    with pytest.raises(ScenarioError) as caught:
        read(folder, text)
    message = str(caught.value)
    assert [message] == message.splitlines()
    return message.removeprefix(f"{folder / 'x.toml'}: ")


def items(folder: Path, *written: str) -> tuple[Piece | Delta, ...]:
    """The items of a stream, each given as it stands in the file."""
    scripted = reply(folder, f"stream = [{', '.join(written)}]", 'modes = ["stream"]\n')
    assert isinstance(scripted, ScriptedStream)
    assert scripted.plain is None
    return scripted.items


# --- items of a stream ---


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{ delta = { content = '七' } }", Delta('{"content":"七"}')),
        ("{ delta = { content = 'a' }, finish_reason = 'length' }", Delta('{"content":"a"}', "length")),
        ("{ delta = {} }", Delta("{}")),
        ("{ finish_reason = 'stop' }", Delta("{}", "stop")),
        ("{ finish_reason = '' , pause = 0.5 }", Delta("{}", "", 0.5)),
        (
            "{ delta = { tool_calls = [{ index = 0, function = { arguments = '{' } }] }, pause = 1 }",
            Delta('{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}', None, 1.0),
        ),
        ("""{ chunk = '{ "choices":null, "x":1.10 }' }""", Piece(b'data: { "choices":null, "x":1.10 }\n\n')),
        ('{ chunk = "{\\n}\\r\\n" }', Piece(b"data: {\ndata: }\ndata: \n\n")),
        ("{ data = '[DONE]' }", Piece(b"data: [DONE]\n\n")),
        ("{ data = '{\"cut' , pause = 0.25 }", Piece(b'data: {"cut\n\n', 0.25)),
        ("{ data = '' }", Piece(b"data: \n\n")),
        ('{ text = ": ping\\r\\n\\u2028" }', Piece(": ping\r\n\u2028".encode())),
        ("{ text = '', pause = 2 }", Piece(b"", 2.0)),
        ("{ base64 = '7bz/' }", Piece(b"\xed\xbc\xff")),
    ],
)
def test_an_item_is_a_delta_a_chunk_an_event_or_bytes(tmp_path: Path, written: str, expected: object) -> None:
    """Each as exact as it was written."""
    assert (expected,) == items(tmp_path, written)


def test_the_items_keep_their_order(tmp_path: Path) -> None:
    """And no [DONE] is added to them."""
    expected = Delta('{"a":1}'), Delta('{"b":1}'), Piece(b"data: x\n\n")
    assert expected == items(tmp_path, "{ delta = { a = 1 } }", "{ delta = { b = 1 } }", "{ data = 'x' }")


def test_a_stream_may_be_empty(tmp_path: Path) -> None:
    """Headers and nothing else."""
    assert () == items(tmp_path)


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{}", "says nothing; give it one of delta, finish_reason, chunk, data, text, base64"),
        ("{ pause = 1 }", "says nothing; give it one of"),
        ("{ delta = {}, data = 'a' }", "'data' does not go with 'delta'; an item has one form"),
        ("{ data = 'a', finish_reason = 'stop' }", "'finish_reason' does not go with 'data'"),
        ("{ deltas = {} }", "'deltas' is not a key here; did you mean 'delta'?"),
        ("{ delta = 'a' }", "'delta' is a string, but must be a table: delta = { ... }"),
        ("{ delta = { a = 1979-05-27 } }", "'delta' holds a value that JSON does not have; write it as 'chunk'"),
        ("{ delta = { a = nan } }", "'delta' holds a value that JSON does not have; write it as 'chunk'"),
        ("{ finish_reason = false }", "'finish_reason' is a boolean, but must be a string"),
        ("{ chunk = '{' }", "'chunk' is not JSON: Expecting property name"),
        ("{ chunk = '" + "[" * 100_000 + "' }", "'chunk' is nested too deeply to be read; for such text use 'data'"),
        ("{ base64 = 'a' }", "'base64' cannot be read: "),
        ("{ base64 = 'é' }", "'base64' cannot be read: "),
        ("{ base64 = 5 }", "'base64' is an integer, but must be a string"),
        ("{ base64 = 'a b=' }", "'base64' cannot be read: "),
        ("{ data = 'a', pause = -1 }", "pause is -1; it is a time in seconds, from 0 to 600"),
        ("{ data = 'a', pause = inf }", "pause is inf; it is a time in seconds, from 0 to 600"),
        ("{ data = 'a', pause = nan }", "pause is nan; it is a time in seconds, from 0 to 600"),
        ("{ data = 'a', pause = '1' }", "'pause' is a string, but must be a float: pause = 1.5"),
        ("{ data = 'a', pause = true }", "'pause' is a boolean, but must be a float: pause = 1.5"),
    ],
)
def test_a_wrong_item_is_refused_with_its_number_and_the_mend(tmp_path: Path, written: str, told: str) -> None:
    """Replies and items count from 1."""
    text = f"{HEAD}modes = ['stream']\n{REPLY}[[reply]]\nstream = [{{ data = 'x' }}, {written}]\n{EXPECT}"
    assert refusal(tmp_path, text).startswith(f"reply 2: stream item 2: {told}")


# --- how it goes out ---


def test_a_stream_stands_beside_a_plain_form(tmp_path: Path) -> None:
    """Beside a message by parts, an exact one, and a body; what says how it goes out is for the stream."""
    lines = "stream = [{ data = 'x' }]\nsplit = 3"
    for form in ('content = "a"', "message = '{}'", "status = 200"):
        plain, both = reply(tmp_path, form), reply(tmp_path, f"{form}\n{lines}")
        assert isinstance(plain, ScriptedMessage | ScriptedBody)
        assert ScriptedStream((Piece(b"data: x\n\n"),), plain, Sending(split=3)) == both


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", Sending()),
        ("split = 1", Sending(split=1)),
        ("cut = 0", Sending(cut=0, ending="cut")),
        ("cut = 7\nending = 'reset'", Sending(cut=7, ending="reset")),
        ("cut = 7\nending = 'whole'", Sending(cut=7)),
        ("ending = 'stall'", Sending(ending="stall", stall_limit=30.0)),
        ("ending = 'stall'\nstall_limit = 2", Sending(ending="stall", stall_limit=2.0)),
        ("drip = 0.05\nsplit = 2", Sending(split=2, drip=0.05)),
    ],
)
def test_how_the_bytes_go_out_is_said_beside_any_form(tmp_path: Path, lines: str, expected: Sending) -> None:
    """A cut alone closes the connection."""
    for form in ('content = "a"', "message = '{}'", "status = 200"):
        scripted = reply(tmp_path, f"{form}\n{lines}")
        assert isinstance(scripted, ScriptedMessage | ScriptedBody)
        assert expected == scripted.sending


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("split = 0", "split is 0; a piece has at least 1 byte"),
        ("cut = -1", "cut is -1; it is the number of bytes after which the body ends, 0 for none"),
        ("ending = 'crash'", "ending is 'crash'; it is one of 'whole' or 'cut' or 'reset' or 'stall'"),
        ("stall_limit = 1", "'stall_limit' is only for ending = \"stall\""),
        ("drip = 1000", "drip is 1000; it is a time in seconds, from 0 to 600"),
        ("split = 1.5", "'split' is a float, but must be an integer: split = 8"),
        ("stream = 'x'", "'stream' must be a list of tables: stream = [{ ... }]"),
    ],
)
def test_a_wrong_way_out_is_refused_with_the_mend(tmp_path: Path, lines: str, told: str) -> None:
    """In the words of the reply that it stands in."""
    assert f"reply 1: {told}" == refusal(tmp_path, f'{HEAD}[[reply]]\ncontent = "a"\n{lines}\n{EXPECT}')


def test_a_closed_connection_has_no_stream(tmp_path: Path) -> None:
    """There is nothing to be sent."""
    told = refusal(tmp_path, f"{HEAD}[[reply]]\nclose = true\nstream = []\n{EXPECT}")
    assert told == "reply 1: 'stream' does not go with 'close'; a reply has one form: keep one of the two"


# --- modes ---


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("", ("plain", "stream")),
        ('modes = ["plain"]\n', ("plain",)),
        ('modes = ["stream"]\n', ("stream",)),
        ('modes = ["stream", "plain"]\n', ("plain", "stream")),
    ],
)
def test_a_scenario_runs_in_both_modes_unless_it_says_so(
    tmp_path: Path, written: str, expected: tuple[str, ...]
) -> None:
    """In the order of the report, however they are written."""
    assert expected == read(tmp_path, HEAD + written + REPLY + EXPECT).modes


@pytest.mark.parametrize(("written", "expected"), [("", 60.0), ("timeout = 1\n", 1.0), ("timeout = 0.25\n", 0.25)])
def test_a_scenario_says_how_long_a_reply_may_take(tmp_path: Path, written: str, expected: float) -> None:
    """So that one that stalls is over soon."""
    assert expected == read(tmp_path, HEAD + written + REPLY + EXPECT).timeout


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            HEAD + 'modes = ["straem"]\n' + REPLY + EXPECT,
            "'modes' holds 'straem'; the modes are 'plain' or 'stream'",
        ),
        (HEAD + 'modes = "stream"\n' + REPLY + EXPECT, "'modes' is a string, but must be an array: modes = [\"...\"]"),
        (HEAD + "timeout = 0\n" + REPLY + EXPECT, "timeout is 0, but a reply takes some time"),
        (HEAD + "timeout = -1\n" + REPLY + EXPECT, "timeout is -1; it is a time in seconds, from 0 to 600"),
        (
            HEAD + REPLY + "[[reply]]\nstream = []\n" + EXPECT,
            'reply 2 is a stream alone; give it content, or write modes = ["stream"]',
        ),
        (
            HEAD + 'modes = ["plain"]\n' + REPLY + EXPECT + '[expect_stream]\nstop = "answer"\n',
            "'expect_stream' is for a scenario that runs in the mode 'stream'",
        ),
        (HEAD + REPLY + EXPECT + "[expect_stream]\nfindings = []\n", "expect_stream: 'stop' is missing; write stop ="),
        (HEAD + REPLY + EXPECT + '[expect_stream.lc]\nstop = "crsh"\n', "expect_stream.lc: 'crsh' is not a stop"),
        (
            HEAD + REPLY + EXPECT + '[expect_stream.lc.sturdy]\nstop = "answer"\n',
            "expect_stream.lc: 'sturdy' is not a key here; a lane with a dot in its name is quoted: "
            '[expect_stream."lc.sturdy"]',
        ),
        (
            HEAD + REPLY + EXPECT + '[expect_stream]\nlc = "crash"\n',
            "expect_stream: 'lc' is not a key here; the table of a lane is written [expect_stream.lc]",
        ),
    ],
)
def test_what_does_not_go_with_the_modes_is_refused(tmp_path: Path, text: str, told: str) -> None:
    """With the mend."""
    assert refusal(tmp_path, text).startswith(told)


ONE = '[expect]\nstop = "answer"\n[expect.lc]\nstop = "crash"\n'


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", {"raw": "answer", "lc": "crash"}),
        ('[expect_stream]\nstop = "cut-off"\n', {"raw": "cut-off", "lc": "cut-off"}),
        ('[expect_stream.lc]\nstop = "filtered"\n', {"raw": "answer", "lc": "filtered"}),
        ('[expect_stream.raw]\nstop = "filtered"\n', {"raw": "filtered", "lc": "crash"}),
        (
            '[expect_stream]\nstop = "cut-off"\n[expect_stream.lc]\nstop = "filtered"\n',
            {"raw": "cut-off", "lc": "filtered"},
        ),
    ],
)
def test_what_is_expected_of_a_stream_goes_before_what_is_expected_of_both(
    tmp_path: Path, more: str, expected: dict[str, str]
) -> None:
    """Only where it is said, and never in the plain mode."""
    scenario = read(tmp_path, HEAD + REPLY + ONE + more)
    assert expected == {lane: scenario.expected(lane, "stream").stop for lane in ("raw", "lc")}
    for mode in ({}, {"mode": "plain"}):
        plain = [scenario.expected(lane, **mode) for lane in ("raw", "lc")]
        assert [Expectation("answer"), Expectation("crash")] == plain


def test_one_file_gives_each_mode_its_own_reply(tmp_path: Path) -> None:
    """From the file to what the lane got."""
    import raw

    lines = "content = 'plain'\nstream = [{ delta = { content = 'streamed' } }, { finish_reason = 'stop' }]\nsplit = 1"
    scenario = read(tmp_path, f"{HEAD}[[reply]]\n{lines}\n{EXPECT}")
    told = []
    for stream in (False, True):
        task = Task(scenario.prompt, scenario.model, stream=stream, timeout=scenario.timeout)
        run = run_lane(Lane("raw", raw.run), task, script(scenario.replies, scenario.model))
        told.append((run.messages or [])[-1]["content"])
    assert ["plain", "streamed"] == told
