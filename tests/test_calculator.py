"""What the calculator works out, what it refuses, in which words, and at what cost."""

import json
import time
import tracemalloc

import pytest

from toolbox import CALCULATOR, calculator

REFUSAL_SECONDS = 0.050
REFUSAL_BYTES = 50 * 1024 * 1024


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("(17 * 23) + 9", 400),
        ("1+2*3", 7),
        ("1/3", 1 / 3),
        ("4/2", 2.0),
        ("0.1 + 0.2", 0.1 + 0.2),
        ("1.5e3", 1500.0),
        ("2E-3 + .5 + 5.", 0.002 + 0.5 + 5.0),
        ("7 // 2", 3),
        ("-7 // 2", -4),
        ("-7 % 3", 2),
        ("7.5 % 2", 1.5),
        ("-2 ** 2", -4),
        ("(-2) ** 2", 4),
        ("2 ** 3 ** 2", 512),
        ("2 ** -1", 0.5),
        ("(-8) ** 3.0", -512.0),
        ("2**100", 2**100),
        ("--+3", 3),
        ("0 ** 0", 1),
        ("1 ** 99999999999999999999", 1),
        ("(-1) ** 99999999999999999999", -1),
        ("0 * 9**999", 0),
        ("1000*(1+0.05/12)**(12*10)", 1000 * (1 + 0.05 / 12) ** (12 * 10)),
        (" \t( 1 +\n 2 )\r\n", 3),
        ("9" * 4_000, int("9" * 4_000)),
        ("2**13287", 2**13287),
        ("+".join(str(n) for n in range(1, 101)), 5050),
        ("+".join(f"({n}*1.0)" for n in range(1, 101)), 5050.0),
        ("(" * 50 + "1" + ")" * 50, 1),
    ],
)
def test_ordinary_sums(expression: str, expected: float) -> None:
    """Sums give what Python gives, as an integer or a float as Python does."""
    actual = calculator(expression)
    assert (type(expected), expected) == (type(actual), actual)


SYNTAX = [
    ("", "the expression ends where a number is expected, at column 1"),
    ("   ", "the expression ends where a number is expected, at column 1"),
    ("1 +", "the expression ends where a number is expected, at column 4"),
    ("1 2", "an operator is expected, not '2', at column 3"),
    ("1.5.2", "an operator is expected, not '.2', at column 4"),
    ("1 * / 2", "a number is expected, not '/', at column 5"),
    ("*1", "a number is expected, not '*', at column 1"),
    ("((1)", "'(' is never closed, at column 1"),
    ("1)", "')' has no '(', at column 2"),
    ("()", "a number is expected, not ')', at column 2"),
    ("1(2)", "an operator is expected, not '(', at column 2"),
    (
        "1 + 007",
        "leading zeros in decimal integer literals are not permitted; use an 0o prefix for octal integers, at column 5",
    ),
]


@pytest.mark.parametrize(("expression", "message"), SYNTAX)
def test_syntax_errors_say_what_and_where(expression: str, message: str) -> None:
    """Text that is no sum is a SyntaxError that names the fault and its column."""
    with pytest.raises(SyntaxError) as caught:
        calculator(expression)
    assert message == str(caught.value)


UNSUPPORTED = [
    ("x + 1", "'x'", 1),
    ("1 + inf", "'inf'", 5),
    ("nan", "'nan'", 1),
    ("True", "'True'", 1),
    ("1 + 2j", "'j'", 6),
    ("0x10", "'x10'", 2),
    ("1_000", "'_000'", 2),
    ("1,000", "','", 2),
    ("abs(1)", "'abs'", 1),
    ("__import__('os')", "'__import__'", 1),
    ("(1).real", "'.'", 4),
    ("1 < 2", "'<'", 3),
    ("1 == 1", "'='", 3),
    ("1 and 2", "'and'", 3),
    ("not 1", "'not'", 1),
    ("1 if 2 else 3", "'if'", 3),
    ("2 ^ 3", "'^'", 3),
    ("~1", "'~'", 1),
    ("1 << 9", "'<'", 3),
    ("[1]", "'['", 1),
    ("'a' * 9", '"\'"', 1),
    ("lambda: 1", "'lambda'", 1),
    ("1 # 2", "'#'", 3),
    ("1 \\\n+ 2", "'\\\\'", 3),
    ("１+1", "'１'", 1),
    ("1＋1", "'＋'", 2),
    ("٣", "'٣'", 1),
    ("1\u00a0+1", "'\\xa0'", 2),
    ("1\ud800", "'\\ud800'", 2),
    ("1\0", "'\\x00'", 2),
    ("ｅval", "'ｅval'", 1),
    ("x" * 30, f"'{'x' * 20}…'", 1),
]


@pytest.mark.parametrize(("expression", "part", "column"), UNSUPPORTED)
def test_everything_but_sums_is_refused(expression: str, part: str, column: int) -> None:
    """Names, calls, comparisons, strings and look-alike characters are named with their column."""
    with pytest.raises(ValueError, match="not supported") as caught:
        calculator(expression)
    expected = f"not supported: {part}, at column {column}; only numbers, + - * / // % ** and brackets are"
    assert expected == str(caught.value)


@pytest.mark.parametrize(
    ("expression", "column"),
    [("1/0", 2), ("3 + (4) % (2 - 2)", 9), ("1.0 // 0", 5), ("0 ** -1", 3), ("0.0**-1", 4)],
)
def test_division_by_zero_says_where(expression: str, column: int) -> None:
    """Division by zero, in all its spellings, is a ZeroDivisionError that names the operator's column."""
    with pytest.raises(ZeroDivisionError) as caught:
        calculator(expression)
    assert f"division by zero, at column {column}" == str(caught.value)


FLOAT_OVERFLOW = [
    ("10.0 ** 400", 6),
    ("1e308 * 10", 7),
    ("1e308 + 1e308", 7),
    ("-1e308 - 1e308", 8),
    ("1e308 / 1e-308", 7),
    ("1e308 // 1e-308", 7),
    ("10**3999 / 3", 10),
    ("10**3999 + 0.5", 10),
    ("0.5 ** 10**400", 5),
    ("2 ** -10**400", 3),
]


@pytest.mark.parametrize(("expression", "column"), FLOAT_OVERFLOW)
def test_no_result_is_infinite(expression: str, column: int) -> None:
    """Where Python gives inf or overflows, there is an OverflowError that names the operator's column."""
    with pytest.raises(OverflowError) as caught:
        calculator(expression)
    assert f"too large for a decimal number, at column {column}" == str(caught.value)


def test_a_literal_beyond_the_floats_is_refused() -> None:
    """1e400 would be read as inf, and is an OverflowError."""
    with pytest.raises(OverflowError) as caught:
        calculator("1 + 1e400")
    assert str(caught.value) == "the number is too large for a decimal number, at column 5"


@pytest.mark.parametrize(("expression", "column"), [("(-8) ** 0.5", 6), ("(-8.5) ** (1/3)", 8), ("(-1) ** -.5", 6)])
def test_no_result_is_complex(expression: str, column: int) -> None:
    """A root of a negative number is refused, as its result is complex."""
    with pytest.raises(ValueError, match="fractional power") as caught:
        calculator(expression)
    assert f"a fractional power of a negative number is not real, at column {column}" == str(caught.value)


TOO_LARGE = [
    ("9**9**9", 2),
    ("2**2**2**2**2**2", 5),
    ("(((2**9999)**9)**9)", 12),
    ("(2**9999) * (2**9999)", 11),
    ("2**13289", 2),
    ("7" * 3999 + "*" + "7" * 3999, 4000),
    ("9" * 4000 + "+" + "9" * 4000, 4001),
    ("-" + "9" * 4000 + "-" + "9" * 4000, 4002),
]


@pytest.mark.parametrize(("expression", "column"), TOO_LARGE)
def test_the_size_of_every_intermediate_result_is_bounded(expression: str, column: int) -> None:
    """Brackets, towers and products do not get past the bound, whatever the last step makes of it."""
    with pytest.raises(OverflowError) as caught:
        calculator(expression)
    assert f"the result has more than 4,000 digits, at column {column}" == str(caught.value)
    with pytest.raises(OverflowError):
        calculator(f"0 * ({expression})")


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1" * 10_001, "the expression has 10,001 characters; at most 10,000"),
        ("1+" * 500 + "1", "the expression has more than 1,000 numbers, operators and brackets"),
        ("9" * 4_001, "the number has more than 4,000 digits, at column 1"),
        ("(" * 51 + "1" + ")" * 51, "brackets are nested more than 50 deep, at column 51"),
    ],
)
def test_length_and_nesting_are_bounded(expression: str, message: str) -> None:
    """Too much text, too many parts, too many digits and too many brackets are each refused by name."""
    with pytest.raises(ValueError, match=r"more|characters") as caught:
        calculator(expression)
    assert message == str(caught.value)


HOSTILE: list[str] = [
    *(str(case[0]) for case in [*SYNTAX, *UNSUPPORTED, *FLOAT_OVERFLOW, *TOO_LARGE]),
    "9**9**9**9**9",
    "9" * 10_000_000,
    "(" * 1_000_000,
    "(" * 50 + ")" * 50,
    "-" * 5_000 + "1",
    "-" * 998 + "1/0",
    "(-" * 50 + "1 1" + ")" * 50,
    "1**" * 498 + "0/0",
    "7" + "*7" * 497 + "/0",
    "+".join(["7**4700"] * 240) + "/0",
    "9**4000" + "%9**3999" * 240 + "/0",
    "+".join(["(9**4000//9**2000)"] * 90) + "/0",
    "9**4000" + "//9" * 490 + "/0",
    ("9" * 2000 + "//" + "7" * 1000 + "+") * 3 + "1/0",
    "1.5" + "**1.0000001" * 490 + "/0",
    "1e" * 5_000,
    "1e" + "9" * 9_000,
    "0." + "1" * 9_000 + "/0",
    "é" * 10_000,
    " " * 10_000,
    "\n" * 9_999 + "x",
]


def _refuse(expression: str) -> None:
    with pytest.raises((SyntaxError, ValueError, ArithmeticError)):
        calculator(expression)


def test_a_refusal_takes_under_50_ms() -> None:
    """However hostile the text, its refusal takes less than 50 ms of CPU time."""
    calculator("1")
    for expression in HOSTILE:
        times = []
        for _ in range(3):  # the machine's own pauses are not the calculator's
            start = time.process_time()
            _refuse(expression)
            times.append(time.process_time() - start)
        assert min(times) < REFUSAL_SECONDS, expression[:60]


def test_a_refusal_takes_under_50_mb() -> None:
    """However hostile the text, its refusal needs less than 50 MB beside the text itself."""
    tracemalloc.start()
    try:
        for expression in HOSTILE:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            _refuse(expression)
            assert tracemalloc.get_traced_memory()[1] - before < REFUSAL_BYTES, expression[:60]
    finally:
        tracemalloc.stop()


def test_every_result_can_be_written_as_json() -> None:
    """The largest integer and the largest float still have a JSON text."""
    largest = [calculator("2**13287"), calculator("1.7976931348623157e308")]
    assert largest == json.loads(json.dumps(largest, allow_nan=False))


def test_the_tool_describes_the_function() -> None:
    """The tool has the function's name and one required string."""
    assert CALCULATOR.name == "calculator"
    assert calculator is CALCULATOR.function
    assert ["expression"] == CALCULATOR.parameters["required"] == list(CALCULATOR.parameters["properties"])
    assert CALCULATOR.parameters["additionalProperties"] is False
