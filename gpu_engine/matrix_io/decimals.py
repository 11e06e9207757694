"""Decimal numbers of text files → the nearest fp64 number, or a sentence why there is none."""

import math
import re

NUMBER = re.compile(r"[+-]?(?P<digits>\d+\.?\d*|\.\d+)(?P<exponent>[eEdD][+-]?\d+)?", re.ASCII)
"""A decimal number as C and Fortran write it."""

WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
FORTRAN_EXPONENT = str.maketrans("dD", "ee")


def nearest(token: str) -> float:
    """The fp64 number nearest to a decimal one of any length, ties to even.

    Raises ValueError with the end of a sentence for one that is no number, or too large or too small for fp64.
    """
    match = NUMBER.fullmatch(token)
    if match is None:
        raise ValueError("is not a decimal number")
    value = float(token.translate(FORTRAN_EXPONENT))
    if math.isinf(value):
        raise ValueError("overflows fp64")
    if value == 0.0 and match["digits"].strip("0."):
        raise ValueError("underflows fp64")
    return value


def exact(token: str) -> float:
    """The fp64 number that equals a whole one; raises ValueError as `nearest`, also where there is none."""
    if not WHOLE.fullmatch(token):
        raise ValueError("is not a whole number")
    value = float(token)
    if math.isinf(value) or value != int(token):
        raise ValueError("is beyond 2^53 and not exact in fp64")
    return value
