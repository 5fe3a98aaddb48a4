"""A JSON object that arrives in pieces: which of its values are joined, and which replaced."""

from typing import Any

from protocol.deviations import Flag


class Text(list[str]):
    """The pieces of a text, joined once at the end: joining them one by one takes the square of their number."""

    def whole(self) -> str:
        """The text so far."""
        return "".join(self)


class Growing:
    """An object that grows: `values` holds what came, a text as `Text`, an object that grows too as `Growing`."""

    def __init__(self, flag: Flag) -> None:
        self.values: dict[str, Any] = {}
        self._flag = flag

    def add(self, key: str, value: Any, joined: bool = False) -> None:
        """Take in one value: texts are appended where `joined` says so, lists extended, and else the last one counts.

        Null, an empty text and an empty list add nothing to what is there.
        """
        known = self.values.get(key)
        if empty(value) and known is not None:
            return
        if joined and isinstance(value, str):
            if isinstance(known, Text):
                known.append(value)
                return
            value = Text([value] if value else [])
        elif type(value) is list:
            if type(known) is list:
                known.extend(value)
                return
            value = [*value]
        if not empty(known) and (isinstance(value, dict | list) or known != value):
            self._flag("value-replaced")
        self.values[key] = value

    def inner(self, key: str) -> "Growing":
        """The object at this key, which grows too; what else stood there is replaced."""
        known = self.values.get(key)
        if not isinstance(known, Growing):
            known = self.values[key] = Growing(self._flag)
        return known

    def whole(self) -> dict[str, Any]:
        """The object as it has become, its keys in the order of their coming."""
        return {
            key: value.whole() if isinstance(value, Text | Growing) else value for key, value in self.values.items()
        }


def empty(value: Any) -> bool:
    """Whether a value says nothing: null, an empty text, an empty list."""
    return value is None or value == "" or value == []
