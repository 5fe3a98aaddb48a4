"""The report in a terminal: complete, aligned, safe whatever the data hold, and clear without colour."""

import copy
import io
import re
import sys
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from compare.comparison import compare_scenario
from compare.lanes import load_lanes
from compare.report import report
from compare.scenario import find
from compare.terminal import render, write
from compare.visible import visible

BROKEN, FAILING, LOST, TWO = (
    "one-good-one-broken-call",
    "division-by-zero",
    "reasoning-content-lost",
    "two-calls-in-one-turn",
)
NAMES = (BROKEN, FAILING, LOST, TWO, "message-id-constant", "control-characters-in-an-answer", "read-the-readme")
HOSTILE = "\x1b[31m[red]x[/red]\r\n\tb\x9b\u202eé:smile:计算"
CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}
ANSI = re.compile(r"\x1b\[[0-9;]*m")
Data = dict[str, Any]


@pytest.fixture(scope="module")
def real() -> Data:
    """The report on a few scenarios, with nothing unexpected in it, whatever the catalogue expects today."""
    lanes = load_lanes("raw,lc")
    data = report([compare_scenario(find(name)[0], lanes) for name in NAMES])
    data["summary"] |= {"as_expected": len(NAMES), "unexpected": 0}
    for one in data["comparisons"]:
        one["as_expected"] = True
        for lane in one["lanes"]:
            lane["surprises"] = []
    return data


@pytest.fixture
def data(real: Data) -> Data:
    """A copy of it, to be changed by one test."""
    return copy.deepcopy(real)


def printed(data: Data, width: int = 80, detail: str = "all") -> str:
    """What is printed at a width, without colour."""
    out = io.StringIO()
    write(data, {detail} if detail else set(), Console(file=out, width=width))
    return out.getvalue()


def only(data: Data, name: str) -> Data:
    """The report on one of the comparisons alone."""
    data["comparisons"] = [one for one in data["comparisons"] if one["name"] == name]
    verdict = data["comparisons"][0]["verdict"]
    counts = {key: int(key == verdict) for key in data["summary"]["verdicts"]}
    data["summary"] = {"comparisons": 1, "as_expected": 1, "unexpected": 0, "verdicts": counts}
    return data


def with_lanes(data: Data, names: dict[str, str]) -> Data:
    """The same report with other lanes: each new name with the lane that it copies."""
    data["lanes"] = list(names)
    for one in data["comparisons"]:
        lanes = {lane["name"]: lane for lane in one["lanes"]}
        one["lanes"] = [{**lanes[old], "name": new} for new, old in names.items()]
        for row in one["rows"]:
            if len(names) == 1:
                row["verdict"], row["tolerances"] = "same", []
            cells = {cell["lane"]: cell for cell in row["cells"]}
            row["cells"] = [{**cells[old], "lane": new} for new, old in names.items()]
    return data


def changed(value: Any, change: Callable[[str], str]) -> Any:
    """A value in which every text is changed; keys stay."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [changed(one, change) for one in value]
    return {key: changed(one, change) for key, one in value.items()} if isinstance(value, dict) else value


def results(data: Data, lane: str) -> list[dict[str, Any]]:
    """The cells with a lane's tool messages."""
    rows = [row for one in data["comparisons"] for row in one["rows"] if row["role"] == "tool"]
    return [cell for row in rows for cell in row["cells"] if cell["lane"] == lane]


@pytest.mark.parametrize("width", [40, 80, 140, 200])
def test_no_line_is_wider_than_the_terminal(data: Data, width: int) -> None:
    """At any width, with real data and with hostile data, in two columns and in four."""
    hostile = changed(only(copy.deepcopy(data), BROKEN), lambda text: text + HOSTILE)
    four = {"raw": "raw", "lc": "lc", "计算.module:run": "lc", "a.rather.long.module.name:function": "raw"}
    for one in (data, hostile, with_lanes(only(copy.deepcopy(data), FAILING), four)):
        assert [] == [line for line in printed(one, width).split("\n") if cell_len(line) > width]


def test_the_same_report_prints_the_same_text(data: Data) -> None:
    """Nothing but the report goes into the output."""
    assert printed(data) == printed(copy.deepcopy(data))


def test_no_text_of_the_data_acts_on_the_terminal(data: Data) -> None:
    """With escapes, bidi controls, tabs and newlines in every field, only the newlines between lines are controls."""
    out = printed(changed(data, lambda text: text + HOSTILE))
    assert {"\n"} == {character for character in out if unicodedata.category(character) in CONTROLS}


def test_no_text_of_the_data_is_swallowed(data: Data) -> None:
    """What looks like markup or like an emoji code is printed, with stand-ins for what is not printable."""
    hostile = changed(only(data, TWO), lambda text: text + HOSTILE)
    one = hostile["comparisons"][0]
    lane = one["lanes"][1]
    lane["surprises"], one["as_expected"], lane["raised"] = [HOSTILE], False, f"Error: {HOSTILE}"
    texts = [one["title"], one["teaches"], one["prompt"], lane["surprises"][0], lane["raised"], lane["name"]]
    texts += [one["rows"][1]["said"]["tool_calls"][0]["function"]["arguments"], lane["calls"][0]["id"]]
    texts += [lane["stop"]["observed"], *(finding["path"] for finding in lane["findings"])]
    out = printed(hostile, 400)
    assert [] == [text for text in texts if visible(text) not in out]


def test_a_result_stands_behind_the_marker_of_its_call(data: Data) -> None:
    """The marker beside the call is the marker beside the result, in every lane."""
    out = printed(only(data, TWO))
    for expected in (
        '  model     ① call_1 calculator({"expression": "2**10"})\n            ② call_2 calculator({"expression":',
        '≈ result    ① ← {"ok": true, "result": 1024} │ ① ← 1024\n',
        '≈ result    ② ← {"ok": true, "result": 243}  │ ② ← 243\n',
    ):
        assert expected in out


def test_swapped_results_can_be_seen(data: Data) -> None:
    """A result under the id of another call stands behind that call's marker."""
    one, other = results(only(data, TWO), "lc")
    one["message"]["content"], other["message"]["content"] = other["message"]["content"], one["message"]["content"]
    out = printed(data)
    assert "│ ① ← 243\n" in out
    assert "│ ② ← 1024\n" in out


def test_an_unanswered_call_is_open(data: Data) -> None:
    """The lane without a result says so, behind the call's marker; a tool that did not run is said not to have run."""
    out = printed(only(data, BROKEN))
    assert '≠ result    ② executed 0× ← {"ok": false,    │ ② executed 0× – no result\n' in out
    assert "    lc   executed 0×; answered 0×\n" in out


def test_a_tool_that_ran_twice_is_said_to_have_run_twice(data: Data) -> None:
    """The number of executions is shown where it is not one."""
    results(only(data, TWO), "lc")[0]["executed"] = 2
    assert "│ ① executed 2× ← 1024\n" in printed(data)


def test_a_second_answer_and_an_answer_to_nothing_are_told_apart(data: Data) -> None:
    """A tool message without a call of its own has the marker of the id it names, or a question mark with that id."""
    row = copy.deepcopy(only(data, TWO)["comparisons"][0]["rows"][2])
    for cell, call_id in zip(row["cells"], ("call_2", "call_9"), strict=True):
        cell["call"], cell["message"]["tool_call_id"] = None, call_id
    data["comparisons"][0]["rows"].insert(4, row)
    assert '② ← {"ok": true, "result": 1024} │ ? for call_9 ← 1024\n' in printed(data)


def test_a_client_of_its_own_is_not_said_to_have_run_no_tool(data: Data) -> None:
    """Where only the wire speaks for a lane, nobody knows how often its tools ran."""
    lane = with_lanes(only(data, TWO), {"client": "lc"})["comparisons"][0]["lanes"][0]
    lane["stop"]["claimed"], lane["foreign"] = None, True
    for call in lane["calls"]:
        call["executions"] = []
    for cell in results(data, "client"):
        cell["executed"] = 0
    assert "executed" not in printed(data)


def test_more_calls_than_circled_numbers_have_markers_too(data: Data) -> None:
    """After ⑳ the markers go on as (21)."""
    one = only(data, TWO)["comparisons"][0]
    for lane in one["lanes"]:
        first = lane["calls"][0]
        lane["calls"] = [{**first, "path": f"{number}", "id": f"id_{number}"} for number in range(1, 23)]
    out = printed(data)
    assert "  ⑳ id_20 calculator" in out
    assert "  (21) id_21 calculator" in out


def test_what_the_lanes_have_in_common_is_shown_once(data: Data) -> None:
    """Rows that read the same in all lanes span the columns; what a lane left out is named."""
    out = printed(only(data, LOST))
    assert "≈ user      What is 3*4?  (≈ key-order)\n" in out
    assert "≠ sent back as said                          │ as said, without\n" in out
    assert "= stop      answer\n" in out


def test_a_row_that_differs_never_looks_the_same(data: Data) -> None:
    """Where the cells of a different row read alike, the row says that they differ."""
    one = only(data, TWO)["comparisons"][0]
    one["rows"][0]["verdict"] = "different"
    assert "(differs in what is not shown" in printed(data)


def test_columns_stay_aligned_with_wide_characters(data: Data) -> None:
    """The line between the columns stands in one place, whatever is left of it."""
    places = {cell_len(line[: line.index("│")]) for line in printed(data, 80).split("\n") if "│" in line}
    assert {45} == places


def test_long_texts_are_shortened_around_the_place_where_they_part(data: Data) -> None:
    """A difference at the end of two long results can be seen, though neither is shown whole."""
    for lane, end in (("raw", "end one"), ("lc", "end two")):
        results(only(data, TWO), lane)[0]["message"]["content"] = "blah " * 500 + end
    out = printed(data)
    assert "end one" in out
    assert "end two" in out
    assert 50 > out.count("blah")


def test_lanes_stand_beneath_each_other_where_columns_would_be_narrow(data: Data) -> None:
    """Four lanes at 80 cells are a stack; at 200 cells they are columns."""
    with_lanes(only(data, TWO), {"raw": "raw", "lc": "lc", "mine": "raw", "yours": "lc"})
    assert "≈ result    raw           ① ←" in printed(data, 80)
    assert "            yours         ① ← 1024\n" in printed(data, 80)
    assert "│" not in printed(data, 80)
    (head,) = [line for line in printed(data, 200).split("\n") if re.match(r" {12}raw .*yours$", line)]
    assert 3 == head.count("│")


def test_one_lane_alone_has_no_verdicts(data: Data) -> None:
    """Nothing is compared, so neither row nor summary nor legend speaks of same or different."""
    out = printed(with_lanes(data, {"lc": "lc"}))
    assert "\n  result    ① ← 1024\n" in out
    assert [] == [word for word in ("│", "equal bytes", "equivalent", "≈", "≠") if word in out]
    assert out.endswith(f"\n{len(NAMES)} comparisons: one lane, so nothing is compared; all as expected\n")


def test_the_summary_says_how_each_lane_ended_and_what_was_found(data: Data) -> None:
    """A line for the stops, with claims and what raised, and a line for each lane with findings, gravest first."""
    out = printed(data, 100, "")
    for expected in (
        "  ≠ division-by-zero                 raw answer · lc tool-error, raised\n"
        "      lc   1 serious: unanswered-call · 2 notice: stop-reason, unused-reply\n",
        "  ≠ message-id-constant              raw answer · lc unanswered-calls, claims answer\n",
    ):
        assert expected in out


def test_beside_each_other_on_a_wide_terminal(data: Data) -> None:
    """At 200 cells the findings stand in the line of the scenario."""
    (line,) = [line for line in printed(data, 200, "").split("\n") if line.startswith("  ≠ division")]
    assert line.endswith("raised               lc   1 serious: unanswered-call · 2 notice: stop-reason, unused-reply")


def test_what_every_run_does_is_said_once(data: Data) -> None:
    """Findings of severity info that come with every scenario stand beneath the table, and in no line of it."""
    out = printed(data, 80, "")
    assert 1 == out.count("In every scenario, lc: added-field stream")
    assert f"≈ {TWO}            answer\n  " in out


def test_surprises_are_marked_and_listed(data: Data) -> None:
    """A scenario that is not as expected is marked in its line and listed beneath, by lane."""
    one = data["comparisons"][3]
    one["as_expected"], one["lanes"][1]["surprises"] = False, ["not expected: lost-field tools"]
    data["summary"] |= {"as_expected": len(NAMES) - 1, "unexpected": 1}
    out = printed(data, 80, "")
    assert f"\n✗ ≈ {TWO}" in out
    assert f"Not as expected\n✗ {TWO}\n    lc  not expected: lost-field tools\n" in out
    assert out.endswith("different; 1 not as expected\n")


def test_the_last_line_counts(data: Data) -> None:
    """How many scenarios, how they compare, and that nothing surprises."""
    verdicts = data["summary"]["verdicts"]
    expected = (
        f"7 comparisons: {verdicts['same']} same, {verdicts['equivalent']} equivalent, "
        f"{verdicts['different']} different; all as expected"
    )
    assert expected == printed(data).rstrip("\n").rsplit("\n", 1)[1]


def test_findings_come_gravest_first_with_place_values_and_consequence(data: Data) -> None:
    """Each class once with what it leads to, then each of its places."""
    out = printed(only(data, BROKEN), 100).split("Findings in lc\n")[1].split("\nStop")[0]
    assert (
        "  serious  unanswered-call: no tool message answers the call: most providers refuse the next turn\n"
        '           · messages[1].tool_calls[1] · request 2   "call_2" → nothing\n'
    ) in out
    assert "rule openai:every-call-answered" in out
    severities = [line.split()[0] for line in out.split("\n") if re.match(r"  \w", line)]
    assert sorted(severities, key=["serious", "notice", "info"].index) == severities


def test_a_class_is_told_apart_by_what_it_leads_to(data: Data) -> None:
    """What is lost from the messages and what the request leaves out stand under a sentence of their own."""
    lane = only(data, LOST)["comparisons"][0]["lanes"][1]
    for finding in lane["findings"]:
        finding["severity"] = "notice"
    out = printed(data, 100)
    assert "lost-field: what the model sent does not come back to it\n           · messages[1]" in out
    assert "lost-field: the request leaves out what the lane was given\n           · tools" in out
    assert "added-field: the request holds what nobody asked for\n           · stream" in out


def test_the_envelope_takes_one_line_each(data: Data) -> None:
    """However much the schemas of the tools differ, the row of the tools is one line."""
    out = printed(only(data, TWO)).split("Envelope of the first request\n")[1].split("\n\n")[0]
    assert ["≠ tools", "≠ parameters"] == [" ".join(line.split()[:2]) for line in out.split("\n")]


def test_stop_reasons_are_given_as_heard_as_observed_and_as_claimed(data: Data) -> None:
    """The model's finish reasons, the wire's evidence with its meaning, and the lane's word, or what it raised."""
    out = printed(only(data, FAILING)).split("Stop reasons\n")[1]
    expected = (
        "  raw\n    model     tool_calls, stop (2 requests)\n    observed  answer: the model answered\n"
        "    claimed   answer\n  lc\n    model     tool_calls (1 request)\n"
        "    observed  tool-error: a tool's exception escaped from the loop\n    raised    ZeroDivisionError: "
    )
    assert out.startswith(expected)


def test_the_legend_has_only_what_occurred(data: Data) -> None:
    """Tolerances of the rows that are shown and classes that were found, each with its sentence; no other."""
    out = printed(only(data, LOST))
    legend = out[out.index("\nVerdicts\n") :]
    named = set(re.findall(r"^  ([a-z-]+) ", legend, re.MULTILINE))
    taken = {name for row in data["comparisons"][0]["rows"] for name in row["tolerances"]}
    found = {it["class"] for lane in data["comparisons"][0]["lanes"] for it in lane["findings"]}
    assert taken | found == named
    assert "lost-field                what the model sent does not come back to it" in legend


def test_only_what_is_asked_for_is_shown_row_by_row(data: Data) -> None:
    """`detail` names comparisons; the others stay in the summary alone."""
    out = printed(data, 80, TWO)
    assert [TWO] == re.findall(r"^── (\S+) ─", out, re.MULTILINE)


def test_colour_adds_nothing_and_goes_with_no_color(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its colours the coloured report is the plain one, and NO_COLOR takes the colours away."""
    coloured, plain = io.StringIO(), io.StringIO()
    monkeypatch.delenv("NO_COLOR", raising=False)
    write(data, {"all"}, Console(file=coloured, width=80, force_terminal=True, color_system="standard"))
    monkeypatch.setenv("NO_COLOR", "1")
    write(data, {"all"}, Console(file=plain, width=80, force_terminal=True, color_system="standard"))
    assert re.search(r"\x1b\[[0-9;]*3[0-7]m", coloured.getvalue())
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", plain.getvalue())
    assert printed(data) == ANSI.sub("", coloured.getvalue())


@pytest.mark.parametrize(("expected", "columns"), [(100, None), (80, "80"), (200, "200"), (100, "wide"), (100, "0")])
def test_a_pipe_gets_plain_text_of_a_set_width(
    data: Data,
    expected: int,
    columns: str | None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without a terminal there is no colour, and the width is 100 cells or that of COLUMNS."""
    for name in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    render(data, {TWO})
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "─" * expected == out.split("\n")[1]


def test_an_encoding_without_our_signs_does_not_end_the_report(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """On an ASCII stream the signs are escaped."""
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding="ascii"))
    render(data, {TWO})
    sys.stdout.flush()
    assert b"\\u2460 call_1" in raw.getvalue()
