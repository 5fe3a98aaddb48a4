"""How an effect happens at most once per tool call, whatever ends the process: a journal tells what was started."""

import asyncio
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from toolbox.execute import failure

PATIENCE = 30.0  # seconds to wait for another process that has the file locked

_TABLE = """CREATE TABLE IF NOT EXISTS diptych_effects (
    thread_id TEXT NOT NULL, message_id TEXT NOT NULL, position INTEGER NOT NULL,
    name TEXT NOT NULL, arguments TEXT NOT NULL, observation TEXT, PRIMARY KEY (thread_id, message_id, position))"""
_THIS = "WHERE thread_id = ? AND message_id = ? AND position = ?"
# One statement decides a race: the row comes back only to the one who made it.
_START = "INSERT INTO diptych_effects VALUES (?, ?, ?, ?, ?, NULL) ON CONFLICT DO NOTHING RETURNING name"
_END = f"UPDATE diptych_effects SET observation = ? {_THIS}"  # noqa: S608 - made of constants
_FORGET = f"DELETE FROM diptych_effects {_THIS} AND observation IS NULL"  # noqa: S608 - made of constants
_FIND = f"SELECT name, arguments, observation FROM diptych_effects {_THIS}"  # noqa: S608 - made of constants


class Key(NamedTuple):
    """What a call is known by: its thread, its AIMessage, and its place among the calls of that message."""

    thread_id: str
    message_id: str
    position: int


class NoJournal(Exception):
    """The journal cannot be opened, read or written; one line says which, why, and what mends it."""


class Journal(ABC):
    """What calls were started and what came of them, kept where the end of a process does not reach it.

    A journal for another database needs `_rows` and `close`. All methods may raise NoJournal: out of `once`, it means
    that the call was not run, or that it ran and is kept as started.
    """

    def once(self, key: Key, name: str, arguments_text: str, work: Callable[[], str]) -> str:
        """Do the work of a call, unless it was started before; returns its observation.

        The call is on disk as started before the work begins, and its observation before this returns. A call that
        is there already is not run again. Its observation is then the one that was kept; or `outcome_unknown`, when
        none was kept; or `already_called`, when it was another tool or other arguments that ran under this key.

        An exception out of the work leaves the call started: it does not prove that nothing happened.
        """
        earlier = self._start(key, name, arguments_text)
        if earlier is not None:
            return earlier
        observation = _storable(work())
        self._end(key, observation)
        return observation

    async def aonce(self, key: Key, name: str, arguments_text: str, work: Callable[[], Awaitable[str]]) -> str:
        """The same as `once`, for work that is awaited."""
        earlier = await asyncio.to_thread(self._start, key, name, arguments_text)
        if earlier is not None:
            return earlier
        observation = _storable(await work())
        # Cancelled here, the effect is there; so what came of it is kept all the same.
        await asyncio.shield(asyncio.to_thread(self._end, key, observation))
        return observation

    def outcome(self, key: Key) -> str | None:
        """The observation of a call, without running it: None when it was never started, and so had no effect."""
        rows = self._rows(_FIND, _columns(key))
        return _observation(rows[0][2]) if rows else None

    def forget(self, key: Key) -> None:
        """Take out a call that was started and asks a person by an interrupt: it begins anew when it is resumed.

        By LangGraph's rule nothing has happened then: what stands before an interrupt is run again.
        """
        self._rows(_FORGET, _columns(key))

    @abstractmethod
    def close(self) -> None:
        """Let go of what is open. What was entered stays."""

    @abstractmethod
    def _rows(self, statement: str, values: Sequence[Any]) -> list[Any]:
        """The rows that one SQL statement gives, once what it changed is on disk. Raises NoJournal."""

    def _start(self, key: Key, name: str, arguments: str) -> str | None:
        """Enter the call as started; the observation of the one that was entered before, if there is one."""
        called = (_storable(name), _storable(arguments))
        if self._rows(_START, (*_columns(key), *called)):
            return None
        ((*before, observation),) = self._rows(_FIND, _columns(key))
        return _observation(observation) if called == tuple(before) else _already_called(*before)

    def _end(self, key: Key, observation: str) -> None:
        self._rows(_END, (observation, *_columns(key)))


class SqliteJournal(Journal):
    """A journal in a SQLite file, which may be the checkpointer's: for many threads and processes at once."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the file, or make it. Raises NoJournal."""
        self._path = os.fspath(path)
        self._process = os.getpid()
        # One statement at a time: SQLite commits only when no other is under way on the same connection.
        self._lock = threading.Lock()
        try:
            self._connection = sqlite3.connect(self._path, PATIENCE, isolation_level=None, check_same_thread=False)
        except sqlite3.Error as error:
            raise self._unusable(error) from None
        try:
            self._prepare()
        except sqlite3.Error as error:
            self._connection.close()
            raise self._unusable(error) from None

    def close(self) -> None:
        """Let go of the file. What was entered stays."""
        with self._lock:
            self._connection.close()

    def _prepare(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # SQLite does not wait by itself where two change the mode of a new file at once.
                if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                break
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(_TABLE)

    def _rows(self, statement: str, values: Sequence[Any]) -> list[Any]:
        if os.getpid() != self._process:
            raise NoJournal(f"the journal {self._path} was opened before a fork; open it anew in the new process")
        with self._lock:
            try:
                return self._connection.execute(statement, values).fetchall()
            except sqlite3.Error as error:
                raise self._unusable(error) from None

    def _unusable(self, error: sqlite3.Error) -> NoJournal:
        needs = "it must be a SQLite file, or none yet, in a folder that exists, can be written and has room"
        return NoJournal(f"the journal {self._path} cannot be used: {error}; {needs}")


class PostgresJournal(Journal):
    """A journal in a PostgreSQL database. Each entry is made over a connection of its own, so none can go stale."""

    def __init__(self, url: str) -> None:
        """Make the table where it is not there yet; `url` is a connection string. Raises NoJournal."""
        try:
            import psycopg
        except ImportError:
            raise NoJournal("the package psycopg is missing: pip install 'diptych[postgres]'") from None
        self._psycopg, self._url = psycopg, url
        # The lock, because two that make the same table at once would both fail to see it and one would fail.
        self._rows(f"SELECT pg_advisory_xact_lock(hashtext('diptych_effects')); {_TABLE}", ())

    def close(self) -> None:
        """Nothing stays open between two entries."""

    def _rows(self, statement: str, values: Sequence[Any]) -> list[Any]:
        try:
            with self._psycopg.connect(self._url, autocommit=True, connect_timeout=10) as connection:
                cursor = connection.execute(statement.replace("?", "%s").encode(), values or None)
                return cursor.fetchall() if cursor.description else []
        except self._psycopg.Error as error:
            # Without a state it is about the connection string, which it quotes, with the password that is in it.
            unread = isinstance(error, self._psycopg.ProgrammingError) and error.sqlstate is None
            why = "its connection string cannot be read" if unread else " ".join(str(error).split())
            needs = "check the connection string, that the server runs, and that the user may create a table"
            raise NoJournal(f"the journal in PostgreSQL cannot be used: {why}; {needs}") from None


def _columns(key: Key) -> Key:
    return Key(_storable(key.thread_id), _storable(key.message_id), key.position)


def _storable(text: str) -> str:
    """The text as both databases take it: halves of surrogate pairs, and NUL, become the escapes that JSON has."""
    return text.replace("\0", "\\u0000").encode("utf-8", "backslashreplace").decode()


def _observation(kept: str | None) -> str:
    """The observation that was kept, or that none was."""
    if kept is not None:
        return kept
    return failure(
        "outcome_unknown",
        "this call was started before and no result of it was kept: the process ended while it ran, or it still runs; "
        "it may have taken effect; it was not run again; look before you repeat it",
    )


def _already_called(name: str, arguments: str) -> str:
    shown = arguments if len(arguments) <= 200 else arguments[:200] + "…"
    return failure(
        "already_called",
        f"this call was started before, as {name} with the arguments {shown}; what is asked for now was not run; "
        "it needs a new call",
    )
