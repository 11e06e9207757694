"""Operators: a matrix of SciPy, CuPy, or PyTorch together with an SpMV kernel, for use in your own code."""

from collections.abc import Mapping
from typing import Any, get_args

from gpu_engine.errors import ParameterError, quote
from gpu_engine.operators.build import Choose, Source, Wish
from gpu_engine.operators.linear import Operator
from gpu_engine.operators.matrices import wrap_arrays
from gpu_engine.operators.transposed_copy import TransposedCopy

__all__ = ["Choose", "Operator", "TransposedCopy", "operator"]


def operator(
    matrix: Any,
    choose: Choose = "auto",
    *,
    kernel: str | None = None,
    like: Mapping[str, Any] | None = None,
    time_limit_s: float = 0.5,
    transposed_copy: bool = True,
) -> Operator:
    """Return a matrix as an operator `A`: `A @ x`, `A.T @ y`, `A.matvec(x, out=, alpha=, beta=)`.

    matrix           matrix of scipy.sparse, cupyx.scipy.sparse, or torch.sparse; the SpMV runs where it lies
    choose           `auto`: on a GPU the predicted kernel if the confidence is high, else an auto-tuning run,
                     whose result is stored on disk; `predict`: never measure; `measure`: always measure
    kernel           name of the kernel, `split/tile`; like: results document of a job, whose fastest kernel is taken
    time_limit_s     seconds of an auto-tuning run, without compilation
    transposed_copy  whether an SpMV across the storage order, such as Aᵀ of CSR, may use a second layout
    Raises ParameterError for an unsupported matrix, kernel, or choice; DeviceError if the GPU does not respond.
    """
    if choose not in get_args(Choose):
        raise ParameterError(f"choose is {quote(choose)}; expected one of {', '.join(get_args(Choose))}.")
    if kernel is not None and like is not None:
        raise ParameterError("kernel and like both determine the kernel; give only one of them.")
    if time_limit_s <= 0:
        raise ParameterError(f"time_limit_s is {time_limit_s}; expected a positive number of seconds.")
    source = Source(wrap_arrays(matrix), Wish(choose, kernel, like, time_limit_s, transposed_copy))
    # SciPy's solvers take as long to import as the rest of SciPy.
    if source.ordinal is None:
        from gpu_engine.operators.host import HostOperator

        return HostOperator(source, source.side(transposed=False))
    from gpu_engine.operators.gpu import DeviceOperator

    return DeviceOperator(source, source.side(transposed=False))
