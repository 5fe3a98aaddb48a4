"""Where conversations are kept: checkpointers on SQLite and PostgreSQL that give back exactly what they were given."""

import dataclasses
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import aiosqlite
import ormsgpack
from langgraph.checkpoint.serde.jsonplus import (
    EXT_CONSTRUCTOR_KW_ARGS,
    EXT_CONSTRUCTOR_POS_ARGS,
    EXT_DELTA_SNAPSHOT,
    EXT_PYDANTIC_V2,
    JsonPlusSerializer,
)
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Send
from pydantic import BaseModel

from protocol import encodable

if TYPE_CHECKING:
    from langgraph.checkpoint.postgres import PostgresSaver
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

OPTION = (
    ormsgpack.OPT_NON_STR_KEYS
    | ormsgpack.OPT_PASSTHROUGH_BIG_INT
    | ormsgpack.OPT_PASSTHROUGH_DATACLASS
    | ormsgpack.OPT_PASSTHROUGH_DATETIME
    | ormsgpack.OPT_PASSTHROUGH_ENUM
    | ormsgpack.OPT_PASSTHROUGH_UUID
)
"""LangGraph's options, but for two: big integers come to us, and a lone surrogate is an error, not a question mark."""

REBUILT = [("builtins", "int"), ("builtins", "str"), ("builtins", "dict")]
"""What stands for a value that msgpack has not: a call that makes it. LangGraph's own serializer can read these too."""

POSTGRES_URL = "postgresql://user:password@host:5432/database"
POSTGRES_MEND = "a package is missing; install it: pip install 'diptych[postgres]'"


class NoMemory(Exception):
    """A memory that cannot be opened, in one line with the mend."""


class Serializer(JsonPlusSerializer):
    """LangGraph's serializer, exact for integers of any size and for text with lone surrogates.

    LangGraph raises TypeError for an integer beyond 64 bits and stores a lone surrogate as a question mark. All other
    values are written as LangGraph writes them. What is read is made only of the types that LangGraph calls safe,
    never by pickle: a value of another type comes back as plain data, unless the saver was given it by
    `with_allowlist`. Text inside a set, a path or a named tuple is not looked at.
    """

    def __init__(self) -> None:
        super().__init__(allowed_msgpack_modules=REBUILT)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """The kind of the bytes, and the bytes."""
        if obj is None or isinstance(obj, bytes | bytearray):
            return super().dumps_typed(obj)
        return "msgpack", _packed(obj)


def _packed(value: Any) -> bytes:
    try:
        return ormsgpack.packb(value, default=_extended, option=OPTION)
    except ormsgpack.MsgpackEncodeError:  # a lone surrogate, or a key beyond 64 bits: rare, so looked for only now
        return ormsgpack.packb(_spelled(value), default=_extended, option=OPTION)


def _extended(value: Any) -> ormsgpack.Ext | ormsgpack.Fragment:
    """What msgpack does not know by itself; all that can hold text or numbers of a conversation comes back to us."""
    kind = (type(value).__module__, type(value).__name__)
    if type(value) is int:
        return _call("int", hex(value), 16)  # Python reads and writes no decimal number of more than 4300 digits
    if isinstance(value, _DeltaSnapshot):
        return ormsgpack.Ext(EXT_DELTA_SNAPSHOT, _packed(value.value))
    if isinstance(value, BaseModel):
        return ormsgpack.Ext(EXT_PYDANTIC_V2, _packed((*kind, value.model_dump(), "model_validate_json")))
    if isinstance(value, Send):
        arguments = (value.node, value.arg) if value.timeout is None else (value.node, value.arg, value.timeout)
        return ormsgpack.Ext(EXT_CONSTRUCTOR_POS_ARGS, _packed((*kind, arguments)))
    if dataclasses.is_dataclass(value):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return ormsgpack.Ext(EXT_CONSTRUCTOR_KW_ARGS, _packed((*kind, fields)))
    return ormsgpack.Fragment(JsonPlusSerializer().dumps_typed(value)[1])


def _spelled(value: Any) -> Any:
    """The value with a call in place of each text that UTF-8 cannot carry and of each dict with such a key."""
    match value:
        case str() if not encodable(value):
            return _call("str", value.encode("utf-8", "surrogatepass"), "utf-8", "surrogatepass")
        case dict() if all(map(_is_key, value)):
            return {key: _spelled(one) for key, one in value.items()}
        case dict():
            return _call("dict", list(value.items()))
        case list() | tuple():
            return [_spelled(one) for one in value]
    return value


def _is_key(key: Any) -> bool:
    return encodable(key) if isinstance(key, str) else not isinstance(key, int) or -(2**63) <= key < 2**64


def _call(name: str, *arguments: Any) -> ormsgpack.Ext:
    return ormsgpack.Ext(EXT_CONSTRUCTOR_POS_ARGS, _packed(("builtins", name, arguments)))


class FileSaver(SqliteSaver):
    """A SqliteSaver that knows its file, for whoever keeps more in it: the journal of effects."""

    file = ":memory:"


class AsyncFileSaver(AsyncSqliteSaver):
    """The same for an event loop."""

    file = ":memory:"


@contextmanager
def sqlite(path: str | Path) -> Iterator[FileSaver]:
    """A memory in a SQLite file, which is made if it is not there; `:memory:` lasts as long as the block.

    Worker threads may share it, and processes may share the file: one writes at a time. Raises NoMemory.
    """
    with _opening(_in_folder(path), sqlite3.Error):
        connection = sqlite3.connect(path, check_same_thread=False)  # the saver locks around each use
    with closing(connection):
        saver = FileSaver(connection, serde=Serializer())
        saver.file = str(path)
        with _opening(path, sqlite3.Error):
            saver.setup()
        yield saver


@asynccontextmanager
async def asqlite(path: str | Path) -> AsyncIterator[AsyncFileSaver]:
    """The same memory for a graph that is called by `ainvoke` and `astream`. Raises NoMemory."""
    with sqlite(path):
        pass  # says what is wrong with the file, if anything is: aiosqlite would leave its thread behind
    async with aiosqlite.connect(str(path)) as connection:
        saver = AsyncFileSaver(connection, serde=Serializer())
        saver.file = str(path)
        yield saver


@contextmanager
def postgres(url: str) -> Iterator["PostgresSaver"]:
    """A memory in a PostgreSQL database, on one connection; its tables are made if they are not there.

    Raises NoMemory.
    """
    with _opening("PostgreSQL", ImportError, POSTGRES_MEND):
        import psycopg
        from langgraph.checkpoint.postgres import PostgresSaver
    with ExitStack() as stack:
        with _opening("PostgreSQL", psycopg.Error):
            _check_url(url)
            saver = stack.enter_context(PostgresSaver.from_conn_string(url))
            saver.serde = Serializer()
            saver.setup()
        yield saver


@asynccontextmanager
async def apostgres(url: str) -> AsyncIterator["AsyncPostgresSaver"]:
    """The same memory for a graph that is called by `ainvoke` and `astream`. Raises NoMemory."""
    with _opening("PostgreSQL", ImportError, POSTGRES_MEND):
        import psycopg
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    async with AsyncExitStack() as stack:
        with _opening("PostgreSQL", psycopg.Error):
            _check_url(url)
            saver = await stack.enter_async_context(AsyncPostgresSaver.from_conn_string(url))
            saver.serde = Serializer()
            await saver.setup()
        yield saver


def _in_folder(path: str | Path) -> str | Path:
    """The path. Raises NoMemory where its folder is not there: SQLite would only say that it cannot open the file."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise NoMemory(f"{path}: there is no folder {folder}; make it first: mkdir -p {folder}")
    return path


def _check_url(url: str) -> None:
    """Raise NoMemory for what is no address; psycopg's own words would show the password."""
    import psycopg

    try:
        psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        raise NoMemory(f"the address of the PostgreSQL database cannot be read; it is like {POSTGRES_URL}") from None


@contextmanager
def _opening(name: str | Path, kind: type[Exception], mend: str = "") -> Iterator[None]:
    """Say in one line what could not be opened; what goes wrong later is not ours to name."""
    try:
        yield
    except kind as error:
        raise NoMemory(f"{name}: cannot be opened: {mend or ' '.join(str(error).split())}") from error
