"""Checks of the operands of an SpMV: numbers that fp64 can represent, dense vectors, scalars α and β."""

import sys
from numbers import Number
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError, quote
from gpu_engine.matrices.whole_numbers import are_exact

NUMBERS = "?bhilqBHILQefdFD"
"""Type codes of dtypes that one or two fp64 numbers can represent; 64-bit integers are checked by value."""


def is_tensor(vector: Any) -> bool:
    """Return whether a vector is a tensor of PyTorch, without importing PyTorch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(vector, getattr(torch, "Tensor", ()))


def check_numbers(array: Any, name: str) -> None:
    """Raise ParameterError unless fp64 can represent the numbers of an array, or their real and imaginary parts."""
    if array.dtype.char not in NUMBERS:
        raise ParameterError(f"{name} is {array.dtype}; expected real or complex numbers of at most 64 bits per part.")
    if not are_exact(array):
        raise ParameterError(f"{name} has an integer above 2^53 that fp64 cannot represent. Convert it to float64.")


def number(value: Any, name: str) -> complex:
    """Return α or β as a float or, by its type, as a complex number; raises ParameterError for other values."""
    if type(value) is float:
        return value
    if isinstance(value, np.generic) or (hasattr(value, "item") and getattr(value, "shape", None) == ()):
        value = value.item()
    try:
        if isinstance(value, Number):
            return complex(value) if isinstance(value, complex) else float(value)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        pass
    raise ParameterError(f"{name} is {quote(value)}; expected a number within the range of float64.")


def check_dense(x: Any) -> None:
    """Raise ParameterError if x is a sparse matrix or an operator."""
    if hasattr(x, "tocsr") or hasattr(x, "matvec"):
        raise ParameterError(
            f"The other operand is a {type(x).__name__}; an operator multiplies dense vectors [n] and matrices [n, k]. "
            "Create an operator per sparse matrix, on one device, or one operator of their product."
        )
