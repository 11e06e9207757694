"""Solves A·X = B for several right-hand sides with an operator."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gpu_engine.errors import ParameterError
from gpu_engine.operators.vectors import FP64, DeviceVectors, Vectors
from gpu_engine.solvers.base import most_iterations
from gpu_engine.solvers.columns import (
    COLUMNS_MAX,
    ColumnInfo,
    ColumnMethod,
    ColumnPreconditioner,
    ColumnSolution,
    ColumnTolerance,
    host,
)
from gpu_engine.solvers.vectors import norms
from gpu_engine.spmm import order
from gpu_engine.spmm.operands import is_row_major

SOLVERS_MAX = 4
"""Solvers of an operator that are kept on a GPU, each with its blocks [n, k] and its CUDA graph."""


def has_several(vectors: Vectors, b: Any) -> bool:
    """Return whether b is a matrix whose columns are right-hand sides; [n, 1] is a vector."""
    shape = tuple((b if hasattr(b, "shape") else vectors.native(b, "b")).shape)
    return len(shape) == 2 and shape[1] != 1


def solve(
    operator: Any,
    method: ColumnMethod,
    b: Any,
    x0: Any,
    limits: tuple[float, float, int | None],
    preconditioner: Any,
    callback: Callable[[Any], None] | None,
    check_every: int,
) -> tuple[Any, ColumnInfo]:
    """Return (X, info) of a solve with an operator; X has the order of B (parameters: see `Solves`)."""
    vectors = operator.vectors
    with operator._source.current():
        bare = operator._system(preconditioner, method.symmetric)
        rights = _block(vectors, b, bare.n, "b")
        k = rights.shape[1]
        if k > COLUMNS_MAX:
            raise ParameterError(f"b has {k} columns, but a solve takes at most {COLUMNS_MAX}. Call it several times.")
        x = _start(vectors, x0, rights)
        tolerance = _tolerance(rights, *limits)
        with operator._product.lock:
            if not k:
                solution = _empty(x)
            elif isinstance(vectors, DeviceVectors):
                solver = _device_solver(operator, method, bare, k, check_every)
                solution = solver.solve(rights, x, tolerance, callback)
            else:
                solution = host.solve(method, _system(operator, bare, k), rights, x, tolerance, callback)
        x = x if is_row_major(vectors.native(b, "b")) else _by_columns(vectors.xp, x)
    return vectors.answer(x, b), ColumnInfo(replace(solution, x=x))


def _system(operator: Any, bare: Any, k: int) -> Any:
    """Return the system with an SpMM and a preconditioner of k columns."""
    given = bare.precondition
    made = None if given is None else ColumnPreconditioner(given, bare.n, k, operator.vectors.xp)
    return replace(bare, multiply=operator.bind_columns(k), precondition=made)


def _device_solver(operator: Any, method: ColumnMethod, bare: Any, k: int, check_every: int) -> Any:
    """Return a solver with its CUDA graph, which later solves of the same kind use again."""
    from gpu_engine.solvers.columns.device import ColumnSolver

    if check_every < 1:
        raise ParameterError(f"check_every is {check_every}; expected at least 1.")
    solvers = operator._solvers.setdefault("columns", {})
    key = method.title, k, check_every, id(bare.precondition)
    if key not in solvers:
        if len(solvers) == SOLVERS_MAX:
            del solvers[next(iter(solvers))]
        solvers[key] = ColumnSolver(method, _system(operator, bare, k), k, check_every)
    return solvers[key]


def _block(vectors: Vectors, given: Any, n: int, name: str) -> Any:
    """Return right-hand sides as row-major float64 [n, k].

    Raises ParameterError if they are complex or have a number that is not finite.
    """
    array = vectors.read(given, n, True, name)
    if array.dtype.kind == "c":
        raise ParameterError(f"{name} is complex, but the solvers are real. Solve for both parts.")
    block = order.row_major(array.reshape(n, -1) if array.ndim == 1 else array)
    if not bool(vectors.xp.isfinite(block).all()):
        raise ParameterError(f"{name} has a number that is not finite; there is no solution.")
    return block


def _start(vectors: Vectors, x0: Any, rights: Any) -> Any:
    """Return a new start block: row-major float64 [n, k]."""
    x = vectors.xp.zeros(rights.shape, FP64)
    if x0 is not None:
        given = _block(vectors, x0, rights.shape[0], "x0")
        if given.shape != rights.shape:
            raise ParameterError(f"x0 has the shape {given.shape}; expected that of b, {rights.shape}.")
        x[...] = given
    return x


def _tolerance(rights: Any, rtol: float, atol: float, maxiter: int | None) -> ColumnTolerance:
    most = most_iterations(rights.shape[0], rtol, atol, maxiter)
    return ColumnTolerance(np.maximum(rtol * norms(rights), atol), most)


def _empty(x: Any) -> ColumnSolution:
    """Return the report of a solve without a right-hand side."""
    none, whole = np.zeros(0), np.zeros(0, np.int64)
    return ColumnSolution(x, (), whole, none, none, np.zeros((0, 0)), 1, whole)


def _by_columns(xp: Any, x: Any) -> Any:
    """Return a row-major block as column major."""
    columns = xp.empty(x.shape, FP64, order="F")
    order.to_columns(x, columns, 0.0)
    return columns
