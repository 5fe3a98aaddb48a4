"""After a real kill -9, and among processes that race, an effect has happened at most once, and the truth is told."""

import json
import multiprocessing
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lc.sturdy.effects import Key, SqliteJournal

KEY = Key("thread", "message", 0)
DONE = '{"ok": true, "result": "done"}'

ONE_CALL = """
import os, signal, sys
from lc.sturdy.effects import Key, SqliteJournal

journal_path, effects, die = sys.argv[1:]

def kill_at(moment):
    if moment == die:
        os.kill(os.getpid(), signal.SIGKILL)

def work():
    kill_at("before the effect")
    with open(effects, "a") as file:
        file.write("effect\\n")
    kill_at("after the effect")
    return '{"ok": true, "result": "done"}'

journal = SqliteJournal(journal_path)
kill_at("before all")
print(journal.once(Key("thread", "message", 0), "write", "{}", work))
kill_at("after all")
"""
MANY_CALLS = """
import sys
from lc.sturdy.effects import Key, SqliteJournal

journal_path, effects = sys.argv[1:]
journal = SqliteJournal(journal_path)
print("begun", flush=True)

def work():
    with open(effects, "a") as file:
        file.write(f"{position}\\n")
    return "done"

for position in range(100_000):
    journal.once(Key("thread", "message", position), "write", "{}", work)
"""
GRAPH = """
import os, signal, sqlite3, sys
from typing import Any, TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from lc.sturdy.effects import Key, SqliteJournal

path, effects, task = sys.argv[1:]

def write():
    with open(effects, "a") as file:
        file.write("effect\\n")
    return '{"ok": true, "result": "done"}'

class State(TypedDict):
    observation: str

journal = SqliteJournal(path)

def tools(state):
    observation = journal.once(Key("thread", "message", 0), "write", "{}", write)
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"observation": observation}

builder = StateGraph(State)
builder.add_node("model", lambda state: {"observation": ""})
builder.add_node("tools", tools)
builder.add_edge(START, "model")
builder.add_edge("model", "tools")
builder.add_edge("tools", END)
config: Any = {"configurable": {"thread_id": "thread"}}
with SqliteSaver.from_conn_string(path) as saver:
    graph = builder.compile(checkpointer=saver)
    print(graph.invoke({"observation": ""} if task == "die" else None, config, durability="sync")["observation"])
"""


def ran(code: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """Run a script in a process of its own."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def error_type(observation: str | None) -> str:
    """The error type of an observation that must be one of a failure."""
    return str(json.loads(observation or "null")["error_type"])


@pytest.mark.parametrize(
    ("die", "effects", "known"),
    [
        ("before all", 0, None),
        ("before the effect", 0, "outcome_unknown"),
        ("after the effect", 1, "outcome_unknown"),
        ("after all", 1, "done"),
    ],
)
def test_a_killed_process_leaves_the_truth_behind(tmp_path: Path, die: str, effects: int, known: str | None) -> None:
    """After kill -9 the next process is told what is known; the effect never happens twice."""
    path, log = tmp_path / "journal.sqlite", tmp_path / "effects"
    log.touch()
    assert -signal.SIGKILL == ran(ONE_CALL, path, log, die).returncode
    assert effects == log.read_text().count("effect")
    with closing(SqliteJournal(path)) as journal:
        outcome = journal.outcome(KEY)
    again = ran(ONE_CALL, path, log, "never")
    assert 0 == again.returncode, again.stderr
    if known is None:
        assert (None, DONE, 1) == (outcome, again.stdout.strip(), log.read_text().count("effect"))
    elif known == "done":
        assert (DONE, DONE, effects) == (outcome, again.stdout.strip(), log.read_text().count("effect"))
    else:
        assert (known, known) == (error_type(outcome), error_type(again.stdout))
        assert effects == log.read_text().count("effect")


def test_killed_at_any_moment_and_started_again_no_effect_is_repeated(tmp_path: Path) -> None:
    """Ten processes, each killed at random: what is done happened once, and the rest at most once."""
    path, log = tmp_path / "journal.sqlite", tmp_path / "effects"
    for _ in range(10):
        command = [sys.executable, "-c", MANY_CALLS, str(path), str(log)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert b"begun\n" == process.stdout.readline()
            time.sleep(random.uniform(0, 0.05))  # noqa: S311 - no secret hangs on it
            process.kill()
    happened = [int(line) for line in log.read_text().splitlines()]
    assert happened
    assert sorted(set(happened)) == sorted(happened)
    with closing(SqliteJournal(path)) as journal:
        outcomes = {n: journal.outcome(KEY._replace(position=n)) for n in range(max(happened) + 2)}
    assert {n for n, outcome in outcomes.items() if outcome == "done"} <= set(happened)
    assert set(happened) <= {n for n, outcome in outcomes.items() if outcome is not None}


def test_a_graph_killed_between_effect_and_checkpoint_goes_on_without_a_second_effect(tmp_path: Path) -> None:
    """The journal lies in the checkpointer's file; the resumed graph gets the real observation."""
    path, log = tmp_path / "state.sqlite", tmp_path / "effects"
    killed = ran(GRAPH, path, log, "die")
    assert -signal.SIGKILL == killed.returncode, killed.stderr
    resumed = ran(GRAPH, path, log, "go on")
    assert f"{DONE}\n" == resumed.stdout, resumed.stderr
    assert "effect\n" == log.read_text()


def _race(path: Path, log: Path, gate: Callable[[], object], got: "multiprocessing.Queue[list[str]]") -> None:
    def work() -> str:
        with log.open("a") as file:
            file.write("effect\n")
        return DONE

    gate()
    with closing(SqliteJournal(path)) as journal:
        got.put([journal.once(KEY._replace(position=n), "write", "{}", work) for n in range(20)])


def test_of_many_processes_one_does_the_work(tmp_path: Path) -> None:
    """Four at once, from the making of the file on: each of twenty calls runs in exactly one of them."""
    spawn = multiprocessing.get_context("spawn")
    gate, got = spawn.Barrier(4), spawn.Queue()
    path, log = tmp_path / "journal.sqlite", tmp_path / "effects"
    racers = [spawn.Process(target=_race, args=(path, log, gate.wait, got)) for _ in range(4)]
    for racer in racers:
        racer.start()
    told = [got.get(timeout=60) for _ in racers]
    for racer in racers:
        racer.join()
    assert 20 == log.read_text().count("effect")
    for answers in zip(*told, strict=True):
        assert DONE in answers
        assert {"outcome_unknown"} >= {error_type(one) for one in answers if one != DONE}
