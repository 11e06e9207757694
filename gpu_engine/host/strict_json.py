"""JSON that somebody else has written: what is no number of JSON, too large, or kept by no database is refused."""

import json
import math
from typing import Any, NoReturn

INTEGER_MAX = 2**62
"""Larger than all that is counted, and smaller than what databases keep."""


def loads(text: bytes) -> Any:
    """The document of a text; raises ValueError with the reason where it has none."""
    try:
        document = json.loads(text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_bounded)
        # No database keeps half a character, which has no bytes, or the one without a number.
        if rb"\u0000" in json.dumps(document, ensure_ascii=False).encode():
            raise ValueError("a text has the character U+0000")
    except RecursionError as error:
        raise ValueError(str(error)) from None
    return document


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


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
