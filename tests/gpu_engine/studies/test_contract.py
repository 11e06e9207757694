"""What every study says of every case, whatever it measures."""

import dataclasses
from contextlib import nullcontext
from typing import Any

import pytest

from gpu_engine.errors import DeviceMemoryError, KernelError, LayoutTooLargeError, ParameterError, SparsightError
from gpu_engine.measure import Bench
from gpu_engine.parameters import parse_params
from gpu_engine.records import BACKENDS, Backend, MatrixInfo, Measurement
from gpu_engine.sampling.experiment import Candidate
from gpu_engine.studies import STUDIES
from gpu_engine.studies.base import Study, check_device
from tests.battery import BATTERY
from tests.gpu_engine.pagerank.numpy_products import stand_in
from tests.samples.studies import opened

FEW: dict[str, dict[str, Any]] = {
    "formats": {"kernels": ["csr/scalar", "csr/vector"], "rounds": 9},
    "pagerank": {"kernels": ["csr/thread+fp64", "csr/thread+pattern"]},
    "batched": {"kernels": ["csr/scalar", "scipy/loop"], "batches": [3], "compose": ["uniform"]},
    "scaling": {"devices": [1, 2], "partitionings": ["pCSR"]},
    "reduced_spmv": {"blocks": ["128"]},
    "spmm": {"kernels": ["csr/rows", "scipy/spmm", "spmv/csr-vector"], "k": [2, 3], "orders": ["row", "column"]},
    "seeded": {"seeds": [2], "start": [0.01]},
    "solvers": {
        "system": "definite",
        "excess": 1.0,
        "methods": ["cg", "gmres"],
        "kernels": ["csr/scalar", "sellp/t1", "scipy/solver"],
    },
}
"""Parameters that spare time; a study that is not here is measured with its defaults."""

LIBRARIES = {"scipy": "SciPy", "cusparse": "cuSPARSE"}
"""What the environment names the libraries by the format of their kernels."""


@pytest.fixture(autouse=True)
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has kernels only for GPUs is multiplied by NumPy."""
    stand_in(monkeypatch)


def measured(study: Study, bench: Bench) -> list[Measurement]:
    matrix = BATTERY["band"]()
    info = MatrixInfo("m", "m", matrix.n_rows, matrix.n_cols, matrix.nnz)
    params = parse_params(study.Params, FEW.get(study.name, {}))
    device = dataclasses.replace(bench.device, backend="cuda") if "cpu" not in study.backends else bench.device
    cases = tuple(study.cases(params, [info], device))
    found = [r for r in study.run(params, cases, {"m": matrix}, bench) if isinstance(r, Measurement)]
    assert [m.case for m in found] == [case.key for case in cases]
    return found


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_a_time_has_all_that_a_verdict_on_it_needs(study: Study, bench: Bench) -> None:
    for m in measured(study, bench):
        assert m.state == "ok", m.note
        assert m.aa_gap is not None
        assert m.roofline_s is not None
        assert m.gflops is not None
        assert len(m.environment["source"]) == 16, m.kernel
        assert m.environment.keys() >= bench.environment.keys()
        if m.format in LIBRARIES:
            assert m.environment[LIBRARIES[m.format]]


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
def test_what_does_not_fit_is_skipped(study: Study) -> None:
    with opened(layout_bytes=1) as small:
        found = measured(study, small)
    assert {(m.state, m.median_s) for m in found} == {("skipped", None)}
    assert all(m.note.startswith("needs ") for m in found)


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_device_without_kernels_of_a_study_is_refused(study: Study, backend: Backend, bench: Bench) -> None:
    device = dataclasses.replace(bench.device, backend=backend)
    known = backend in study.backends
    with nullcontext() if known else pytest.raises(ParameterError, match=f"study {study.name} has kernels only for "):
        check_device(study, device)


def raising(error: SparsightError) -> Any:
    def prepare(self: Candidate) -> Any:
        raise error

    return prepare


@pytest.mark.parametrize("study", STUDIES, ids=lambda study: study.name)
@pytest.mark.parametrize(
    ("error", "state"),
    [
        (KernelError("Wrong."), "failed"),
        (ParameterError("Not here."), "skipped"),
        (DeviceMemoryError("Full."), "skipped"),
        (LayoutTooLargeError("Too large."), "skipped"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_one_error_gives_one_state_in_every_study(
    study: Study, error: SparsightError, state: str, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in _subclasses(Candidate):
        if "prepare" in vars(kind):
            monkeypatch.setattr(kind, "prepare", raising(error))
    assert {(m.state, m.median_s, m.note) for m in measured(study, bench)} == {(state, None, str(error))}


def _subclasses(kind: type[Any]) -> list[type[Any]]:
    return [found for own in kind.__subclasses__() for found in (own, *_subclasses(own))]
