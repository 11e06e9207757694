"""The benchmark of solvers: what it measures, its tables from made-up records, and the command on this CPU."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.competitors.solvers import solver_names
from gpu_engine.generators import find_generator
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.solvers import METHODS, SUBJECTS, TABLES, is_large, passes
from gpu_engine.gpu_bench.solves import SYSTEMS
from gpu_engine.parameters import parse_params
from gpu_engine.recordings.files import MatrixRecord, Recording, generated
from gpu_engine.records import BACKENDS, Backend, DeviceInfo, MatrixInfo
from gpu_engine.studies.solvers import SolversParams, SolversStudy
from tests.gpu_engine.gpu_bench.sections import cells, sections
from tests.samples.solvers import LIBRARY, every, traced

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)


def size(subject: Subject) -> int:
    maker = find_generator(subject.source["generator"])
    return maker.estimate_nnz(parse_params(maker.Params, subject.source["params"]))


def test_the_systems_are_those_of_complete_solves_and_more() -> None:
    assert all(subject in SUBJECTS for subject in SYSTEMS)
    assert len({subject.name for subject in SUBJECTS}) == len(SUBJECTS) == 16
    assert {subject.group for subject in SUBJECTS} == set(METHODS)
    assert [subject.name for subject in SUBJECTS if is_large(subject)] == ["space-7 160 system", "convection 160"]
    assert all(size(subject) > 2.8e7 for subject in SUBJECTS if is_large(subject))


@pytest.mark.parametrize("subject", SUBJECTS, ids=lambda subject: subject.name)
@pytest.mark.parametrize("backend", BACKENDS)
def test_every_pass_has_cases_and_no_case_is_in_two(subject: Subject, backend: Backend) -> None:
    device = dataclasses.replace(GPU, backend=backend)
    made = list(passes(subject, backend, 15))
    keys = [[case.key for case in SolversStudy().cases(p, [MatrixInfo("m", "m", 9, 9, 9)], device)] for p in made]
    assert all(keys)
    assert len({key for each in keys for key in each}) == sum(map(len, keys))
    first, second = made
    assert set(solver_names(backend)) <= set(first.kernels)
    assert first.methods == METHODS[subject.group]
    assert second.methods == first.methods[:1]
    assert "none" not in second.preconditioners
    assert first.rounds == (9 if is_large(subject) else 15)
    systems = {"definite": ("definite", 1e-3), "unsymmetric": ("dominant", 1e-2), "convection": ("as-is", 1e-3)}
    assert (first.system, first.excess) == (second.system, second.excess) == systems[subject.group]


def test_its_tables_compare_with_each_library() -> None:
    measurements = every()
    now, matrix = "2026-11-27T00:00:00+00:00", MatrixRecord("plane", "plane-5", "plane", 409_600, 409_600, 2_045_440)
    traces = tuple(traced(m) for m in measurements)
    recording = Recording("solvers", now, GPU, None, (matrix,), tuple(measurements), traces)
    found = sections(TABLES, SUBJECTS, recording)
    summary = next(iter(found.values())).table
    assert cells(summary, "of", "over", "systems") == [
        ("CG", LIBRARY, "2"),
        ("GMRES", LIBRARY, "1"),
        ("BiCGSTAB", LIBRARY, "1"),
    ]
    assert cells(found["CG"].table, "system", "preconditioner", "iterations", "kernel") == [
        ("plane-5", "", "420", "sellp/t1"),
        ("plane-5", "jacobi", "300", "sellp/t1"),
    ]
    (speedup, _) = cells(found["CG"].table, f"{LIBRARY}, speedup over it")
    assert speedup == ("79.8 ms, 7.92 × (faster)",)
    assert "plane-5, GMRES, to 10⁻⁸, warm" in found
    assert len(found["Conversions that pay back against the fastest CSR kernel"].table.rows) == 8


def test_the_command_measures_writes_and_reads_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def few(subject: Subject, backend: str, rounds: int) -> list[Any]:
        (first, _) = passes(subject, backend, rounds)
        return [dataclasses.replace(first, kernels=("csr/scalar", "scipy/solver"), methods=("cg",))]

    monkeypatch.setitem(BENCHMARKS, "solvers", dataclasses.replace(BENCHMARKS["solvers"], passes=few))
    grid = Subject("grid", "definite", generated("stencil", {"points": 5, "nx": 12, "ny": 9}))
    given = ("--study", "solvers", "--folder", str(tmp_path), "--device", "cpu", "--rounds", "9")
    assert command.main(given, (grid,)) == 0
    out = capsys.readouterr().out
    assert out == (tmp_path / "solvers.md").read_text(encoding="utf-8")
    written = json.loads((tmp_path / "solvers.json").read_text(encoding="utf-8"))
    assert {m["state"] for m in written["measurements"]} == {"ok"}
    assert {m["axes"]["system"] for m in written["measurements"]} == {"definite"}
    (trace,) = written["traces"]
    assert np.array(trace["arrays"]["residual"])[-1] <= 1e-8
    assert command.main((*given, "--measured"), (grid,)) == 0
    assert capsys.readouterr().out == out


def test_the_benchmark_has_the_parameters_of_the_study() -> None:
    assert all(isinstance(p, SolversParams) for subject in SUBJECTS for p in passes(subject, "cuda", 15))
