"""The lanes laid side by side: which messages share a row, and what the verdict on it is."""

from typing import Any

import pytest

from compare.comparison import Comparison, compare
from compare.judge import judge
from compare.runner import Run
from tests.evidence import USER, answering, asking, call, result, run_of, saying, use

ASKED = asking(call())
FIRST = ([USER], saying(ASKED, "tool_calls"))
BARE, TOLD = "2", '{"ok": true, "result": 2}'
FAILED = '{"ok": false, "error_type": "ZeroDivisionError", "error": "x"}'


def run(name: str, back: Any = ASKED, content: Any = TOLD, **more: Any) -> Run:
    """A run of two rounds by a lane that sent this back."""
    sent = [USER, *([back] if back else []), result(content=content)]
    return run_of(FIRST, (sent, saying(answering())), **{"uses": [use()], **more}, lane=name)


def compared(*runs: Run) -> Comparison:
    """The runs side by side."""
    return compare("x", "x", "x", runs[0].task, [judge(one) for one in runs], None)


def verdicts(*runs: Run) -> list[tuple[str, list[str]]]:
    """The verdict and the tolerances of each row."""
    return [(row.verdict, row.tolerances) for row in compared(*runs).rows]


SAME: tuple[str, list[str]] = ("same", [])
ARGUMENTS_COMPACT = asking(call(arguments='{"expression":"1+1"}'))


@pytest.mark.parametrize(
    ("other", "row", "expected"),
    [
        ({}, 1, SAME),
        ({"back": {"tool_calls": [call()], "content": None, "role": "assistant"}}, 1, ("equivalent", ["key-order"])),
        ({"back": {**ASKED, "content": ""}}, 1, ("equivalent", ["blank-content"])),
        ({"back": {**ASKED, "refusal": None}}, 1, ("equivalent", ["absent-null"])),
        ({"back": ARGUMENTS_COMPACT}, 1, ("equivalent", ["argument-bytes"])),
        (
            {"back": {**ARGUMENTS_COMPACT, "content": ""}},
            1,
            ("equivalent", ["blank-content", "argument-bytes"]),
        ),
        ({"back": {**ASKED, "name": "x"}}, 1, ("different", [])),
        ({"back": {**ARGUMENTS_COMPACT, "name": "x"}}, 1, ("different", [])),
        ({"back": None}, 1, ("different", [])),
        ({"content": BARE}, 2, ("equivalent", ["result-envelope"])),
        ({"content": "3"}, 2, ("different", [])),
        ({"content": FAILED}, 2, ("different", [])),
    ],
)
def test_the_verdict_on_a_row_holds_whichever_lane_comes_first(
    other: Any, row: int, expected: tuple[str, list[str]]
) -> None:
    """Same bytes, equal after named tolerances, or different."""
    one, two = run("one"), run("two", **other)
    assert expected == verdicts(one, two)[row]
    assert expected == verdicts(two, one)[row]


def test_two_failures_in_other_words_are_a_finding_about_the_later_lane() -> None:
    """The wording is equivalent, and said."""
    failed = use(1, "1/0")
    asked = asking(call(arguments='{"expression": "1/0"}'))
    runs = [
        run_of(
            ([USER], saying(asked)),
            ([USER, asked, result(content=text)], saying(answering())),
            uses=[failed],
            lane=name,
        )
        for name, text in (("one", FAILED), ("two", "Error: no"))
    ]
    result_of = compared(*runs)
    assert ("equivalent", ["error-wording"]) == (result_of.rows[2].verdict, result_of.rows[2].tolerances)
    assert [[], ["error-wording messages[2].content"]] == [
        [finding.key for finding in lane.findings] for lane in result_of.lanes
    ]


def test_the_rows_follow_the_conversation() -> None:
    """One row for each message, by round; a message that only one lane has is absent from the other."""
    more = run_of(FIRST, ([USER, ASKED, result(), USER], saying(answering())), uses=[use()], lane="two")
    rows = compared(run("one"), more).rows
    assert [(0, "user"), (1, "assistant"), (1, "tool"), (1, "user"), (2, "assistant")] == [
        (row.round, row.role) for row in rows
    ]
    assert ["absent", "sent"] == [cell.state for cell in rows[3].cells.values()]
    assert [ASKED, answering()] == [row.said for row in rows if row.said is not None]


def test_a_last_word_is_final_and_open_calls_are_kept() -> None:
    """A reply that nobody need send back is told from one whose calls were left open."""
    ended, left = run("ended"), run_of(FIRST, lane="left")
    rows = compared(ended, left).rows
    assert [("sent", "kept"), ("sent", "absent"), ("final", "absent")] == [
        (row.cells["ended"].state, row.cells["left"].state) for row in rows[1:]
    ]
    assert "different" == compared(ended, left).verdict


def test_results_in_another_order_stand_in_the_rows_of_their_calls() -> None:
    """A row holds one call's result in every lane, wherever it stands in a lane's request."""
    asked = asking(call(), call("call_2", '{"expression": "2+2"}'))
    results = [result(), result("call_2", '{"ok": true, "result": 4}')]
    uses = [use(), use(1, "2+2")]
    runs = [
        run_of(([USER], saying(asked)), ([USER, asked, *told], saying(answering())), uses=uses, lane=name)
        for name, told in (("one", results), ("two", results[::-1]))
    ]
    cells = [[cell.index for cell in row.cells.values()] for row in compared(*runs).rows if row.role == "tool"]
    assert [[2, 3], [3, 2]] == cells


def test_lanes_that_end_for_different_reasons_are_different_and_it_is_said_of_the_later() -> None:
    """The first lane is the measure."""
    result_of = compared(run("one"), run("two", raised=RuntimeError()))
    assert "different" == result_of.verdict
    assert ["stop-reason stop"] == [finding.key for finding in result_of.lanes[1].findings]
    assert [] == result_of.lanes[0].findings
