"""Solvers of libraries: SciPy itself, CuPy and NVIDIA Warp by stand-ins that say how they were called."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg

from gpu_engine.competitors import solvers, warp_solvers
from gpu_engine.competitors.solver_calls import Answer, LibrarySystem
from gpu_engine.competitors.solvers import LIBRARY_SOLVERS, find_solver, library_call, solver_names, tightest
from gpu_engine.competitors.warp_solvers import MODES
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError, LayoutTooLargeError, ParameterError
from tests.gpu_engine.solvers.systems import convection, scaled, stencil

PLANE = CsrMatrix.from_scipy(stencil(12, 12))
B = np.random.default_rng(0).standard_normal(144)


def system(method: str = "cg", preconditioner: str = "none", matrix: CsrMatrix = PLANE, **more: Any) -> LibrarySystem:
    return LibrarySystem(matrix, B[: matrix.n_rows], method, preconditioner, **more)


def residual(matrix: CsrMatrix, x: Any) -> float:
    return float(np.linalg.norm(B[: matrix.n_rows] - matrix.to_scipy() @ x))


def test_every_solver_has_a_library_a_backend_and_a_name_of_its_own() -> None:
    assert solver_names("cpu") == ("scipy/solver",)
    assert solver_names("cuda") == ("cupy/solver", *(f"warp/{mode}" for mode in MODES))
    assert {solver.library for solver in LIBRARY_SOLVERS} == solvers.LIBRARIES == {"scipy", "cupy", "warp"}
    assert find_solver("warp/captured") in LIBRARY_SOLVERS
    assert find_solver("csr/vector") is None


@pytest.mark.parametrize("preconditioner", solvers.PRECONDITIONERS)
@pytest.mark.parametrize("method", ["cg", "minres", "bicgstab", "gmres"])
def test_scipy_solves_and_is_counted(method: str, preconditioner: str) -> None:
    bound = solvers._scipy(system(method, preconditioner))
    answer = bound.count(1e-12)
    assert answer.converged
    assert residual(PLANE, bound.solve(1e-12)) <= 1e-9 * np.linalg.norm(B)
    per_iteration = 2 if method == "bicgstab" else 1
    assert answer.iterations > 10
    # Half an iteration may be enough, and cycles have one SpMV more.
    assert answer.spmvs == pytest.approx(per_iteration * answer.iterations, abs=answer.iterations // 10 + 2)
    np.testing.assert_array_equal(answer.x, bound.solve(1e-12))


def test_jacobi_repairs_a_scaled_system() -> None:
    matrix = CsrMatrix.from_scipy(scaled(stencil(12, 12), 4.0))
    iterations = {
        name: solvers._scipy(system("cg", name, matrix, iterations_max=5000)).count(1e-8).iterations
        for name in solvers.PRECONDITIONERS
    }
    assert iterations["jacobi"] < iterations["none"] / 3


def test_gmres_of_scipy_counts_cycles() -> None:
    bound = solvers._scipy(system("gmres", restart=5, iterations_max=12))
    answer = bound.count(1e-14)
    assert (answer.iterations, answer.converged) == (15, False)


def test_the_loosest_tolerance_that_meets_the_bound_is_searched() -> None:
    tolerances: list[float] = []

    def solve(tolerance: float) -> float:
        tolerances.append(tolerance)
        return 7.0 * tolerance

    assert tightest(solve, lambda x: x, 1e-6, 1e-5) == 1e-6
    tolerance = tightest(solve, lambda x: x, 1e-6, 1e-6)
    assert 1e-7 < tolerance < 1e-6 / 7
    assert tolerances == [1e-6, 1e-6, tolerance]


@pytest.mark.parametrize("norm", [lambda _: 1.0, lambda _: float("nan")])
def test_a_library_that_meets_no_bound_fails(norm: Callable[[Any], float]) -> None:
    calls: list[float] = []
    with pytest.raises(KernelError, match="did not converge"):
        tightest(calls.append, norm, 1e-6, 1e-6)
    # A tighter tolerance gained nothing.
    assert len(calls) <= 2


def test_a_function_that_raises_skips_its_case() -> None:
    with pytest.raises(ParameterError, match="lib cannot solve this system: ValueError: no"), library_call("lib"):
        raise ValueError("no")
    for error in (LayoutTooLargeError("needs 1 GB"), KernelError("wrong"), MemoryError()):
        with pytest.raises(type(error)), library_call("lib"):
            raise error


class Linalg(ModuleType):
    """cupyx.scipy.sparse.linalg with the functions of SciPy, and signatures that differ as CuPy's do."""

    def __init__(self) -> None:
        super().__init__("cupyx.scipy.sparse.linalg")
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.LinearOperator = scipy.sparse.linalg.LinearOperator

    def cg(self, A: Any, b: Any, *, rtol: float, atol: float, maxiter: int, M: Any, callback: Any = None) -> Any:
        self.calls.append(("cg", {"rtol": rtol, "atol": atol, "maxiter": maxiter, "M": M}))
        return scipy.sparse.linalg.cg(A, b, rtol=rtol, atol=atol, maxiter=maxiter, M=M, callback=callback)

    def minres(self, A: Any, b: Any, *, tol: float, maxiter: int, M: Any, callback: Any = None) -> Any:
        self.calls.append(("minres", {"tol": tol}))
        return scipy.sparse.linalg.minres(A, b, rtol=tol, maxiter=maxiter, M=M, callback=callback)

    def gmres(
        self,
        A: Any,
        b: Any,
        *,
        rtol: float,
        atol: float,
        restart: int,
        maxiter: int,
        M: Any,
        callback: Any = None,
        callback_type: Any = None,
    ) -> Any:
        self.calls.append(("gmres", {"restart": restart, "maxiter": maxiter}))
        return scipy.sparse.linalg.gmres(A, b, rtol=rtol, atol=atol, restart=restart, maxiter=-(-maxiter // restart))


@pytest.fixture
def linalg(monkeypatch: pytest.MonkeyPatch) -> Linalg:
    module = Linalg()
    monkeypatch.setitem(sys.modules, "cupyx.scipy.sparse.linalg", module)
    monkeypatch.setattr(solvers, "import_module", lambda name: module if name.endswith("linalg") else sp)
    monkeypatch.setattr(solvers, "cupyx_matrix", CsrMatrix.to_scipy)
    return module


def test_cupy_is_called_as_it_takes_its_tolerances(linalg: Linalg, monkeypatch: pytest.MonkeyPatch) -> None:
    for method in ("cg", "minres", "gmres"):
        bound = solvers._cupy(system(method, restart=20, iterations_max=100))
        assert residual(PLANE, bound.solve(1e-10)) <= 1e-7 * np.linalg.norm(B)
    assert linalg.calls == [
        ("cg", {"rtol": 1e-10, "atol": 0.0, "maxiter": 100, "M": None}),
        ("minres", {"tol": 1e-10}),
        ("gmres", {"restart": 20, "maxiter": 100}),
    ]


def test_whole_cycles_of_cupy_are_counted(linalg: Linalg) -> None:
    answer = solvers._cupy(system("gmres", restart=5, iterations_max=20)).count(1e-30)
    assert answer.iterations == answer.spmvs // 6 * 5
    assert not answer.converged


def test_a_method_that_a_library_lacks_is_skipped(linalg: Linalg) -> None:
    with pytest.raises(ParameterError, match="has no bicgstab"):
        solvers._cupy(system("bicgstab"))


class Array:
    """An array of Warp, on NumPy."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def zero_(self) -> None:
        self.values[:] = 0.0

    def numpy(self) -> Any:
        return self.values


class Warp:
    """What this package uses of Warp 1.19, with CG of SciPy behind every function; it writes down each call."""

    float64 = "float64"

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.is_capturing = False
        self.__version__ = "1.19.0"
        self.config = SimpleNamespace(quiet=False)
        self.streams: list[int] = []

    def Stream(self, device: str, cuda_stream: int) -> int:  # noqa: N802 (name of Warp)
        return cuda_stream

    def get_device(self, name: str) -> str:
        return name

    @contextmanager
    def ScopedStream(self, stream: int) -> Iterator[None]:  # noqa: N802 (name of Warp)
        self.streams.append(stream)
        yield

    @contextmanager
    def ScopedCapture(self, stream: int) -> Iterator[Any]:  # noqa: N802 (name of Warp)
        self.is_capturing = True
        capture = SimpleNamespace(graph=None)
        yield capture
        capture.graph = self.calls[-1]
        self.is_capturing = False

    def capture_launch(self, graph: dict[str, Any]) -> None:
        self.calls.append({"replayed": graph["tol"]})
        graph["run"]()

    def from_dlpack(self, array: Any) -> Array:
        return Array(array)

    def zeros(self, n: int, dtype: str, device: str) -> Array:
        return Array(np.zeros(n))

    def bsr_zeros(self, rows: int, columns: int, dtype: str, device: str) -> Any:
        sizes: list[int] = []
        return SimpleNamespace(
            nrow=rows, offsets=None, columns=None, values=None, nnz=0, notify_nnz_changed=sizes.append
        )

    def preconditioner(self, matrix: Any, kind: str) -> str:
        return f"{kind} of {matrix.nnz}"

    def function(self, name: str) -> Callable[..., Any]:
        def solve(A: Any, b: Array, x: Array, **options: Any) -> Any:
            matrix = sp.csr_array((A.values.values, A.columns.values, A.offsets.values), shape=(A.nrow, A.nrow))

            def run() -> None:
                x.values[:] = scipy.sparse.linalg.cg(matrix, b.values, rtol=options["tol"], atol=0.0)[0]

            self.calls.append({"name": name, "run": run, "captured": self.is_capturing, **options})
            if not self.is_capturing:
                run()
            numbers = 40, 1e-9, 1e-8
            return numbers if options["check_every"] else tuple(Array(np.array([number])) for number in numbers)

        return solve


@pytest.fixture
def warp(monkeypatch: pytest.MonkeyPatch) -> Warp:
    fake = Warp()
    linear = SimpleNamespace(
        preconditioner=fake.preconditioner, **{name: fake.function(name) for name in ("cg", "cr", "bicgstab", "gmres")}
    )
    modules = {"warp": fake, "warp.optim.linear": linear, "warp.sparse": SimpleNamespace(bsr_zeros=fake.bsr_zeros)}
    monkeypatch.setattr(warp_solvers, "import_module", modules.__getitem__)
    monkeypatch.setattr(warp_solvers, "installed", lambda module, *_: modules[module])
    monkeypatch.setattr(warp_solvers, "_device_and_stream", lambda _: ("cuda:0", 7))
    monkeypatch.setattr(warp_solvers, "_shared", lambda x: x.values)
    return fake


def bound_in(mode: str, **fields: Any) -> warp_solvers.WarpSolver:
    return warp_solvers.binding(mode)(system(**fields))


@pytest.mark.parametrize("mode", MODES)
def test_warp_solves_in_every_mode_on_the_stream_of_the_caller(warp: Warp, mode: str) -> None:
    bound = bound_in(mode)
    for tolerance in (1e-8, 1e-10, 1e-8):
        x = bound.solve(tolerance)
        assert residual(PLANE, x) <= 1.01 * tolerance * np.linalg.norm(B)
    assert set(warp.streams) == {7}
    assert warp.config.quiet
    assert warp_solvers.versions() == {"Warp": "1.19.0"}


def test_the_modes_differ_in_who_tests_the_residual(warp: Warp) -> None:
    for mode in MODES:
        bound_in(mode).solve(1e-8)
    common = {"name": "cg", "tol": 1e-8, "atol": 0.0, "maxiter": 1000, "M": None, "use_cuda_graph": True}
    calls = [{key: value for key, value in call.items() if key != "run"} for call in warp.calls]
    assert calls == [
        common | {"check_every": 10, "captured": False},
        common | {"check_every": 0, "captured": False},
        common | {"check_every": 0, "captured": False},
        common | {"check_every": 0, "captured": True},
        {"replayed": 1e-8},
    ]


def test_a_tolerance_is_captured_once(warp: Warp) -> None:
    bound = bound_in(warp_solvers.CAPTURED)
    for tolerance in (1e-8, 1e-8, 1e-9, 1e-8):
        bound.solve(tolerance)
    assert [call["tol"] for call in warp.calls if call.get("captured")] == [1e-8, 1e-9]


@pytest.mark.parametrize(
    ("method", "name", "spmvs"), [("cg", "cg", 41), ("minres", "cr", 41), ("bicgstab", "bicgstab", 81)]
)
def test_warp_counts(warp: Warp, method: str, name: str, spmvs: int) -> None:
    for mode in MODES:
        answer = bound_in(mode, method=method).count(1e-8)
        assert replace(answer, x=None) == Answer(None, 40, spmvs, True)
    # Modes count in different units, so the host tests each iteration.
    assert {call["check_every"] for call in warp.calls} == {1}
    assert {call["name"] for call in warp.calls} == {name}


def test_gmres_of_warp_has_its_restart_and_whole_cycles(warp: Warp) -> None:
    answer = bound_in(warp_solvers.CHECK_10, method="gmres", restart=10).count(1e-8)
    assert (answer.iterations, answer.spmvs) == (40, 45)
    assert warp.calls[-1]["restart"] == 10
    assert bound_in(warp_solvers.CHECK_0, method="gmres", restart=10).count(1e-8).iterations == 40


def test_jacobi_of_warp_is_its_own(warp: Warp) -> None:
    bound_in(warp_solvers.CHECK_0, preconditioner="jacobi").solve(1e-8)
    assert warp.calls[-1]["M"] == f"diag of {PLANE.nnz}"


def test_warp_refuses_pointers_of_64_bits(warp: Warp) -> None:
    wide = replace(PLANE, indptr=PLANE.indptr.astype(np.int64))
    with pytest.raises(ParameterError, match="32 bits"):
        bound_in(warp_solvers.CHECK_0, matrix=wide)


def test_without_warp_its_cases_are_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "warp", None)
    with pytest.raises(ParameterError, match="NVIDIA Warp is not installed"):
        bound_in(warp_solvers.CHECK_0, matrix=CsrMatrix.from_scipy(convection(12, 1.0)))
