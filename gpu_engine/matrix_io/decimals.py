"""Converts decimal numbers of text files to the nearest fp64 number, or raises an error with the reason."""

import math
import re

NUMBER = re.compile(r"[+-]?(?P<digits>\d+\.?\d*|\.\d+)(?P<exponent>[eEdD][+-]?\d+)?", re.ASCII)
"""Pattern of decimal numbers as in C and Fortran."""

WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
FORTRAN_EXPONENT = str.maketrans("dD", "ee")


def nearest(token: str) -> float:
    """Return the fp64 number nearest to a decimal number of any length, ties to even.

    Raises ValueError, with the end of a sentence, for text that is not a number or out of range for fp64.
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
    """Return the fp64 number equal to an integer; raises ValueError, with the end of a sentence, if there is none."""
    if not WHOLE.fullmatch(token):
        raise ValueError("is not a whole number")
    value = float(token)
    if math.isinf(value) or value != int(token):
        raise ValueError("is beyond 2^53 and not exact in fp64")
    return value
