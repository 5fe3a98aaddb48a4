"""Where the drill breaks a reply off, what it counts as an act, and what the two lanes do with a part of a reply."""

import http.client
import io
import json
import os
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from rich.console import Console

from compare import cli, drill, process
from compare.broken_replies import BYTE, CHUNK, CLEAN, CUT, Break, Kind, answering, kinds_of
from compare.comparison import task_of
from compare.drill import Strip, strips_of
from compare.drill_report import drill_report, ranges
from compare.folder_state import Change, changes, hash_of, state_of
from compare.lanes import Lane, load_lane
from compare.scenario import CATALOGUE_FOLDER, Scenario, ScenarioError, load
from compare.server import ModelServer
from compare.terminal.drill import write_drill
from toolbox import Tool

SCHEMA = json.loads((CATALOGUE_FOLDER.parent / "drill.schema.json").read_text(encoding="utf-8"))
HEAD = """
title = "A sum and a note"
teaches = "Their beginnings are a sum and a note too."
prompt = "Add, and note."
write = true

[workspace]
"notes/a" = "old"

[expect]
stop = "answer"
"""
SUM = """
[[reply]]
tool_calls = [{ id = "c", name = "calculator", arguments = '{"expression":"100+2345"}' }]
stream = [
  { delta = { tool_calls = [{ index = 0, id = "c", function = { name = "calculator", arguments = "" } }] } },
  { delta = { tool_calls = [{ index = 0, function = { arguments = '{"expression":"100+2' } }] } },
  { delta = { tool_calls = [{ index = 0, function = { arguments = '345"}' } }] } },
  { finish_reason = "tool_calls" },
  { data = "[DONE]" },
]
"""
NOTE = """
[[reply]]
tool_calls = [{ id = "c", name = "write_text_file", arguments = '{"text":"new","path":"notes/all"}' }]

[[reply]]
tool_calls = [{ id = "d", name = "write_text_file", arguments = '{"text":"later","path":"later"}' }]
"""


@pytest.fixture
def sums(tmp_path: Path) -> Scenario:
    """A scenario with one sum, streamed in five chunks."""
    return written(tmp_path, SUM)


@pytest.fixture
def notes(tmp_path: Path) -> Scenario:
    """A scenario in which the model writes a file, and another if it is asked again."""
    return written(tmp_path, NOTE)


def written(folder: Path, replies: str) -> Scenario:
    """The scenario with these replies."""
    path = folder / "mine.toml"
    path.write_text(HEAD + replies, encoding="utf-8")
    return load(path)


def drilled(scenario: Scenario, lane: Lane, by: str = BYTE, every: int = 1, mode: str = "") -> list[Strip]:
    """The strips of one lane, in one mode or in all."""
    kinds = [kind for kind in kinds_of(scenario, by, every) if mode in ("", kind.mode)]
    return strips_of(kinds, [lane], task_of(scenario, "plain"))


def signs(strip: Strip) -> str:
    """The strip as it is shown."""
    return "".join(map(strip.sign, strip.attempts))


def post(base_url: str, stream: bool) -> tuple[dict[str, str], bytes]:
    """Ask once, by the standard library, which takes no time to set up: header fields and body of the answer."""
    with closing(http.client.HTTPConnection(base_url.split("/")[2])) as connection:
        body = json.dumps({"model": "m", "messages": [], "stream": stream})
        connection.request("POST", "/v1/chat/completions", body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return dict(answer.getheaders()), answer.read()


def eager(prompt: str, tools: Sequence[Tool], *, base_url: str, **options: Any) -> tuple[list[Any], str]:
    """A lane that runs each call whose name it has, with its arguments closed where they broke off."""
    text = post(base_url, stream=options.get("stream", False))[1].decode()
    names, by_name = [tool.name for tool in tools if f'"{tool.name}"' in text], {tool.name: tool for tool in tools}
    for name in names:
        arguments = text.split('"arguments":"')[-1].split('"}}]')[0].replace('\\"', '"')
        for end in ("", '"}', "}"):
            try:
                values = json.loads(arguments + end)
            except ValueError:
                continue
            if set(values) == set(by_name[name].parameters["required"]):
                by_name[name].function(**values)
                break
    return [], "answer"


EAGER = Lane("eager", eager)


def test_a_reply_breaks_off_at_every_byte_in_each_mode_and_way(sums: Scenario) -> None:
    """From no byte to all but the last; a cut connection is for streams alone."""
    kinds = kinds_of(sums, BYTE, 1)
    assert [("plain", CLEAN), ("stream", CLEAN), ("stream", CUT)] == [(kind.mode, kind.ending) for kind in kinds]
    for kind in kinds:
        assert list(range(len(kind.reply.body))) == [place.offset for place in kind.breaks]


def test_every_nth_place_is_taken(sums: Scenario) -> None:
    """Counted from the first."""
    plain = kinds_of(sums, BYTE, 100)[0]
    assert list(range(0, len(plain.reply.body), 100)) == [place.offset for place in plain.breaks]


def test_a_stream_breaks_off_between_its_chunks(sums: Scenario) -> None:
    """At each blank line between two events, and before the first; a plain reply has no chunks."""
    kinds = kinds_of(sums, CHUNK, 1)
    assert [("stream", CLEAN), ("stream", CUT)] == [(kind.mode, kind.ending) for kind in kinds]
    body, places = kinds[0].reply.body, [place.offset for place in kinds[0].breaks]
    assert [0, 1, 2, 3, 4] == [body[:place].count(b"\n\n") for place in places]
    assert all(not place or body[:place].endswith(b"\n\n") for place in places)


def test_a_beginning_says_whether_it_is_over(sums: Scenario) -> None:
    """JSON is over when it is closed; a stream when a finish reason has come, however it then ends."""
    plain, clean, _ = kinds_of(sums, BYTE, 1)
    assert not any(place.over for place in plain.breaks)
    assert plain.whole.over
    first = next(place for place in clean.breaks if place.over)
    assert b'"finish_reason":"tool_calls"' in clean.reply.body[: first.offset]
    assert all(place.over == (place.offset >= first.offset) for place in clean.breaks)


@pytest.mark.parametrize("replies", ['[[reply]]\ncontent = "no call"', "[[reply]]\nclose = true"])
@pytest.mark.parametrize("by", [BYTE, CHUNK])
def test_a_scenario_without_a_call_cannot_be_drilled(tmp_path: Path, replies: str, by: str) -> None:
    """It is refused in one line that says what is missing."""
    with pytest.raises(ScenarioError, match=r"mine\.toml: there is no (streamed )?reply with a tool call to break off"):
        kinds_of(written(tmp_path, replies), by, 1)


def fetch(kind: Kind, place: Break) -> tuple[dict[str, str], bytes]:
    """The header fields and the body that a client gets for its first request."""
    with ModelServer(answering(kind, place, "m")) as server:
        return post(server.base_url, stream=kind.mode == "stream")


@pytest.mark.parametrize("size", [0, 1, 100])
def test_the_client_gets_exactly_the_first_bytes(sums: Scenario, size: int) -> None:
    """A clean end is one that no client can tell from the real one; a cut connection breaks the chunked body."""
    plain, clean, cut = kinds_of(sums, BYTE, 1)
    for kind in (plain, clean):
        assert kind.reply.body[:size] == fetch(kind, kind.breaks[size])[1]
    assert str(size) == fetch(plain, plain.breaks[size])[0]["Content-Length"]
    with pytest.raises(http.client.IncompleteRead):
        fetch(cut, cut.breaks[size])
    assert cut.reply.body == fetch(cut, cut.whole)[1]


@pytest.mark.parametrize("mode", ["plain", "stream"])
def test_raw_never_acts_on_a_part(sums: Scenario, mode: str) -> None:
    """At no byte, in no mode and way, and yet it runs the whole call."""
    for strip in drilled(sums, load_lane("raw"), mode=mode, every=5):
        assert (("calculator", '{"expression":"100+2345"}'),) == strip.whole.ran
        assert "answer" == strip.whole.stop
        assert not [attempt for attempt in strip.attempts if attempt.ran_from_a_part]
        assert set(signs(strip)) <= set("·+")


def test_lc_runs_a_shorter_sum_from_a_part_of_a_stream(sums: Scenario) -> None:
    """What was cut off is completed and executed; a plain reply or a cut connection is not."""
    lane = load_lane("lc")
    clean, cut = drilled(sums, lane, by=CHUNK)
    (plain,) = drilled(sums, lane, mode="plain", every=60)
    assert "x=+" == signs(clean)[-3:]
    assert (("calculator", '{"expression":"100+2"}'),) == clean.attempts[2].ran
    assert not [attempt for strip in (cut, plain) for attempt in strip.attempts if any(attempt.effect)]


@pytest.fixture(scope="module")
def strip(tmp_path_factory: pytest.TempPathFactory, loopback: None) -> Strip:
    """A lane that acts on parts, at every byte of a plain reply that writes a file."""
    (strip,) = drilled(written(tmp_path_factory.mktemp("notes"), NOTE), EAGER, mode="plain")
    return strip


def test_what_changes_in_the_workspace_is_an_act(strip: Strip) -> None:
    """A write to a wrong file is told with the file and what it now holds; later replies write nothing."""
    named = b'{\\"text\\":\\"new\\",\\"path\\":\\"notes/a'
    place = strip.kind.reply.body.index(named) + len(named)
    wrong = strip.attempts[place]
    assert (("write_text_file", '{"path":"notes/a","text":"new"}'),) == wrong.ran
    assert (Change("notes/a", "changed", b"new"),) == wrong.changed
    assert wrong.ran_from_a_part
    assert ("x", "x") == (strip.sign(wrong), strip.sign(strip.attempts[place + 1]))
    assert (Change("notes/al", "created", b"new"),) == strip.attempts[place + 1].changed
    assert (Change("notes/all", "created", b"new"),) == strip.whole.changed
    assert {"notes/a": b"old", "notes/all": b"new"} == strip.whole.after


def test_the_later_replies_of_a_scenario_run_nothing(notes: Scenario) -> None:
    """Whatever a lane asks after the break, the model says its last word, so that each act is the broken reply's."""
    strips = drilled(notes, load_lane("raw"), every=200)
    assert strips
    for strip in strips:
        assert (Change("notes/all", "created", b"new"),) == strip.whole.changed
        assert "later" not in {path for attempt in strip.attempts for path in attempt.after}


def test_a_lane_that_raises_is_told_from_one_that_does_nothing(sums: Scenario) -> None:
    """The class of the exception is kept."""

    def raises(*_: Any, **__: Any) -> tuple[list[Any], str]:
        raise KeyError("choices")

    (strip,) = drilled(sums, Lane("raises", raises), mode="plain", every=100)
    assert "!" * len(strip.attempts) == signs(strip)
    assert {"KeyError"} == {attempt.raised for attempt in strip.attempts}


def test_a_lane_that_hangs_does_not_disturb_the_next_run(sums: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its time it counts as raised, and what it asks later reaches nobody."""
    monkeypatch.setattr(drill, "PATIENCE", 0.3)
    runs: list[str] = []

    def hangs_once(*arguments: Any, **options: Any) -> tuple[list[Any], str]:
        runs.append(options["base_url"])
        if len(runs) == 1:
            time.sleep(0.8)
        return [], "answer"

    (strip,) = drilled(sums, Lane("hangs", hangs_once), mode="plain", every=200)
    assert "TimeoutError" == strip.attempts[0].raised
    assert {None} == {attempt.raised for attempt in strip.attempts[1:]}
    assert len(set(runs)) == 2
    time.sleep(0.6)  # its thread ends within the test


@pytest.fixture
def report(notes: Scenario, strip: Strip) -> dict[str, Any]:
    """The report on a lane that acts on parts."""
    return drill_report(notes, BYTE, 1, [strip], 1.25)


def test_the_report_has_the_form_that_its_schema_describes(report: dict[str, Any]) -> None:
    """And the schema is one, and refuses what is not in it."""
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(json.loads(json.dumps(report)), SCHEMA)
    for part in (report, report["strips"][0], report["strips"][0]["outcomes"][0]):
        part["more"] = 1
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(report, SCHEMA)
        del part["more"]


def test_the_report_counts_and_places_what_ran(report: dict[str, Any]) -> None:
    """Each outcome stands once with its ranges; signs and offsets go together; the sum is that of the signs."""
    (strip,) = report["strips"]
    assert len(strip["offsets"]) == len(strip["signs"]) == strip["bytes"] == len(report["bodies"]["plain"].encode())
    assert report["summary"]["ran_from_a_part"] == sum(strip["signs"].count(sign) for sign in "x=")
    for outcome in strip["outcomes"]:
        places = [place for first, last in outcome["ranges"] for place in range(first, last + 1)]
        assert outcome["places"] == len(places)
        assert {outcome["sign"]} == {strip["signs"][place] for place in places}
    wrong = next(one for one in strip["outcomes"] if one["changed"] and one["changed"][0]["path"] == "notes/a")
    assert [{"name": "write_text_file", "arguments": '{"path":"notes/a","text":"new"}'}] == wrong["ran"]
    assert wrong["workspace"] == hash_of({"notes/a": b"new"})


@pytest.mark.parametrize("width", [40, 77, 200])
def test_the_page_fits_the_terminal_and_shows_the_whole_strip(report: dict[str, Any], width: int) -> None:
    """The strip is folded with the byte offset in front of each line; wrong acts follow with their places."""
    out = io.StringIO()
    write_drill(report, Console(file=out, width=width))
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    rows = [
        line.split() for line in lines if " eager " in line and len(line.split()) == 3 and line.split()[0].isdigit()
    ]
    assert report["strips"][0]["signs"] == "".join(row[2] for row in rows)
    assert [int(row[0]) for row in rows] == [len(rows[0][2]) * number for number in range(len(rows))]
    page = " ".join(out.getvalue().split())
    count = report["summary"]["ran_from_a_part"]
    assert f"runs on a reply that broke off: eager acted in {count}" in page
    if width == 200:
        assert 'write_text_file({"path":"notes/a","text":"new"}); changed notes/a: "new"' in page


def test_ranges_are_runs_without_a_gap() -> None:
    """First and last number of each."""
    assert [(1, 3), (5, 5), (7, 8)] == ranges([1, 2, 3, 5, 7, 8])


def test_the_state_of_a_folder_tells_created_changed_and_removed(tmp_path: Path) -> None:
    """By the bytes of each file at any depth; the hash of a state depends on names and bytes alone."""
    (tmp_path / "deep").mkdir()
    for name in ("same", "deep/changed", "removed"):
        (tmp_path / name).write_bytes(b"old")
    before = state_of(tmp_path)
    (tmp_path / "deep" / "changed").write_bytes(b"new")
    (tmp_path / "removed").unlink()
    (tmp_path / "created").write_bytes(b"old")
    after = state_of(tmp_path)
    expected = (Change("created", "created", b"old"), Change("deep/changed", "changed", b"new"))
    assert (*expected, Change("removed", "removed", b"")) == changes(before, after)
    assert hash_of(before) != hash_of(after)
    assert hash_of(before) == hash_of(dict(reversed(before.items())))


def invoke(*arguments: str) -> tuple[int, str]:
    """The exit code of the command, and what it printed."""
    ran: list[int] = []

    def command() -> Any:
        result = CliRunner().invoke(cli.commands, ["drill", *arguments], standalone_mode=False)
        ran.append(len(result.output))
        outputs.append(result.output)
        if result.exception is not None:
            raise result.exception
        return result.return_value

    outputs: list[str] = []
    return process.guarded(command), outputs[0]


def test_the_command_ends_with_0_where_no_lane_acted(sums: Scenario, tmp_path: Path) -> None:
    """The page goes to standard output and the JSON to its file."""
    target = tmp_path / "out.json"
    code, page = invoke(str(sums.path), "--lanes", "raw", "--every", "100", "--json", str(target))
    assert 0 == code
    assert "raw never acted" in page
    data = json.loads(target.read_text(encoding="utf-8"))
    jsonschema.validate(data, SCHEMA)
    assert ("byte", 100, ["raw"]) == (data["by"], data["every"], data["lanes"])


def test_the_command_ends_with_1_where_a_lane_acted(sums: Scenario) -> None:
    """With --json -, standard output is the report alone."""
    code, page = invoke(str(sums.path), "--lanes", "tests.test_drill:eager", "--by", "chunk", "--json", "-")
    assert 1 == code
    assert json.loads(page)["summary"]["ran_from_a_part"] > 0


def test_the_command_ends_with_2_for_wrong_use(tmp_path: Path) -> None:
    """A scenario without a call, one that is not there, several, an unknown lane."""
    scenario = written(tmp_path, '[[reply]]\ncontent = "no call"')
    os.link(scenario.path, tmp_path / "other.toml")
    for arguments in ([str(scenario.path)], ["no-such"], [str(tmp_path)], ["one-call", "--lanes", "no_such_lane"]):
        assert 2 == invoke(*arguments)[0]


def test_write_offers_the_writing_tool(notes: Scenario, sums: Scenario, tmp_path: Path) -> None:
    """A scenario says `write = true`; without it the tool is not there."""
    offered: list[list[str]] = []

    def looks(prompt: str, tools: Sequence[Tool], **_: Any) -> tuple[list[Any], str]:
        offered.append([tool.name for tool in tools])
        return [], "answer"

    drilled(notes, Lane("looks", looks), mode="plain", every=1_000)
    path = tmp_path / "reads.toml"
    path.write_text((HEAD + NOTE).replace("write = true", ""), encoding="utf-8")
    drilled(load(path), Lane("looks", looks), mode="plain", every=1_000)
    assert [True, True, False, False] == ["write_text_file" in names for names in offered]


def test_the_default_scenario_shows_what_it_is_for() -> None:
    """Between the chunks of its stream lies a shorter sum, a wrong file, and the whole before its end was told."""
    clean, cut = drilled(load(CATALOGUE_FOLDER / "drill-a-long-call.toml"), load_lane("lc"), by=CHUNK)
    assert "!··xxxx=+" == signs(clean)
    assert "·" * 9 == signs(cut)
    assert [("notes/a", "changed")] == [(one.path, one.change) for one in clean.attempts[6].changed]
