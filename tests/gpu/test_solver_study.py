"""Study `solvers` on a GPU: every method with every kind of kernel, and the libraries that are installed."""

import importlib.util

import pytest

from gpu_engine.generators import generate
from gpu_engine.measure import open_bench
from gpu_engine.records import DeviceInfo, MatrixInfo, Measurement, Trace
from gpu_engine.studies.solvers import MethodName, SolversParams, SolversStudy

pytestmark = pytest.mark.usefixtures("gpu")

METHODS: tuple[MethodName, ...] = ("cg", "minres", "bicgstab", "gmres")
KERNELS = ("csr/vector", "split/tile", "sellp/t1", "packed/tile")
WARP = ("warp/check-10", "warp/check-0", "warp/captured")


def measured(gpu: DeviceInfo, params: SolversParams, generator: str = "stencil") -> list[Measurement | Trace]:
    shape = {"points": 5, "nx": 60, "ny": 50} if generator == "stencil" else {"nx": 60, "ny": 50, "peclet": 0.5}
    matrix = generate(generator, shape)
    info = MatrixInfo("m", "m", matrix.n_rows, matrix.n_cols, matrix.nnz)
    study = SolversStudy()
    with open_bench(gpu) as bench:
        cases = tuple(study.cases(params, [info], bench.device))
        records = list(study.run(params, cases, {"m": matrix}, bench))
    return [record for record in records if isinstance(record, Measurement | Trace)]


@pytest.mark.parametrize("preconditioner", ["none", "jacobi", "block-jacobi:4", "chebyshev", "ic"])
def test_every_method_solves_with_every_kernel(gpu: DeviceInfo, preconditioner: str) -> None:
    records = measured(
        gpu, SolversParams(methods=METHODS, preconditioners=(preconditioner,), kernels=KERNELS, sampling="fixed")
    )
    solves = [m for m in records if isinstance(m, Measurement)]
    assert {m.state for m in solves} == {"ok"}, {m.case: m.note for m in solves if m.state != "ok"}
    assert all(m.details.residual <= 1.000001e-8 for m in solves)
    assert all(m.details.spmv_s for m in solves)
    for method in METHODS:
        iterations = [m.details.iterations for m in solves if m.axes["method"] == method]
        # Kernels add in another order.
        assert max(iterations) - min(iterations) <= max(2, min(iterations) // 10)
    traces = [record for record in records if isinstance(record, Trace)]
    assert len(traces) == len(solves)
    assert all(trace.arrays["iteration"] == tuple(sorted(trace.arrays["iteration"])) for trace in traces)


@pytest.mark.parametrize("preconditioner", ["none", "jacobi"])
def test_cupy_solves_the_same_system(gpu: DeviceInfo, preconditioner: str) -> None:
    params = SolversParams(methods=METHODS, preconditioners=(preconditioner,), kernels=("csr/vector", "cupy/solver"))
    solves = {(m.axes["method"], m.kernel): m for m in measured(gpu, params) if isinstance(m, Measurement)}
    for method in METHODS:
        own, library = solves[method, "csr/vector"], solves[method, "cupy/solver"]
        assert own.state == "ok", own.note
        # A function of CuPy that raises is skipped, with its error as the note.
        assert library.state in ("ok", "skipped"), library.note
        if library.state == "ok":
            assert library.details.residual <= 1.000001e-8
            assert library.environment["CuPy"]
    cg = solves["cg", "csr/vector"], solves["cg", "cupy/solver"]
    assert abs(cg[0].details.iterations - cg[1].details.iterations) <= 1


def test_warp_solves_the_same_system_in_three_modes(gpu: DeviceInfo) -> None:
    params = SolversParams(methods=METHODS, preconditioners=("none", "jacobi"), kernels=("csr/vector", *WARP))
    solves = [m for m in measured(gpu, params) if isinstance(m, Measurement) and m.kernel in WARP]
    if importlib.util.find_spec("warp") is None:
        assert {m.state for m in solves} == {"skipped"}
        assert all("not installed" in m.note for m in solves)
        return
    assert {m.state for m in solves} == {"ok"}, {m.case: m.note for m in solves if m.state != "ok"}
    assert all(m.details.residual <= 1.000001e-8 for m in solves)
    assert all(m.environment["Warp"] for m in solves)


def test_nonsymmetric_systems_skip_cg(gpu: DeviceInfo) -> None:
    params = SolversParams(kernels=("csr/vector", "cupy/solver"))
    states = {
        (m.axes["method"], m.kernel): m.state for m in measured(gpu, params, "convection") if isinstance(m, Measurement)
    }
    assert states["cg", "csr/vector"] == states["minres", "cupy/solver"] == "skipped"
    assert states["bicgstab", "csr/vector"] == states["gmres", "csr/vector"] == "ok"
