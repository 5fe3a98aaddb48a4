"""What holds of the calculator for any sum and any text, against an oracle that works sums out slowly."""

import json
import math
import operator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from toolbox import calculator
from toolbox.calculator import MAX_BITS

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
        written = [f"{signs}{f'({atom.text()})' if isinstance(atom, Sum) else atom}" for signs, atom in self.factors]
        return written[0] + "".join(f" {op}{factor}" for op, factor in zip(self.operators, written[1:], strict=True))

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
                    left, right = terms[place : place + 2]
                    terms[place : place + 2] = [apply(operators.pop(place), left, right, max_bits)]
                else:
                    place += 1
        return terms[0]

    def _power(self, start: int, end: int, max_bits: int) -> Number:
        signs, atom = self.factors[start]
        value = atom.value(max_bits) if isinstance(atom, Sum) else json.loads(atom)
        if start + 1 < end:
            value = apply("**", value, self._power(start + 1, end, max_bits), max_bits)
        return -value if signs.count("-") % 2 else +value


PYTHON: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
}


def apply(op: str, left: Number, right: Number, max_bits: int) -> Number:
    """One operation: on integers by fractions and repeated multiplication, on floats as Python does it."""
    if isinstance(left, int) and isinstance(right, int) and not (op == "**" and right < 0):
        return exactly(op, left, right, max_bits)
    try:
        result = PYTHON[op](left, right)
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
            if not left and right < 0:
                return -0.0  # the sign of nothing, which a fraction does not keep
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


@settings(deadline=None, max_examples=150)
@given(nested_sums)
def test_the_calculator_agrees_with_the_oracle(total: Sum) -> None:
    """Every sum has the oracle's value and type, or is refused by both.

    Of two faults in one sum each may meet another one first, so the reasons are compared in test_calculator.
    """
    try:
        value = calculator(total.text())
    except (ZeroDivisionError, OverflowError, ValueError):
        # The bound is on an estimate, which may be one bit above the result.
        assert worked_out(total, MAX_BITS - 2) in ("zero", "large", "not real")
    else:
        assert worked_out(total, MAX_BITS) == (type(value), repr(value))


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
