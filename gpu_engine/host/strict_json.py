"""Strict JSON for untrusted input: rejects NaN, too large numbers, and text that databases cannot store."""

import json
import math
from typing import Any, NoReturn

INTEGER_MAX = 2**62
"""Largest absolute value of an integer; databases can store it."""


def loads(text: bytes) -> Any:
    """Return the JSON document of a text; raises ValueError with the reason if it is invalid."""
    try:
        document = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded)
        # Databases cannot store half of a surrogate pair, which has no UTF-8 encoding, or U+0000.
        if rb"\u0000" in json.dumps(document, ensure_ascii=False).encode():
            raise ValueError("a string contains the character U+0000")
    except RecursionError as error:
        raise ValueError(str(error)) from None
    return document


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a JSON number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


def _bounded(text: str) -> int:
    number = int(text)
    if abs(number) > INTEGER_MAX:
        raise ValueError(f"{text[:40]} is too large")
    return number
