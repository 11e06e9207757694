"""Benchmark of the study `spmm`: stencils, finite elements, graphs, and unequal rows, with k SpMVs in the rounds."""

from collections.abc import Iterator
from typing import Any

from gpu_engine.findings.comparisons import Comparison
from gpu_engine.findings.spmm import findings
from gpu_engine.findings.spmm.groups import SpmmGroup, spmm_groups
from gpu_engine.findings.spmm.tables import by_columns, crossovers
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.markdown import (
    BenchmarkData,
    Section,
    Tables,
    comparison_sections,
    finding_sections,
    table_section,
)
from gpu_engine.recordings.files import generated
from gpu_engine.records import Measurement
from gpu_engine.spmm import ORDERS, kernels_on
from gpu_engine.studies.spmm import SpmmParams, known_kernels
from gpu_engine.text import units
from gpu_engine.text.tables import Head

MATRICES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("plane-5", "stencil", {"points": 5, "nx": 1000, "ny": 1000}),
    ("space-7", "stencil", {"points": 7, "nx": 100, "ny": 100, "nz": 100}),
    ("space-27", "stencil", {"points": 27, "nx": 80, "ny": 80, "nz": 80}),
    ("fem3", "fem", {"block": 3, "nx": 48, "ny": 48, "nz": 48}),
    ("rmat18", "rmat", {"scale": 18, "edge_factor": 16, "shuffled": True}),
    ("powerlaw-2.1", "powerlaw", {"n": 1_000_000, "mean": 12.0, "seed": 7}),
    ("banded", "stencil", {"points": 27, "nx": 8, "ny": 8, "nz": 8000}),
    ("lognormal-30", "rows", {"n": 200_000, "lengths": "lognormal", "mean": 30.0, "sigma": 60.0, "seed": 7}),
    ("web200k-dense", "web", {"n": 200_000, "mean": 40.0, "local": 0.5, "seed": 7}),
    ("plane-5-small", "stencil", {"points": 5, "nx": 150, "ny": 120}),
)
"""(name, generator, parameters); some matrices are those of the study `formats`."""

SUBJECTS = tuple(Subject(name, "columns", generated(generator, params)) for name, generator, params in MATRICES)

COLUMNS = (2, 4, 8, 16, 32, 64, 128)

IN_COLUMNS, COLUMNS_OF_ORDER = ("space-27", "fem3", "rmat18"), (8, 32, 128)
"""Matrices that are measured in column-major order too, and their numbers of columns."""

SPMVS = {"cuda": ("spmv/csr-vector", "spmv/csr-smart"), "cpu": ("spmv/csr-scalar", "spmv/csr-vector")}
"""k SpMVs that are measured, by backend."""


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[SpmmParams]:
    """Yield the parameters for a matrix: row major, then column major for a few."""
    kernels = tuple(name for name in known_kernels(backend) if not name.startswith("spmv/") or name in SPMVS[backend])
    fixed: dict[str, Any] = {"kernels": kernels, "rounds": rounds, "sampling": "fixed"}
    row, column = ORDERS
    yield SpmmParams(k=COLUMNS, orders=(row,), **fixed)
    if subject.name in IN_COLUMNS:
        yield SpmmParams(k=COLUMNS_OF_ORDER, orders=(column,), **fixed)


MATRIX = (Head("matrix", numeric=False), Head("rows"), Head("nonzeros"))


def speedups(data: BenchmarkData) -> Iterator[Section]:
    """Yield the fastest SpMM of Sparsight over the fastest library kernel and over k SpMVs, by number of columns."""
    cases = [
        Comparison(group.title, _names(data, group), group.spmm, _rivals(group))
        for group in sorted(spmm_groups(data.study), key=lambda group: (group.order != "row", group.k))
        if group.spmm and not group.ranking.busy
    ]
    return comparison_sections("One SpMM: speedup over libraries and over k SpMVs", cases, MATRIX, "matrices")


def by_kernel(data: BenchmarkData) -> Iterator[Section]:
    """Yield the kernels of Sparsight among each other: the fastest over each other one."""
    names = dict.fromkeys(kernel.name for kernel in kernels_on(data.recording.device.backend))
    cases = [
        Comparison(
            f"{group.title}, Sparsight kernels",
            _names(data, group),
            group.spmm,
            {name: m for name in names if (m := group.of_kernel(name)) and m is not group.spmm},
        )
        for group in spmm_groups(data.study)
        if group.spmm and not group.ranking.busy
    ]
    return comparison_sections("The fastest Sparsight kernel over each other one", cases, MATRIX, "matrices")


def results(data: BenchmarkData) -> Iterator[Section]:
    """Yield the findings of every matrix and number of columns, with one row per kernel."""
    return finding_sections(findings(data.study))


def _names(data: BenchmarkData, group: SpmmGroup) -> tuple[str, ...]:
    """Return the cells under MATRIX."""
    matrix = data.study.matrix(group.matrix_id)
    return matrix.name, units.count(matrix.n_rows), units.count(matrix.nnz)


def _rivals(group: SpmmGroup) -> dict[str, Measurement | None]:
    """Return the fastest library kernel and the fastest k SpMVs."""
    return {"fastest library kernel": group.library, "k SpMVs": group.spmvs}


TABLES: Tables = {
    "speedups": speedups,
    "by_kernel": by_kernel,
    "by_columns": table_section("The fastest kernel by matrix and number of columns", by_columns),
    "crossovers": table_section("Number of columns from which one SpMM is faster than k SpMVs", crossovers),
    "results": results,
}
