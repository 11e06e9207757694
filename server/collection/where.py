"""Conditions on the index, `nnz > 1e6 and spd`: parsed as Python and computed by the few kinds of nodes named here.

Nothing is compiled or called. A condition on what the index does not say is neither true nor false; it selects nothing.
"""

import ast
import math
from collections.abc import Callable, Mapping
from typing import Any

from gpu_engine.errors import ParameterError, quote
from server.collection.entries import Entry

LENGTH_MAX = 500

Value = Callable[[Entry], Any]
"""What a part of a condition is for an entry; None where the index does not say."""

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
    """Whether an entry fulfils the condition, which selects everything where it is empty; raises ParameterError."""
    if not text.strip():
        return lambda _: True
    kind, value = _parsed(_tree(text))
    if kind is not bool:
        raise ParameterError(f"{quote(text)} is {WORDS[kind]}; expected {HOW}.")
    return lambda entry: value(entry) is True


def _tree(text: str) -> ast.expr:
    """The condition as a tree, of which nothing is believed yet."""
    # An escape in a text, or anything else than one line, has no meaning here.
    if len(text) > LENGTH_MAX or "\\" in text or not text.isprintable():
        raise ParameterError(f"The condition {quote(text)} is not one line of at most {LENGTH_MAX} plain characters.")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ParameterError(f"{quote(text)} is not a condition; expected {HOW}.") from None


def _parsed(node: ast.expr) -> tuple[type, Value]:
    """The type of a part of a condition, and its value for an entry."""
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
            raise ParameterError(f"There is no column {quote(name)}; known: {', '.join(COLUMNS)}.")
    raise ParameterError(f"{quote(ast.unparse(node))} has no meaning in a condition; expected {HOW}.")


def _is_infinite(constant: Any) -> bool:
    return isinstance(constant, float) and math.isinf(constant)


def _flag(node: ast.expr) -> Value:
    kind, value = _parsed(node)
    if kind is not bool:
        raise ParameterError(f"{quote(ast.unparse(node))} is {WORDS[kind]}, not yes or no; compare it with something.")
    return value


def _joined(parts: list[Value], decisive: bool) -> Value:
    """Any of them, where True is decisive, or all of them: unknown where the known ones do not decide."""

    def value(entry: Entry) -> bool | None:
        found = [part(entry) for part in parts]
        if decisive in found:
            return decisive
        return None if None in found else not decisive

    return value


def _comparison(op: ast.cmpop, left: tuple[type, Value], right: tuple[type, Value]) -> Value:
    if type(op) not in ORDERS:
        raise ParameterError(f"A condition compares by {', '.join(sign for sign, _ in ORDERS.values())} alone.")
    sign, compare = ORDERS[type(op)]
    (kind, one), (other_kind, other) = left, right
    fits = {OF_NUMBERS: float, OF_TEXTS: str}
    needed = next((wanted for ops, wanted in fits.items() if isinstance(op, ops)), kind)
    if not kind is other_kind is needed:
        raise ParameterError(f"{WORDS[kind]} {sign} {WORDS[other_kind]} compares nothing; expected {HOW}.".capitalize())

    def value(entry: Entry) -> bool | None:
        pair = one(entry), other(entry)
        return None if None in pair else compare(*pair)

    return value
