"""Benchmark of the study `solvers`: stencils, finite elements, graphs, and convection, with libraries in the rounds."""

from collections.abc import Iterator
from typing import Any

from gpu_engine.competitors.solvers import solver_names
from gpu_engine.findings.comparisons import Comparison
from gpu_engine.findings.solvers import findings
from gpu_engine.findings.solvers.consistent import NONE
from gpu_engine.findings.solvers.groups import Solve, SolveGroup, others_text, solve_groups
from gpu_engine.findings.solvers.tables import conversions, one_solve
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.markdown import (
    BenchmarkData,
    Section,
    Tables,
    comparison_sections,
    finding_sections,
    table_section,
)
from gpu_engine.gpu_bench.solves import EXCESS, MADE, SYSTEMS
from gpu_engine.recordings.files import generated
from gpu_engine.records import Measurement
from gpu_engine.studies.solvers import KERNELS, MethodName, SolversParams
from gpu_engine.text import units
from gpu_engine.text.tables import Head

SUBJECTS: tuple[Subject, ...] = (
    Subject("plane-5 128 system", "definite", generated("stencil", {"points": 5, "nx": 128, "ny": 128})),
    Subject("plane-5 320 system", "definite", generated("stencil", {"points": 5, "nx": 320, "ny": 320})),
    *SYSTEMS,
    Subject("space-7 160 system", "definite", generated("stencil", {"points": 7, "nx": 160, "ny": 160, "nz": 160})),
    Subject(
        "convection plane",
        "convection",
        generated("convection", {"nx": 320, "ny": 320, "peclet": 0.5, "scheme": "central"}),
    ),
    Subject("convection space", "convection", generated("convection", {"nx": 72, "ny": 72, "nz": 72})),
    Subject("convection 160", "convection", generated("convection", {"nx": 160, "ny": 160, "nz": 160})),
)
"""Systems, of which plane-5 and space-7 have 640² and 72³ rows. CG takes 300 to 400 iterations on stencils."""

METHODS: dict[str, tuple[MethodName, ...]] = {
    "definite": ("cg", "minres", "bicgstab", "gmres"),
    "unsymmetric": ("bicgstab", "gmres"),
    "convection": ("bicgstab", "gmres"),
}
"""Group of systems → methods that solve them."""

PRECONDITIONERS = {
    "definite": ("jacobi", "block-jacobi", "chebyshev", "ic"),
    "unsymmetric": ("jacobi", "ilu"),
    "convection": ("jacobi", "ilu"),
}
"""Group of systems → preconditioners that are measured with its first method."""

PRECONDITIONED = {"cuda": ("csr/vector", "sellp-sorted/t1"), "cpu": ("csr/scalar", "sellp-sorted/t1")}
"""Kernels with preconditioners, by backend; libraries come in addition."""

MORE = ("sellp-sorted/t1",)
"""Kernels besides those that the study measures by default."""

LARGE = 10_000_000
"""Nonzeros from which a grid has few kernels, and only the rounds that a verdict needs."""

FEW = {"cuda": ("csr/vector", "csr/vector16", "csr/smart", "split/tile", "sellp/t1"), "cpu": ("csr/scalar", "sellp/t1")}

ROUNDS_FEW = 9


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[SolversParams]:
    """Yield the parameters for a system: all methods without a preconditioner, then one method with several."""
    large = is_large(subject)
    fixed: dict[str, Any] = {"rounds": ROUNDS_FEW if large else rounds, "sampling": "fixed", "rtol": (1e-8,)}
    if subject.group in MADE:
        fixed |= {"system": MADE[subject.group], "excess": EXCESS[subject.group]}
    libraries, methods = solver_names(backend), METHODS[subject.group]
    kernels = FEW[backend] if large else (*KERNELS[backend], *MORE)
    yield SolversParams(methods=methods, kernels=(*kernels, *libraries), **fixed)
    yield SolversParams(
        methods=methods[:1],
        preconditioners=PRECONDITIONERS[subject.group],
        kernels=(*PRECONDITIONED[backend], *libraries),
        **fixed,
    )


def is_large(subject: Subject) -> bool:
    """Return whether the grid of a system has so many nonzeros that its solves take long."""
    params = subject.source.get("params", {})
    return bool(7 * params.get("nx", 0) * params.get("ny", 0) * params.get("nz", 1) >= LARGE)


GRID = (Head("system", numeric=False), Head("preconditioner", numeric=False), Head("rows"), Head("iterations"))


def fastest(data: BenchmarkData) -> Iterator[Section]:
    """Yield the fastest solves of each method, without what is needed once, against those of libraries."""
    cases = [
        Comparison(group.method, _names(data, group, group.built_in[0]), group.built_in[0].measurement, _rivals(group))
        for group in solve_groups(data.study)
        if group.built_in
    ]
    return comparison_sections("Many solves: speedup over libraries", cases, GRID, "systems")


def one_solve_over_libraries(data: BenchmarkData) -> Iterator[Section]:
    """Yield the solves with the least total, conversion and set-up included, against those of libraries."""
    cases = [
        Comparison(group.method, _names(data, group, solve), solve.total, _rivals(group))
        for group in solve_groups(data.study)
        if (solve := group.for_one)
    ]
    return comparison_sections("One solve with conversion and set-up: speedup over libraries", cases, GRID, "systems")


def solves(data: BenchmarkData) -> Iterator[Section]:
    """Yield the findings of every system, with one row per solve."""
    return finding_sections(findings(data.study))


def _names(data: BenchmarkData, group: SolveGroup, solve: Solve) -> tuple[str, ...]:
    """Return the cells under GRID."""
    matrix, details = data.study.matrix(group.matrix_id), solve.measurement.details
    name = ", ".join((matrix.name, *others_text(group.axes)))
    preconditioner = "" if group.preconditioner == NONE else group.preconditioner
    return name, preconditioner, units.count(matrix.n_rows), units.count(details.iterations)


def _rivals(group: SolveGroup) -> dict[str, Measurement | None]:
    """Return the solves of libraries by name."""
    return {solve.label: solve.measurement for solve in group.converged if solve.is_library}


TABLES: Tables = {
    "one_solve_over_libraries": one_solve_over_libraries,
    "fastest": fastest,
    "one_solve": table_section("One solve with conversion and set-up: methods and preconditioners", one_solve),
    "conversions": table_section("Conversions that pay back against the fastest CSR kernel", conversions),
    "solves": solves,
}
