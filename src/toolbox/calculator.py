"""What the calculator works out: the arithmetic of Python's numbers, every intermediate result bounded."""

import ast
import math
import operator
from collections.abc import Callable, Iterator

from toolbox.sum_syntax import at, check_syntax
from toolbox.tool import Tool

Number = int | float

# About 4,000 digits: Python refuses to write integers of more than 4,300 (sys.get_int_max_str_digits).
MAX_BITS = 13_288

UNARY: dict[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
BINARY: dict[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


def calculator(expression: str) -> int | float:
    """Work out an arithmetic expression: numbers, + - * / // % **, parentheses.

    Numbers behave as in Python: integers stay exact up to about 4,000 digits, `/` and decimals give a float.
    Nothing is evaluated as code: the text is checked sign by sign, read by Python's `ast`, and only the node
    kinds named in this module are worked out.

    Raises SyntaxError for text that is no sum, ValueError for what is not supported or too long,
    ZeroDivisionError, and OverflowError for a result beyond the bounds; each says at which column.
    """
    text = check_syntax(expression)
    try:
        tree = ast.parse(text, mode="eval")
    except SyntaxError as error:  # what only Python's own reader refuses, such as the leading zero of 007
        raise SyntaxError(f"{error.msg}, {at((error.offset or 1) - 1)}") from None
    values: list[Number] = []
    for node in _operands_first(tree.body):
        if isinstance(node, ast.Constant):
            values.append(_literal(node))
        elif isinstance(node, ast.UnaryOp):
            values.append(UNARY[type(node.op)](values.pop()))
        elif isinstance(node, ast.BinOp):
            right, left = values.pop(), values.pop()
            values.append(_binary(node, left, right, text))
    return values.pop()


def _operands_first(root: ast.expr) -> Iterator[ast.expr]:
    """Every node after its operands, from left to right, without recursion: long sums are deep trees."""
    found, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        if isinstance(node, ast.BinOp):
            waiting += [node.left, node.right]
        elif isinstance(node, ast.UnaryOp):
            waiting.append(node.operand)
        elif not isinstance(node, ast.Constant):
            raise ValueError(f"not supported: {type(node).__name__}, {at(node.col_offset)}")
    return reversed(found)


def _literal(node: ast.Constant) -> Number:
    value = node.value
    if type(value) is not int and type(value) is not float:
        raise ValueError(f"not supported: {type(value).__name__}, {at(node.col_offset)}")
    if isinstance(value, float) and math.isinf(value):
        raise OverflowError(f"the number is too large for a decimal number, {at(node.col_offset)}")
    return value


def _binary(node: ast.BinOp, left: Number, right: Number, text: str) -> Number:
    """Apply one operator; what would be too large is refused before the work, inf and nan after it."""
    place = _operator_place(node, text)
    if isinstance(left, int) and isinstance(right, int) and _bits(node.op, left, right) > MAX_BITS:
        raise OverflowError(f"the result has more than 4,000 digits, {place}")
    if isinstance(node.op, ast.Pow) and left < 0 and isinstance(right, float) and not right.is_integer():
        raise ValueError(f"a fractional power of a negative number is not real, {place}")
    try:
        result = BINARY[type(node.op)](left, right)
    except ZeroDivisionError:
        raise ZeroDivisionError(f"division by zero, {place}") from None
    except OverflowError:
        raise OverflowError(f"too large for a decimal number, {place}") from None
    if isinstance(result, float) and not math.isfinite(result):
        raise OverflowError(f"too large for a decimal number, {place}")
    return result


def _bits(op: ast.operator, left: int, right: int) -> float:
    """An upper bound on the size of an integer result, in bits, from the sizes of its operands alone."""
    if isinstance(op, ast.Mult):
        return left.bit_length() + right.bit_length()
    if isinstance(op, ast.Add | ast.Sub):
        return max(left.bit_length(), right.bit_length()) + 1
    if isinstance(op, ast.Pow) and abs(left) > 1 and right > 0:
        # Compared first, because a huge exponent does not fit into the float of the product.
        return math.inf if right > MAX_BITS else math.log2(abs(left)) * right
    return 0  # quotients and remainders are no larger than what they are made of


def _operator_place(node: ast.BinOp, text: str) -> str:
    """Where the operator stands: behind its left operand and the brackets that close around that."""
    start = node.left.end_col_offset or 0
    while text[start] in " )":
        start += 1
    return at(start)


CALCULATOR = Tool(
    name="calculator",
    description="Work out an arithmetic expression: numbers, + - * / // % **, parentheses.",
    parameters={
        "type": "object",
        "properties": {
            "expression": {"type": "string", "description": "The expression, for example (17 * 23) + 9."},
        },
        "required": ["expression"],
        "additionalProperties": False,
    },
    function=calculator,
)
