"""An effect happens at most once per call, and what came of it is told truly."""

import asyncio
import json
import os
import sqlite3
import sys
import threading
from collections.abc import Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from lc.sturdy.effects import Journal, Key, NoJournal, PostgresJournal, SqliteJournal

KEY = Key("thread", "message", 0)
DONE = '{"ok": true, "result": "十"}'
POSTGRES = os.environ.get("DIPTYCH_POSTGRES")
"""The connection string of a database that the tests may write to; without one, only SQLite is tested."""


def error_type(observation: str | None) -> str:
    """The error type of an observation that must be one of a failure."""
    read = json.loads(observation or "null")
    assert read["ok"] is False
    assert {"ok", "error_type", "error"} == set(read)
    return str(read["error_type"])


def failing() -> str:
    raise AssertionError("this work must not be done")


@pytest.fixture(params=["sqlite", *(["postgres"] if POSTGRES else [])])
def journal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Journal]:
    """Each journal that there is, empty."""
    if request.param == "postgres":
        import psycopg

        assert POSTGRES is not None
        with psycopg.connect(POSTGRES, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS diptych_effects")
        made: Journal = PostgresJournal(POSTGRES)
    else:
        made = SqliteJournal(tmp_path / "journal.sqlite")
    with closing(made):
        yield made


def test_a_call_runs_once_and_keeps_its_observation(journal: Journal) -> None:
    """The second time, the observation is there and the work is not done."""
    assert None is journal.outcome(KEY)
    assert DONE == journal.once(KEY, "write", "{}", lambda: DONE)
    assert DONE == journal.once(KEY, "write", "{}", failing)
    assert DONE == journal.outcome(KEY)


def test_calls_are_told_apart_by_thread_message_and_position(journal: Journal) -> None:
    """Each of them is a call of its own, though name and arguments are the same."""
    keys = [KEY, KEY._replace(thread_id="other"), KEY._replace(message_id="other"), KEY._replace(position=1)]
    for place, key in enumerate(keys):
        assert str(place) == journal.once(key, "write", "{}", lambda place=place: str(place))  # type: ignore[misc]
    assert ["0", "1", "2", "3"] == [journal.outcome(key) for key in keys]


@pytest.mark.parametrize("called", [("write", '{"path": "b"}'), ("delete", '{"path": "a"}')])
def test_another_call_under_the_same_key_is_neither_run_nor_answered_as_the_first(
    journal: Journal, called: tuple[str, str]
) -> None:
    """A thread that is wound back can ask for something else at the same place."""
    journal.once(KEY, "write", '{"path": "a"}', lambda: DONE)
    observation = journal.once(KEY, *called, failing)
    assert "already_called" == error_type(observation)
    assert 'as write with the arguments {"path": "a"};' in json.loads(observation)["error"]
    assert DONE == journal.outcome(KEY)


@pytest.mark.parametrize("raised", [KeyboardInterrupt, MemoryError, OSError])
def test_an_exception_out_of_the_work_leaves_the_call_started(journal: Journal, raised: type[BaseException]) -> None:
    """It does not prove that nothing happened, so the work is not done a second time."""

    def work() -> str:
        raise raised

    with pytest.raises(raised):
        journal.once(KEY, "write", "{}", work)
    assert "outcome_unknown" == error_type(journal.outcome(KEY))
    assert "outcome_unknown" == error_type(journal.once(KEY, "write", "{}", failing))


def test_odd_text_is_kept(journal: Journal) -> None:
    """Half a surrogate pair and NUL come back as escapes, both times, and such ids are no trouble."""
    key = Key("t\ud800\0", "m\udfff", 0)
    kept = 'x\\ud800\\u0000 " 总'
    assert kept == journal.once(key, "\ud800", '{"a": "\ud800\0"}', lambda: 'x\ud800\0 " 总')
    assert kept == journal.once(key, "\ud800", '{"a": "\ud800\0"}', failing)
    assert kept == journal.outcome(key)


def test_of_many_threads_one_does_the_work(journal: Journal) -> None:
    """The others are told, while it still runs, that it may; none of them waits for it."""
    gate, told = threading.Barrier(8), threading.Semaphore(0)

    def work() -> str:
        assert all(told.acquire(timeout=30) for _ in range(7))
        return DONE

    def call() -> str:
        gate.wait()
        observation = journal.once(KEY, "write", "{}", work)
        told.release()
        return observation

    with ThreadPoolExecutor(8) as pool:
        got = [future.result() for future in [pool.submit(call) for _ in range(8)]]
    assert 1 == got.count(DONE)
    assert {"outcome_unknown"} == {error_type(one) for one in got if one != DONE}
    assert DONE == journal.outcome(KEY)


def test_many_threads_with_calls_of_their_own_do_not_disturb_each_other(journal: Journal) -> None:
    """Every call gets its own observation."""
    with ThreadPoolExecutor(8) as pool:
        got = list(
            pool.map(lambda n: journal.once(KEY._replace(position=n), "write", "{}", lambda: str(n)), range(100))
        )
    assert [str(n) for n in range(100)] == got
    assert got == [journal.outcome(KEY._replace(position=n)) for n in range(100)]


def test_awaited_work_is_done_once_too(journal: Journal) -> None:
    """While it runs, another is told so. After that, its observation is there, for sync callers as well."""
    done = []

    async def work() -> str:
        done.append(1)
        second = await journal.aonce(KEY, "write", "{}", work)
        assert "outcome_unknown" == error_type(second)
        return DONE

    assert DONE == asyncio.run(journal.aonce(KEY, "write", "{}", work))
    assert DONE == asyncio.run(journal.aonce(KEY, "write", "{}", work))
    assert DONE == journal.once(KEY, "write", "{}", failing)
    assert [1] == done


def test_awaited_work_that_is_cancelled_leaves_the_call_started(journal: Journal) -> None:
    """A time-out does not prove that nothing happened."""

    async def work() -> str:
        await asyncio.sleep(60)
        return DONE

    async def cancelled() -> None:
        async with asyncio.timeout(0.2):
            await journal.aonce(KEY, "write", "{}", work)

    with pytest.raises(TimeoutError):
        asyncio.run(cancelled())
    assert "outcome_unknown" == error_type(journal.outcome(KEY))


def test_a_cancellation_behind_the_work_does_not_lose_what_came_of_it(journal: Journal) -> None:
    """The observation is entered although nobody waits for it, and although it must wait for a thread to enter it."""
    go_on = threading.Event()

    async def work() -> str:
        asyncio.get_running_loop().run_in_executor(None, go_on.wait)
        return DONE

    async def cancelled() -> None:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await journal.aonce(KEY, "write", "{}", work)
        go_on.set()
        await asyncio.get_running_loop().run_in_executor(None, str)  # behind the entry, in the only thread

    asyncio.run(cancelled())
    assert DONE == journal.outcome(KEY)


def test_a_file_that_another_is_making_is_waited_for(tmp_path: Path) -> None:
    """SQLite itself does not wait with the change of a file's mode."""
    path = tmp_path / "state.sqlite"
    with closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("CREATE TABLE made (it)")
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, other.rollback)
        timer.start()
        SqliteJournal(path).close()
        timer.join()


def test_a_writer_that_has_the_file_is_waited_for(tmp_path: Path) -> None:
    """The checkpointer writes into the same file."""
    path = tmp_path / "state.sqlite"
    with closing(SqliteJournal(path)) as journal, closing(sqlite3.connect(path, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, other.rollback)
        timer.start()
        assert DONE == journal.once(KEY, "write", "{}", lambda: DONE)
        timer.join()


def test_what_is_started_is_on_the_disk_before_the_work(tmp_path: Path) -> None:
    """Another connection sees it while the work is done, and the file is in the mode that survives a power cut."""
    path, seen = tmp_path / "journal.sqlite", []

    def work() -> str:
        with closing(SqliteJournal(path)) as other:
            seen.append(other.outcome(KEY))
        return DONE

    with closing(SqliteJournal(path)) as journal:
        journal.once(KEY, "write", "{}", work)
        assert [(2,)] == journal._rows("PRAGMA synchronous", ())
        assert [("wal",)] == journal._rows("PRAGMA journal_mode", ())
    assert "outcome_unknown" == error_type(seen[0])


def test_a_file_that_cannot_be_a_journal_is_named_with_what_mends_it(tmp_path: Path) -> None:
    """A folder that is not there, a folder, and a file of another kind: one line each."""
    (tmp_path / "text").write_text("this is no database, and it is long enough to be sure\n" * 99)
    mend = "; it must be a SQLite file, or none yet, in a folder that exists, can be written and has room"
    for name, why in [
        ("missing/journal", "unable to open database file"),
        ("", "unable to open database file"),
        ("text", "file is not a database"),
    ]:
        with pytest.raises(NoJournal) as told:
            SqliteJournal(tmp_path / name)
        assert f"the journal {tmp_path / name} cannot be used: {why}{mend}" == str(told.value)


def test_a_journal_that_cannot_be_written_stops_the_call_before_the_work(tmp_path: Path) -> None:
    """Without an entry nothing is run."""
    journal = SqliteJournal(tmp_path / "journal.sqlite")
    journal.close()
    with pytest.raises(NoJournal, match="closed database"):
        journal.once(KEY, "write", "{}", failing)


def test_a_journal_does_not_cross_a_fork(tmp_path: Path) -> None:
    """SQLite's connections must not; the child is told so and runs nothing."""
    with closing(SqliteJournal(tmp_path / "journal.sqlite")) as journal:
        child = os.fork()
        if child == 0:
            try:
                journal.once(KEY, "write", "{}", failing)
            except NoJournal as error:
                os._exit(7 if "fork" in str(error) else 1)
            os._exit(1)
        assert 7 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert None is journal.outcome(KEY)


def test_without_psycopg_the_package_to_install_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(NoJournal) as told:
        PostgresJournal("postgresql://localhost/none")
    assert "the package psycopg is missing: pip install 'diptych[postgres]'" == str(told.value)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("postgresql://user:s3cret@127.0.0.1:9/none", "connection failed"),
        ("user:s3cret@127.0.0.1", "its connection string cannot be read"),
    ],
)
def test_a_database_that_cannot_be_reached_is_told_in_one_line_without_the_password(url: str, why: str) -> None:
    """It says what to check."""
    with pytest.raises(NoJournal) as told:
        PostgresJournal(url)
    assert why in str(told.value)
    assert "check the connection string" in str(told.value)
    assert "s3cret" not in str(told.value)
    assert "\n" not in str(told.value)


def test_an_awaitable_that_is_no_coroutine_is_work_too(journal: Journal) -> None:
    """Whatever can be awaited will do."""

    async def called() -> str:
        def work() -> Awaitable[str]:
            future: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            future.set_result(DONE)
            return future

        return await journal.aonce(KEY, "write", "{}", work)

    assert DONE == asyncio.run(called())
