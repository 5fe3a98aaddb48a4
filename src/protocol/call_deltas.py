"""Which call a streamed entry of `tool_calls` belongs to, on servers that are not quite like OpenAI's."""

from typing import Any

from protocol.deviations import Flag
from protocol.pieces import Growing, Text
from protocol.text import is_json


class Call:
    """A tool call that grows; `index` and `id` are those by which its pieces are told, None where none came."""

    def __init__(self, index: int | None, flag: Flag) -> None:
        self.index = index
        self.id: str | None = None
        self.entry = Growing(flag)

    def text(self, key: str) -> str:
        """The name or the arguments so far, where they are text; else an empty one."""
        function = self.entry.values.get("function")
        value = function.values.get(key) if isinstance(function, Growing) else None
        return value.whole() if isinstance(value, Text) else ""


class CallDeltas:
    """All calls of one message, while their pieces come in."""

    def __init__(self, flag: Flag) -> None:
        self.calls: list[Call] = []
        self._flag = flag
        self._last: Call | None = None
        self._at: dict[int, Call] = {}  # the call that an index meant last
        self._of: dict[str, Call] = {}  # the call that an id meant last

    def add(self, entries: list[Any]) -> None:
        """Take in the entries of one delta, in order."""
        for place, entry in enumerate(entries):
            if isinstance(entry, dict):
                self._entry(entry, place > 0)
            else:
                self._flag("entry-no-object")

    def whole(self) -> list[dict[str, Any]]:
        """The calls: by index where each has one (QwenLM/Qwen-Agent#943), else in the order of their coming.

        No call is made up for a gap (pipecat-ai/pipecat#4987).
        """
        indexes = [call.index for call in self.calls if call.index is not None]
        ordered = self.calls
        if len(indexes) == len(self.calls):
            ordered = sorted(self.calls, key=lambda call: call.index or 0)
            if sorted(indexes) != indexes:
                self._flag("index-descending")
            if sorted(set(indexes)) != list(range(len(set(indexes)))):
                self._flag("index-gap")
        if any(call.id is None for call in ordered):
            self._flag("id-missing")
        return [call.entry.whole() for call in ordered]

    def _entry(self, entry: dict[str, Any], follows: bool) -> None:
        """One entry: find its call or open one, and add to it. `follows`: it is not the first of its delta."""
        index, call_id = self._index(entry.get("index")), self._id(entry)
        function = entry.get("function")
        if not isinstance(function, dict):
            self._flag("function-missing")
            function = {}
        name, arguments = function.get("name"), function.get("arguments")
        call = self._by_id_or_last(call_id, name, follows) if index is None else self._by_index(index, call_id, name)
        if call is not None and self._another(call, call_id, name, arguments):
            self._flag("index-missing" if index is None else "index-shared")
            call = None
        if call is None:
            if not any(value not in (None, "") for key, value in entry.items() if key not in ("index", "type")):
                return
            call = Call(index, self._flag)
            self.calls.append(call)
        elif call.index is None:
            call.index = index
        if index is not None:
            self._at[index] = call
        self._last = call
        self._identify(call, call_id, entry)
        self._merge(call, entry)

    def _index(self, value: Any) -> int | None:
        """The index as a number: 0, but also "0" (langchain-ai/langchain#38456) and 0.0; None for all else."""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
        digits = isinstance(value, str) and len(value) < 10 and value.isascii() and value.isdigit()
        if digits or (isinstance(value, float) and 0 <= value < 1e9 and value.is_integer()):
            self._flag("index-as-text")
            return int(value)
        self._flag("index-missing")
        return None

    def _id(self, entry: dict[str, Any]) -> str | None:
        """The id; an empty one is none (langchain-ai/langchain#35395)."""
        value = entry.get("id")
        if isinstance(value, str) and value:
            return value
        if "id" in entry:
            self._flag("id-empty")
        return None

    def _by_index(self, index: int, call_id: str | None, name: Any) -> Call | None:
        """The call that an entry with an index goes on with; None when it opens one.

        Servers that send each call with index 0 are understood by their ids: a new one with a name opens a call.
        A new one without a name does not (BerriAI/litellm#40040).
        """
        call, known = self._at.get(index), self._of.get(call_id or "")
        if call is None:
            if known is not None and (known.index is None or not name):
                if known.index is not None:
                    self._flag("index-changed")
                return known
            # The call was opened without an index, and now its pieces have one.
            unmarked = self._last is not None and self._last.index is None and not call_id and not name
            return self._last if unmarked else None
        if call_id is None or call.id is None or call.id == call_id:
            return call
        if known is not None or name:
            self._flag("index-shared")
            return known
        self._flag("id-changed")
        return call

    def _by_id_or_last(self, call_id: str | None, name: Any, follows: bool) -> Call | None:
        """The call that an entry without an index goes on with; None when it opens one.

        An id means its call, a new one with a name opens one (ollama/ollama#7881, langchain-ai/langchain#34654), and
        what has neither goes on with the last call. Entries of one delta that have names are different calls.
        """
        if call_id in self._of:
            return self._of[call_id]
        if name and (call_id is not None or follows):
            return None
        if call_id is not None and self._last is not None and self._last.id is not None:
            self._flag("id-changed")
        return self._last

    def _another(self, call: Call, call_id: str | None, name: Any, arguments: Any) -> bool:
        """Whether an entry with a name, and without the call's id, cannot belong to a call whose arguments have begun.

        It cannot where the name is another one, or where the arguments are whole and more would come behind them.
        """
        if not name or not isinstance(name, str) or (call_id is not None and call.id == call_id):
            return False
        known = call.text("arguments")
        if not known:
            return False
        if call.text("name") != name:
            return True
        more = isinstance(arguments, str) and arguments.strip()
        return bool(more) and known.rstrip().endswith("}") and is_json(known)

    def _identify(self, call: Call, call_id: str | None, entry: dict[str, Any]) -> None:
        """Give the call its id: the first that is one."""
        if call_id is None:
            if "id" in entry:
                call.entry.values.setdefault("id", entry["id"])
        elif call.id is None:
            if call.entry.values:
                self._flag("id-late")
            call.id = call.entry.values["id"] = call_id
            self._of[call_id] = call
        elif call.id == call_id:
            self._flag("id-repeated")

    def _merge(self, call: Call, entry: dict[str, Any]) -> None:
        """Add all of an entry but its id and index: arguments and name are joined, else the last value counts."""
        for key, value in entry.items():
            if key == "function" and isinstance(value, dict):
                add_function(call.entry.inner("function"), value, self._flag)
            elif key == "function":
                call.entry.values.setdefault(key, value)
            elif key not in ("index", "id"):
                call.entry.add(key, value)


def add_function(function: Growing, piece: dict[str, Any], flag: Flag) -> None:
    """Add a piece of a function: its arguments are joined, its name too unless it is the same once more.

    Some servers repeat the name with each piece (ggml-org/llama.cpp#12379), others send it in pieces.
    """
    for key, value in piece.items():
        known = function.values.get(key)
        if key == "name" and value and isinstance(value, str) and isinstance(known, Text) and known:
            repeated = known.whole() == value
            flag("name-repeated" if repeated else "name-split")
            if repeated:
                continue
        function.add(key, value, joined=key in ("name", "arguments"))
