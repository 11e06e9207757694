"""Each method on SYSTEMS: the iterations of SciPy's solver, and a residual that meets the tolerance."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import linalg

from gpu_engine.errors import ParameterError
from gpu_engine.operators import operator
from gpu_engine.solvers import METHODS
from gpu_engine.solvers.gmres import gmres, passes_of
from tests.gpu_engine.solvers.systems import SYSTEMS, Case, stencil

RTOL = 1e-8
PAIRS = [(name, method) for name, case in SYSTEMS.items() for method in case.methods]


def right_hand_side(case: Case, matrix: Any) -> Any:
    return case.b(matrix) if case.b else np.random.default_rng(0).standard_normal(matrix.shape[0])


def residual(matrix: Any, x: Any, b: Any) -> float:
    """Return ‖b − A·x‖₂ in long double."""
    dense = matrix.toarray().astype(np.longdouble)
    return float(np.sqrt(((b - dense @ x.astype(np.longdouble)) ** 2).sum()))


def scipy_iterations(method: str, matrix: Any, b: Any, jacobi: bool) -> int:
    """Return the iterations of SciPy until the true residual meets the tolerance; its MINRES tests another norm."""
    bound, norms = RTOL * np.linalg.norm(b), [np.linalg.norm(b)]
    M = sp.diags_array(1.0 / matrix.diagonal()) if jacobi else None
    options: dict[str, Any] = {"rtol": RTOL}
    if method == "minres":
        options = {"rtol": 1e-15}
    if method == "gmres":
        # SciPy applies M on the left and would test another norm.
        options |= {"restart": 30, "callback_type": "pr_norm"}
        right = matrix @ M if jacobi else matrix
        linalg.gmres(right, b, callback=lambda norm: norms.append(norm * np.linalg.norm(b)), **options)
    else:
        getattr(linalg, method)(
            matrix, b, M=M, callback=lambda x: norms.append(np.linalg.norm(b - matrix @ x)), **options
        )
    # SciPy's BiCGSTAB may end in the middle of an iteration, before it calls back.
    return next((k for k, norm in enumerate(norms) if norm <= bound), len(norms))


@pytest.mark.parametrize(("name", "method"), PAIRS)
def test_iterations_are_those_of_scipy_and_the_true_residual_meets_the_tolerance(name: str, method: str) -> None:
    case = SYSTEMS[name]
    matrix = case.matrix()
    b = right_hand_side(case, matrix)
    x, info = getattr(operator(matrix), method)(b, rtol=RTOL, M=case.M)
    solution = info.solution
    assert info == 0
    assert residual(matrix, x, b) <= RTOL * np.linalg.norm(b) * (1 + 1e-12)
    assert solution.residual == pytest.approx(residual(matrix, x, b), rel=1e-6, abs=1e-6 * solution.bound)
    iterations = scipy_iterations(method, matrix, b, case.M is not None)
    # The order of a sum differs between builds of BLAS. Rounding adds up in long recurrences, and earlier in BiCGSTAB.
    allowed = max(1, round(0.25 * iterations) if method == "bicgstab" else round(0.1 * iterations) * (iterations > 100))
    assert abs(solution.iterations - iterations) <= allowed
    assert len(solution.residuals) == solution.iterations + 1


def test_there_are_forty_systems_for_every_method() -> None:
    assert len(SYSTEMS) == 40
    assert {method for _, method in PAIRS} == {"cg", "minres", "bicgstab", "gmres"}


def test_passes_of_a_short_cycle_are_those_of_a_small_basis() -> None:
    by_name = {method.name: method for method in METHODS}
    assert passes_of(by_name["cg"], 30, 400) == by_name["cg"].passes
    assert passes_of(by_name["gmres"], 30, 400) == by_name["gmres"].passes
    assert passes_of(by_name["gmres"], 30, 4) == gmres(4).passes < by_name["gmres"].passes


def test_a_cpu_launches_no_solve() -> None:
    with pytest.raises(ParameterError, match="GPU"):
        operator(stencil(4, 4)).launch_solve(np.ones(16), np.zeros(16))
    with pytest.raises(ParameterError, match="chebyshof"):
        operator(stencil(4, 4)).launch_solve(np.ones(16), np.zeros(16), method="chebyshof")
