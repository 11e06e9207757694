"""Operators: a matrix of SciPy, CuPy or PyTorch with the kernel that multiplies by it, to use in one's own code."""

from collections.abc import Mapping
from typing import Any, get_args

from gpu_engine.errors import ParameterError, quote
from gpu_engine.operators.build import Choose, Source, Wish
from gpu_engine.operators.linear import Operator
from gpu_engine.operators.matrices import adopt
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
    """The matrix as an operator `A`: `A @ x`, `A.T @ y`, `A.matvec(x, out=, alpha=, beta=)`.

    matrix         of scipy.sparse, cupyx.scipy.sparse or torch.sparse; products run where it lies
    choose         `auto`: on a GPU the advisor's first choice where it is sure, else the fastest in a short trial,
                   which is kept on disk; `predict`: never a trial; `measure`: always one
    kernel         the kernel itself, `split/tile`; like  the results document of a job, whose fastest kernel it takes
    time_limit_s       seconds of a trial, compiling not counted
    transposed_copy  whether products across the stored order, such as Aᵀ of CSR, may have a layout of their own
    Raises ParameterError for what is no such matrix, kernel or choice; DeviceError where its GPU does not answer.
    """
    if choose not in get_args(Choose):
        raise ParameterError(f"choose is {quote(choose)}; {', '.join(get_args(Choose))} were expected.")
    if kernel is not None and like is not None:
        raise ParameterError("kernel and like both say which kernel to take; give one of them.")
    if time_limit_s <= 0:
        raise ParameterError(f"time_limit_s is {time_limit_s}; a positive number of seconds was expected.")
    source = Source(adopt(matrix), Wish(choose, kernel, like, time_limit_s, transposed_copy))
    # SciPy's solvers take as long to import as the rest of SciPy.
    if source.ordinal is None:
        from gpu_engine.operators.host import HostOperator

        return HostOperator(source, source.side(transposed=False))
    from gpu_engine.operators.gpu import DeviceOperator

    return DeviceOperator(source, source.side(transposed=False))
