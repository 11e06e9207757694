"""The benchmark of SpMM: what it measures, and its tables from made-up records."""

import dataclasses

import pytest

from gpu_engine.generators import find_generator
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.spmm import COLUMNS, IN_COLUMNS, SPMVS, SUBJECTS, TABLES, passes
from gpu_engine.parameters import parse_params
from gpu_engine.recordings.files import MatrixRecord, Recording
from gpu_engine.records import BACKENDS, Backend, DeviceInfo, MatrixInfo
from gpu_engine.studies.spmm import SpmmStudy, known_kernels
from tests.gpu_engine.gpu_bench.sections import cells, sections
from tests.samples.spmm import every

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)


def test_the_matrices_exist_and_fit_the_rounds() -> None:
    assert len({subject.name for subject in SUBJECTS}) == len(SUBJECTS) == 10
    assert set(IN_COLUMNS) < {subject.name for subject in SUBJECTS}
    for subject in SUBJECTS:
        maker = find_generator(subject.source["generator"])
        assert 5e4 < maker.estimate_nnz(parse_params(maker.Params, subject.source["params"])) < 3e7
    assert BENCHMARKS["spmm"].subjects is SUBJECTS


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_few_matrices_are_column_major_too(backend: Backend) -> None:
    device = dataclasses.replace(GPU, backend=backend)
    for subject in SUBJECTS:
        made = list(passes(subject, backend, 11))
        assert [(p.orders, p.k) for p in made] == [
            (("row",), COLUMNS),
            *([(("column",), (8, 32, 128))] if subject.name in IN_COLUMNS else []),
        ]
        assert {(p.rounds, p.sampling) for p in made} == {(11, "fixed")}
        cases = [c.key for p in made for c in SpmmStudy().cases(p, [MatrixInfo("m", "m", 9, 9, 9)], device)]
        assert len(cases) == len(set(cases))
    left_out = set(known_kernels(backend)) - set(made[0].kernels)
    assert all(name.startswith("spmv/") for name in left_out)
    assert set(SPMVS[backend]) <= set(made[0].kernels)


def test_its_tables_compare_with_the_library_and_with_k_spmvs() -> None:
    matrix = MatrixRecord("plane", "plane-5", "plane", 40_000, 40_000, 199_200)
    recording = Recording("spmm", "2026-11-28T00:00:00+00:00", GPU, None, (matrix,), tuple(every()))
    found = sections(TABLES, SUBJECTS, recording)
    summary = next(iter(found.values())).table
    assert cells(summary, "of", "over", "matrices") == [
        (f"{k} columns", over, "1") for k in (2, 8, 32) for over in ("fastest library kernel", "k SpMVs")
    ]
    (speedup,) = cells(found["8 columns"].table, "k SpMVs, speedup over it")
    assert "2.00" in speedup[0]
    assert len(found["The fastest kernel by matrix and number of columns"].table.rows) == 3
    assert "plane-5, 8 columns, warm" in found
