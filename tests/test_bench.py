"""What `make bench` measures: that lc.sturdy stays cheap by exact counts, and that the tables can be made."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import lc
import lc.sturdy
from bench import lanes, requests, storage
from bench.lanes import calls, lane
from bench.model import model

A_ROUND_OF_HISTORY = 40
"""Function calls that a round of history may add to each request of lc.sturdy: 27 do now, and about 3,160 in lc."""


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """The address of a model server."""
    with model() as url:
        yield url


def test_a_request_of_the_sturdy_graph_hardly_grows_with_the_history(base_url: str) -> None:
    """The history is not converted, validated and encoded again for each request."""
    per_request = {rounds: calls(lane(lc.sturdy.run, base_url, rounds), rounds + 1) for rounds in (2, 7, 12)}
    assert 0 < requests.growth(per_request) < A_ROUND_OF_HISTORY


@pytest.mark.parametrize("rounds", [0, 1, 10])
def test_the_sturdy_graph_calls_fewer_functions_than_the_textbook_graph(base_url: str, rounds: int) -> None:
    """Nor do its parts cost a short run more than they save."""
    sturdy, textbook = (calls(lane(run, base_url, rounds), rounds + 1) for run in (lc.sturdy.run, lc.run))
    assert sturdy < textbook


def test_function_calls_are_counted_in_all_threads() -> None:
    """The sturdy graph sends from a thread of its own: what happens there is a cost too."""
    import _thread
    import threading

    def work(done: threading.Event) -> None:
        for _ in range(1000):
            len("")
        done.set()

    def by_threading() -> None:
        thread = threading.Thread(target=work, args=(threading.Event(),))
        thread.start()
        thread.join()

    def by_hand() -> None:
        done = threading.Event()
        _thread.start_new_thread(work, (done,))
        done.wait()

    assert [True, True, True] == [
        calls(one, 1) > 1000 for one in (lambda: work(threading.Event()), by_threading, by_hand)
    ]


def test_the_growth_is_what_each_round_adds_to_a_request() -> None:
    """Whatever a run costs at its start, and a request without a history."""
    start, request, round_of_history = 500, 70, 3
    per_request = {
        rounds: (start + sum(request + round_of_history * before for before in range(rounds + 1))) / (rounds + 1)
        for rounds in (10, 20, 30)
    }
    assert requests.growth(per_request) == pytest.approx(round_of_history)


def test_a_lane_whose_package_is_missing_is_left_out_by_name(base_url: str) -> None:
    """So `make bench` works without what only its figures need."""
    contenders = {name: requests.CONTENDERS[name] for name in ("raw", "lc", "lc.sturdy", "openai SDK")}
    lines = list(requests.table(base_url, contenders | {"gone": ("gone:run", "no_such_package")}, {1: 1, 2: 1}))
    assert "not installed, and left out: gone" in lines
    head, *rows = [line.split(" | ") for line in lines if " | " in line]
    assert ["rounds", *contenders] == [cell.strip() for cell in head]
    assert [["1", 5], ["2", 5]] == [[row[0].strip(), len(row)] for row in rows]


def test_a_broken_promise_is_named() -> None:
    """Never slower than lc, and eight times cheaper at 400 rounds."""
    lines = list(requests.promises({10: (5.0, 5.0), 100: (5.0, 5.1), 400: (80.0, 10.0)}))
    assert ["kept", "BROKEN", "kept"] == [line.split()[-1] for line in lines]
    (line,) = requests.promises({400: (79.0, 10.0)})
    assert "BROKEN" == line.split()[-1]


def test_the_other_tables_can_be_made(base_url: str) -> None:
    """Small sizes give all their lines."""
    assert 5 == len(list(lanes.table(base_url, (1, 2, 3), 1)))
    assert 2 == len(list(requests.counts(base_url, (1, 2, 3))))
    sizes = {"lc.sturdy": (1, 2), "textbook": (2,)}
    head, *rows = [line.split(" | ") for line in storage.table(base_url, sizes, storage.here)]
    assert [["lc.sturdy", "1"], ["lc.sturdy", "2"], ["textbook", "2"]] == [
        [cell.strip() for cell in row[:2]] for row in rows
    ]
    assert {len(head)} == {len(row) for row in rows}


@pytest.mark.parametrize(("graph", "linear"), [("lc.sturdy", True), ("textbook", False)])
def test_the_file_of_a_conversation_grows_with_its_length_and_not_with_the_square(
    base_url: str, tmp_path: Path, graph: str, linear: bool
) -> None:
    """Twice the rounds are twice the bytes; LangGraph's own state is written whole at each step: four times."""
    sizes = []
    for rounds in (10, 20, 40):
        storage.keep(graph, rounds, base_url, tmp_path / f"{rounds}.db")
        sizes.append((tmp_path / f"{rounds}.db").stat().st_size)
    ratio = (sizes[2] - sizes[1]) / (sizes[1] - sizes[0])
    assert linear == (ratio < 2.5)
