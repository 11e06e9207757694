"""What a product takes: numbers that fp64 holds, dense vectors, scalars α and β."""

import sys
from numbers import Number
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError, quote
from gpu_engine.matrices.whole_numbers import are_exact

NUMBERS = "?bhilqBHILQefdFD"
"""The dtypes that fp64, or a pair of it, holds; 64-bit integers as far as it does."""


def is_tensor(vector: Any) -> bool:
    """Return whether it is a tensor of PyTorch, which is not imported for that."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(vector, getattr(torch, "Tensor", ()))


def check_numbers(array: Any, name: str) -> None:
    """Raise ParameterError unless fp64 holds the numbers of an array, or their real and imaginary parts."""
    if array.dtype.char not in NUMBERS:
        raise ParameterError(f"{name} is {array.dtype}; real or complex numbers of at most 64 bits were expected.")
    if not are_exact(array):
        raise ParameterError(f"{name} has a whole number beyond 2^53 that fp64 does not hold. Convert it to float64.")


def number(value: Any, name: str) -> complex:
    """Return α or β as a float or, by its type, as a complex number; raise ParameterError for what is no number."""
    if type(value) is float:
        return value
    if isinstance(value, np.generic) or (hasattr(value, "item") and getattr(value, "shape", None) == ()):
        value = value.item()
    try:
        if isinstance(value, Number):
            return complex(value) if isinstance(value, complex) else float(value)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        pass
    raise ParameterError(f"{name} is {quote(value)}; a number within the range of float64 was expected.")


def check_dense(x: Any) -> None:
    """Raise ParameterError for a matrix or an operator where vectors were expected."""
    if hasattr(x, "tocsr") or hasattr(x, "matvec"):
        raise ParameterError(
            f"The other factor is a {type(x).__name__}; an operator multiplies dense vectors [n] and matrices [n, k]. "
            "Make an operator of each sparse matrix, on one device, or of their product."
        )
