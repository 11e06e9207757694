"""Solves many small systems of a caller's matrices in one launch."""

from collections.abc import Sequence
from typing import Any

from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import array_module
from gpu_engine.operators.matrices import wrap_arrays
from gpu_engine.operators.vectors import current_device
from gpu_engine.solvers import batch
from gpu_engine.solvers.batch import BatchSolution, Systems


def solve_batch(
    matrices: Any,
    b: Any,
    x0: Any = None,
    *,
    method: str = "cg",
    values: Any = None,
    rtol: float = 1e-5,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: str | None = None,
) -> BatchSolution:
    """Solve one system per matrix, each to its own tolerance; one launch on a GPU, one after the other on a CPU.

    matrices  square sparse matrices of SciPy, CuPy, or PyTorch, on one device; or one matrix, whose pattern all have
    values    float64 [systems, nonzeros] in the order of the CSR arrays of that matrix; None with several matrices
    b, x0     float64 [rows of all systems] or, with `values`, [systems, rows]; x0 None: 0
    method    `cg` for symmetric positive definite matrices, `bicgstab` or `gmres` for others; M: None or `jacobi`
    Other parameters are those of an operator's solvers. Raises ParameterError before work begins.
    """
    if isinstance(matrices, Sequence):
        if values is not None:
            raise ParameterError("values needs one matrix with the pattern of all, but there are several matrices.")
        systems = Systems.of([wrap_arrays(matrix).by_rows() for matrix in matrices])
    elif values is None:
        raise ParameterError("One matrix needs values [systems, nonzeros]. Or pass a list of matrices.")
    else:
        systems = Systems.uniform(wrap_arrays(matrices).by_rows(), values)
    xp = array_module(systems.values)
    with current_device(systems.values):
        right, start = (None if v is None else xp.asarray(v, float).reshape(-1) for v in (b, x0))
        return batch.solve(method, systems, right, start, rtol=rtol, atol=atol, maxiter=maxiter, M=M)
