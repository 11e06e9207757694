"""Conditions on the index such as `nnz > 1e6 and spd`, parsed as Python and evaluated for a few kinds of nodes.

Nothing is compiled or called. A condition on an unknown value is neither true nor false, and selects nothing.
"""

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from gpu_engine.errors import ParameterError, quote
from server.collection.entries import Entry

LENGTH_MAX = 500

Value = Callable[[Entry], Any]
"""Value of an expression for an entry; None if the index does not contain it."""

COLUMNS: Mapping[str, type] = {
    "rows": float,
    "cols": float,
    "nnz": float,
    "spd": bool,
    "symmetric": bool,
    "real": bool,
    "binary": bool,
    "kind": str,
    "group": str,
    "name": str,
}
"""Column → number, yes or no, or text."""

WORDS = {float: "a number", bool: "yes or no", str: "a text"}
ORDERS: Mapping[type[ast.cmpop], tuple[str, Callable[[Any, Any], bool]]] = {
    ast.Lt: ("<", lambda left, right: left < right),
    ast.LtE: ("<=", lambda left, right: left <= right),
    ast.Gt: (">", lambda left, right: left > right),
    ast.GtE: (">=", lambda left, right: left >= right),
    ast.Eq: ("==", lambda left, right: left == right),
    ast.NotEq: ("!=", lambda left, right: left != right),
    ast.In: ("in", lambda left, right: left.lower() in right.lower()),
    ast.NotIn: ("not in", lambda left, right: left.lower() not in right.lower()),
}
OF_NUMBERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
OF_TEXTS = (ast.In, ast.NotIn)
HOW = f"a condition such as 'nnz > 1e6 and spd' on {', '.join(COLUMNS)}, with and, or, not and comparisons"


def parse_where(text: str) -> Callable[[Entry], bool]:
    """Return the condition as a function of an entry; an empty condition selects everything. Raises ParameterError."""
    if not text.strip():
        return lambda _: True
    kind, value = _parsed(_tree(text))
    if kind is not bool:
        raise ParameterError(f"{quote(text)} is {WORDS[kind]}. Use {HOW}.")
    return lambda entry: value(entry) is True


def _tree(text: str) -> ast.expr:
    """Return the unchecked syntax tree of the condition."""
    # Escapes and line breaks are not allowed.
    if len(text) > LENGTH_MAX or "\\" in text or not text.isprintable():
        raise ParameterError(
            f"The condition {quote(text)} must be one line of at most {LENGTH_MAX} printable characters."
        )
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ParameterError(f"{quote(text)} is not a valid condition. Use {HOW}.") from None


def _parsed(node: ast.expr) -> tuple[type, Value]:
    """Return the type of an expression, and its value for an entry."""
    match node:
        case ast.BoolOp(op=ast.And() | ast.Or() as op, values=parts):
            return bool, _joined([_flag(part) for part in parts], isinstance(op, ast.Or))
        case ast.UnaryOp(op=ast.Not(), operand=part):
            inner = _flag(part)
            return bool, lambda entry: None if (value := inner(entry)) is None else not value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return float, lambda _: -number
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [_parsed(part) for part in (left, *others)]
            pairs = zip(ops, sides[:-1], sides[1:], strict=True)
            return bool, _joined([_comparison(*pair) for pair in pairs], False)
        case ast.Name(id=name) if name in COLUMNS:
            return COLUMNS[name], lambda entry: getattr(entry, name) if getattr(entry, name) != "" else None
        case ast.Name(id="true" | "false" as word):
            return bool, lambda _: word == "true"
        case ast.Constant(value=bool() | str() | int() | float() as constant) if not _is_infinite(constant):
            return float if type(constant) is int else type(constant), lambda _: constant
        case ast.Name(id=name):
            raise ParameterError(f"Unknown column {quote(name)}. Columns: {', '.join(COLUMNS)}.")
    raise ParameterError(f"{quote(ast.unparse(node))} is not allowed in a condition. Use {HOW}.")


def _is_infinite(constant: Any) -> bool:
    return isinstance(constant, float) and math.isinf(constant)


def _flag(node: ast.expr) -> Value:
    kind, value = _parsed(node)
    if kind is not bool:
        raise ParameterError(f"{quote(ast.unparse(node))} is {WORDS[kind]}, not yes or no. Compare it with a value.")
    return value


def _joined(parts: list[Value], decisive: bool) -> Value:
    """Return `any` or `all` of the values in three-valued logic: None if the known values do not decide."""

    def value(entry: Entry) -> bool | None:
        values = [part(entry) for part in parts]
        if decisive in values:
            return decisive
        return None if None in values else not decisive

    return value


def _comparison(op: ast.cmpop, left: tuple[type, Value], right: tuple[type, Value]) -> Value:
    if type(op) not in ORDERS:
        raise ParameterError(
            f"Conditions only support the comparisons {', '.join(sign for sign, _ in ORDERS.values())}."
        )
    sign, compare = ORDERS[type(op)]
    (kind, one), (other_kind, other) = left, right
    fits = {OF_NUMBERS: float, OF_TEXTS: str}
    needed = next((operand_kind for ops, operand_kind in fits.items() if isinstance(op, ops)), kind)
    if not kind is other_kind is needed:
        raise ParameterError(f"Cannot compare {WORDS[kind]} {sign} {WORDS[other_kind]}. Use {HOW}.")

    def value(entry: Entry) -> bool | None:
        pair = one(entry), other(entry)
        return None if None in pair else compare(*pair)

    return value
