"""Hostile streams, end to end: through the model server, the hand-written lane and the judge."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import raw
from compare.backends import script
from compare.comparison import compare
from compare.judge import judge
from compare.lanes import Lane
from compare.replies import Delta, Piece, ScriptedMessage, ScriptedStream, Sending
from compare.report import report, to_json
from compare.runner import Task, run_lane
from protocol import STOP_REASONS

TIMEOUT = 0.3
"""Seconds for one reply; a run here has two."""

anything: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=5,
)
argument_pieces = st.sampled_from(['{"expression": "1+1"}', '{"expression": "1', '+2"}', "", "{", "}", "[1]", None, 5])
functions = st.fixed_dictionaries(
    {}, optional={"name": st.sampled_from(["calculator", "calc", "", None]), "arguments": argument_pieces}
)
call_deltas = st.fixed_dictionaries(
    {},
    optional={
        "index": st.sampled_from([0, 0, 1, 2, "0", None, -1]),
        "id": st.sampled_from(["c1", "c1", "c2", "", None]),
        "type": st.sampled_from(["function", None]),
        "function": functions | anything,
    },
)
deltas = st.fixed_dictionaries(
    {},
    optional={"role": st.just("assistant"), "content": anything, "tool_calls": st.lists(call_deltas, max_size=3)},
)
finish_reasons = st.sampled_from([None, None, "stop", "tool_calls", "length", ""])
items = (
    st.builds(lambda delta, reason: Delta(json.dumps(delta), reason), deltas | anything, finish_reasons)
    | st.binary(max_size=12).map(Piece)
    | st.sampled_from([b"data: [DONE]\n\n", b"data: {", b"\n\n", b": ping\n\n", b'data: {"error": "x"}\n\n']).map(Piece)
)
sendings = st.builds(
    Sending,
    split=st.sampled_from([None, None, 1, 7]),
    cut=st.none() | st.integers(0, 300),
    ending=st.sampled_from(["whole", "whole", "cut", "reset", "stall"]),
    stall_limit=st.just(2.0),
)
streams = st.builds(ScriptedStream, st.lists(items, min_size=1, max_size=8).map(tuple), st.none(), sendings)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(streams)
def test_a_hostile_stream_harms_nobody(stream: ScriptedStream) -> None:
    """The lane ends in time with a word for it, no call runs twice, and judge and report stand."""
    done = ScriptedMessage('{"role":"assistant","content":"done"}', "stop", {})
    task = Task("go", "m", max_rounds=2, stream=True, timeout=TIMEOUT)
    run = run_lane(Lane("raw", raw.run), task, script([stream, done], "m"), deadline=20)
    assert run.raised is None
    assert run.stop in STOP_REASONS
    assert run.seconds < 10
    judged = judge(run, 2)
    assert all(len(call.executions) <= 1 for call in judged.calls)
    assert len(run.executions) <= len(judged.calls)
    to_json(report([compare("x", "x", "x", task, [judged], None)]))
