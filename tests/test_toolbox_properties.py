"""What holds of the calculator and of paths for any input at all."""

import errno
import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.test_confined import OPENERS, outcome
from toolbox import calculator, execute, file_tools, standard_tools
from toolbox.calculator import MAX_BITS
from toolbox.confined import Opener

# --- the calculator against an oracle that works sums out slowly, exactly and without Python's precedence ---

Number = int | float


class TooLargeError(Exception):
    """The oracle's verdict on a result beyond the bounds."""


class NotRealError(Exception):
    """The oracle's verdict on a complex result."""


@dataclass(frozen=True)
class Sum:
    """Factors joined by operators; each factor is its signs and a literal or a bracketed sum."""

    factors: tuple[tuple[str, "str | Sum"], ...]
    operators: tuple[str, ...]

    def text(self) -> str:
        """The sum as a person would write it."""
        written = [
            f"{signs}{f'({atom.text()})' if isinstance(atom, Sum) else atom}" for signs, atom in self.factors
        ]
        return written[0] + "".join(
            f" {op}{factor}" for op, factor in zip(self.operators, written[1:], strict=True)
        )

    def value(self, max_bits: int) -> Number:
        """Powers from the right, signs after powers, then products, then sums from the left."""
        terms: list[Number] = []
        operators: list[str] = []
        end = len(self.factors)
        while end:
            start = end - 1
            while start and self.operators[start - 1] == "**":
                start -= 1
            terms.insert(0, self._power(start, end, max_bits))
            operators[:0] = self.operators[start - 1 : start] if start else ()
            end = start
        for level in (("*", "/", "//", "%"), ("+", "-")):
            place = 0
            while place < len(operators):
                if operators[place] in level:
                    terms[place : place + 2] = [
                        apply(operators.pop(place), *terms[place : place + 2], max_bits)
                    ]
                else:
                    place += 1
        return terms[0]

    def _power(self, start: int, end: int, max_bits: int) -> Number:
        signs, atom = self.factors[start]
        value = atom.value(max_bits) if isinstance(atom, Sum) else json.loads(atom)
        if start + 1 < end:
            value = apply("**", value, self._power(start + 1, end, max_bits), max_bits)
        return -value if signs.count("-") % 2 else +value


def apply(op: str, left: Number, right: Number, max_bits: int) -> Number:
    """One operation: on integers by way of fractions and repeated multiplication, on floats as Python does it."""
    if isinstance(left, int) and isinstance(right, int) and not (op == "**" and right < 0):
        return exactly(op, left, right, max_bits)
    try:
        result = {
            "+": lambda: left + right,
            "-": lambda: left - right,
            "*": lambda: left * right,
            "/": lambda: left / right,
            "//": lambda: left // right,
            "%": lambda: left % right,
            "**": lambda: left**right,
        }[op]()
    except OverflowError:
        raise TooLargeError from None
    if isinstance(result, complex):
        raise NotRealError
    if not math.isfinite(result):
        raise TooLargeError
    return float(result)


def exactly(op: str, left: int, right: int, max_bits: int) -> Number:
    """One operation on integers."""
    if op in ("/", "//", "%"):
        quotient = Fraction(left, right)
        if op == "/":
            try:
                return float(quotient)
            except OverflowError:
                raise TooLargeError from None
        return math.floor(quotient) if op == "//" else left - right * math.floor(quotient)
    if op == "**":
        result = 1
        for _ in range(right if abs(left) > 1 else right % 2 + 2 * (right > 0)):
            result *= left
            if result.bit_length() > max_bits:
                raise TooLargeError
        return result
    result = {"+": left + right, "-": left - right, "*": left * right}[op]
    if result.bit_length() > max_bits:
        raise TooLargeError
    return result


literals = st.one_of(
    st.integers(0, 12).map(str),
    st.integers(0, 10**40).map(str),
    st.floats(0, 1e300, allow_nan=False).map(repr),
    st.sampled_from(["0.1", "0.5", "1e308", "5e-324", "2.0"]),
)
signs = st.sampled_from(["", "", "", "-", "+", "--", "-+-"])
operators = st.sampled_from(["+", "-", "*", "/", "//", "%", "**"])


def sums(atoms: st.SearchStrategy[Any]) -> st.SearchStrategy[Sum]:
    """Sums of up to five factors."""
    factors = st.lists(st.tuples(signs, atoms), min_size=1, max_size=5)
    return factors.flatmap(
        lambda found: st.tuples(*[operators] * (len(found) - 1)).map(lambda ops: Sum(tuple(found), ops))
    )


nested_sums = sums(st.recursive(literals, lambda inner: sums(inner), max_leaves=12))


def worked_out(total: Sum, max_bits: int) -> Any:
    """The oracle's result with its type, or its verdict."""
    try:
        value = total.value(max_bits)
    except ZeroDivisionError:
        return "zero"
    except TooLargeError:
        return "large"
    except NotRealError:
        return "not real"
    return type(value), repr(value)


@settings(deadline=None, max_examples=400)
@given(nested_sums)
def test_the_calculator_agrees_with_the_oracle(total: Sum) -> None:
    """Every sum has the oracle's value and type, or is refused for the oracle's reason."""
    expected = worked_out(total, MAX_BITS)
    actual: Any
    try:
        value = calculator(total.text())
        actual = (type(value), repr(value))
    except ZeroDivisionError:
        actual = "zero"
    except OverflowError:
        actual = "large"
        # The bound is on an estimate, which may be one bit above the result.
        expected = worked_out(total, MAX_BITS - 2)
    except ValueError:
        actual = "not real"
    assert expected == actual


@settings(deadline=None, max_examples=400)
@given(st.text(st.sampled_from("0123456789.eE+-*/%() \n_jx,"), max_size=30))
def test_what_the_calculator_accepts_python_reads_the_same(text: str) -> None:
    """Any text is refused with one of four errors, or is worked out as Python itself would."""
    try:
        value = calculator(text)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError):
        return
    expected = eval(f"({text})")  # noqa: S307 - accepted, so nothing but numbers, operators and brackets
    assert (type(expected), repr(expected)) == (type(value), repr(value))


@settings(deadline=None, max_examples=200)
@given(st.text(max_size=50))
def test_any_text_is_a_number_or_one_of_four_errors(text: str) -> None:
    """No text at all brings out another exception, or a number that JSON does not have."""
    with suppress(SyntaxError, ValueError, ZeroDivisionError, OverflowError):
        json.dumps(calculator(text), allow_nan=False)


# --- paths: random trees, links and paths ---

NAMES = ["a", "b", "c"]
steps = st.lists(st.sampled_from([*NAMES, "..", ".", ""]), min_size=1, max_size=6).map("/".join)
entries = st.lists(
    st.tuples(
        st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join),
        st.one_of(
            st.just("folder"),
            st.just("file"),
            steps.map(lambda target: f"link:{target}"),
            st.sampled_from(["link:/OUT/a", "link:/ROOT/a", "link:../../OUT/a", "link:/"]),
        ),
    ),
    max_size=12,
)


@contextmanager
def grown(tree: list[tuple[str, str]]) -> Iterator[Path]:
    """The tree in a root of its own; around it, files by the same names hold the word OUTSIDE."""
    with tempfile.TemporaryDirectory() as name:
        base = Path(name).resolve()
        root = base / "around" / "root"
        root.mkdir(parents=True)
        (base / "OUT").mkdir()
        for folder in (base, base / "around", base / "OUT"):
            for file in NAMES:
                (folder / file).write_text("OUTSIDE")
        for path, kind in tree:
            with suppress(OSError):  # what does not fit the tree as it has grown so far
                if not (root / path).parent.resolve().is_relative_to(root):
                    continue
                if kind == "folder":
                    (root / path).mkdir(parents=True)
                elif kind == "file":
                    (root / path).touch(exist_ok=False)
                    (root / path).write_text(f"inside {path}")
                else:
                    target = (
                        kind.removeprefix("link:").replace("/OUT", f"{base}/OUT").replace("/ROOT", str(root))
                    )
                    (root / path).symlink_to(target or ".")
        yield root


@pytest.mark.parametrize("opener", OPENERS)
@settings(deadline=None, max_examples=150)
@given(tree=entries, path=steps)
def test_what_opens_lies_inside_where_it_says(opener: Opener, tree: list[tuple[str, str]], path: str) -> None:
    """Whatever a path opens is inside, and lies where the system's own resolution finds it."""
    with grown(tree) as root:
        found = outcome(opener, root, path.lstrip("/").encode() or b".")
        if isinstance(found, str):
            return
        text, real = found
        assert text == "<folder>" or text.startswith("inside ")
        assert os.path.realpath(root / (path.lstrip("/") or ".")) == os.path.normpath(root / real)


@settings(deadline=None, max_examples=200)
@given(tree=entries, path=steps)
def test_both_mechanisms_agree(tree: list[tuple[str, str]], path: str) -> None:
    """On any tree and path, the kernel and the walk find the same or fail alike."""
    with grown(tree) as root:
        results = {outcome(opener, root, path.encode()) for opener in OPENERS}
    assert len(results) == 1


@pytest.mark.parametrize("opener", OPENERS)
@settings(deadline=None, max_examples=150)
@given(tree=entries, path=steps)
def test_what_is_refused_leaves_or_is_missing(opener: Opener, tree: list[tuple[str, str]], path: str) -> None:
    """A path that stays inside by relative links alone is refused only when the system does not find it either."""
    tree = [(name, kind) for name, kind in tree if ".." not in kind and not kind.startswith("link:/")]
    with grown(tree) as root:
        found = outcome(opener, root, path.lstrip("/").encode() or b".")
        if found == errno.errorcode[errno.EXDEV]:
            assert ".." in path.split("/")
        elif isinstance(found, str):
            with pytest.raises(OSError, match=r"."):
                os.stat(f"{root}/{path}")


@pytest.mark.parametrize("opener", OPENERS)
@settings(deadline=None, max_examples=100)
@given(tree=entries, path=st.one_of(steps, st.text(max_size=20)))
def test_no_tool_ever_shows_what_is_outside(opener: Opener, tree: list[tuple[str, str]], path: str) -> None:
    """Reading, listing and searching give nothing from outside and no address of the root, on success or failure."""
    with grown(tree) as root:
        tools = {tool.name: tool for tool in file_tools(root, secrets=(), open_beneath=opener)}
        for name, arguments in [
            ("read_text_file", {"path": path}),
            ("list_directory", {"path": path}),
            ("search_text", {"query": "OUTSIDE", "path": path}),
            ("search_text", {"query": "inside", "path": path}),
        ]:
            observation = execute(tools, name, json.dumps(arguments))
            assert "OUTSIDE" not in observation
            assert str(root) not in observation


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=300)
@given(
    name=st.sampled_from(["calculator", "read_text_file", "list_directory", "search_text"]) | json_values,
    arguments=json_values
    | st.text(max_size=20)
    | json_values.map(json.dumps)
    | st.dictionaries(st.sampled_from(["expression", "path", "query"]), json_values).map(json.dumps),
)
def test_whatever_a_model_sends_is_answered(name: Any, arguments: Any) -> None:
    """Any name and arguments give one observation of the two forms, which can be sent as UTF-8."""
    with tempfile.TemporaryDirectory() as root:
        text = execute({tool.name: tool for tool in standard_tools(root)}, name, arguments)
    observation = json.loads(text.encode().decode())
    expected = {"ok", "result"} if observation["ok"] else {"ok", "error_type", "error"}
    assert expected == set(observation)
