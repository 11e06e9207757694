"""Solves: what follows from the record of one, and groups of comparable ones."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from gpu_engine.competitors.solvers import LIBRARIES
from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.finding import SHARE_MAX
from gpu_engine.findings.ranking import Ranking, rank
from gpu_engine.findings.solvers import consistent as records
from gpu_engine.findings.solvers.consistent import BASE_FORMAT, METHOD, NONE, PRECONDITIONER, RTOL
from gpu_engine.findings.solvers.systems import system_texts
from gpu_engine.records import Measurement, Trace
from gpu_engine.solvers import METHODS
from gpu_engine.text.axes import axis_text
from gpu_engine.text.units import scientific
from gpu_engine.verdicts.verdict import compare

ONLY_CSR = "the only CSR kernel measured"
"""Note on a baseline of conversions without a second kernel of CSR."""

TITLES = {method.name: method.title.partition("(")[0] for method in METHODS}
"""Names of methods in texts."""

TIMES = ("median_s", "ci_low_s", "ci_high_s", "min_s", "q1_s", "q3_s", "max_s")
"""Fields of a measurement that are times of the solve."""

Key = tuple[str, str, tuple[tuple[str, str], ...]]
"""Matrix, device, and axes."""


@dataclass(frozen=True, slots=True)
class Solve:
    """A solve, or the reason why there is none; trace: its residuals by iteration, None without.

    convert_max_s  largest time of its conversion in the groups of its matrix, of which the least counts; None: unknown
    """

    measurement: Measurement
    trace: Trace | None = None
    convert_max_s: float | None = None

    @property
    def label(self) -> str:
        """Kernel or library solver."""
        return self.measurement.kernel

    @property
    def is_library(self) -> bool:
        """Whether a library solved."""
        return self.measurement.format in LIBRARIES

    @property
    def method(self) -> str:
        """Name of the method in texts: `CG`."""
        name = self.measurement.axes.get(METHOD, "")
        return TITLES.get(name, name)

    @property
    def preconditioner(self) -> str:
        """Name of the preconditioner; `none` without one."""
        return self.measurement.axes.get(PRECONDITIONER, NONE)

    @property
    def rtol(self) -> float:
        """Tolerance."""
        return float(self.measurement.axes.get(RTOL, "nan"))

    @property
    def iteration_s(self) -> float | None:
        """Seconds of an iteration: those of the solve over their number; None without a time."""
        m = self.measurement
        return m.median_s / m.details.iterations if m.median_s and m.details.iterations else None

    @property
    def spmv_share(self) -> float | None:
        """Share of the SpMVs in the time of the solve, from the time of one alone; None for a library.

        A share above SHARE_MAX cannot be true and is withheld.
        """
        m = self.measurement
        if not (m.median_s and m.details.spmv_s and m.details.spmvs):
            return None
        share = float(m.details.spmvs * m.details.spmv_s / m.median_s)
        return share if share <= SHARE_MAX else None

    @property
    def once_s(self) -> float:
        """Seconds needed once: conversion and set-up; unknown ones count as 0, as those of a library do."""
        details = self.measurement.details
        return (details.convert_s or 0.0) + (details.setup_s or 0.0)

    @property
    def total_s(self) -> float | None:
        """Seconds of one solve with conversion and set-up; None without a time."""
        return self.total.median_s

    @property
    def total(self) -> Measurement:
        """Measurement with the times of one solve with conversion and set-up, which count as exact."""
        m, once_s = self.measurement, self.once_s
        times = {name: value + once_s for name in TIMES if (value := getattr(m, name)) is not None}
        return replace(m, samples_s=tuple(sample + once_s for sample in m.samples_s), **times)

    @property
    def residuals(self) -> tuple[tuple[float, float], ...]:
        """(iteration, relative residual) of its trace."""
        arrays = self.trace.arrays if self.trace else {}
        return tuple(zip(arrays.get("iteration", ()), arrays.get("residual", ()), strict=True))


@dataclass(frozen=True)
class SolveGroup:
    """Comparable solves: one matrix, device, method, preconditioner, and tolerance.

    solves  the fastest first, those without a time last
    """

    matrix_id: str
    device: str
    axes: Mapping[str, str]
    solves: tuple[Solve, ...]

    @cached_property
    def timed(self) -> tuple[Solve, ...]:
        """Solves with a time, the fastest first."""
        return tuple(solve for solve in self.solves if solve.measurement.median_s)

    @cached_property
    def converged(self) -> tuple[Solve, ...]:
        """Timed solves within the tolerance."""
        return tuple(solve for solve in self.timed if solve.measurement.state == "ok")

    @cached_property
    def built_in(self) -> tuple[Solve, ...]:
        """Converged solves with Sparsight kernels."""
        return tuple(solve for solve in self.converged if not solve.is_library)

    @cached_property
    def ranking(self) -> Ranking:
        """Ranking of the converged solves."""
        measurements = [solve.measurement for solve in self.timed]
        return rank(measurements, measurements)

    @property
    def library(self) -> Solve | None:
        """Fastest solve of a library; None without one."""
        return next((solve for solve in self.converged if solve.is_library), None)

    @cached_property
    def libraries(self) -> Mapping[str, Solve]:
        """Fastest solve of each library by its name in kernels, the fastest library first."""
        by_name: dict[str, Solve] = {}
        for solve in self.converged:
            if solve.is_library:
                by_name.setdefault(solve.measurement.format, solve)
        return by_name

    @cached_property
    def for_one(self) -> Solve | None:
        """Solve with a Sparsight kernel that takes least with conversion and set-up; None without one."""
        return min(self.built_in, key=lambda solve: solve.total_s or math.inf, default=None)

    @property
    def base(self) -> Solve | None:
        """Fastest solve with a kernel of CSR; None without one."""
        return next((solve for solve in self.built_in if solve.measurement.format == BASE_FORMAT), None)

    @property
    def is_base_only(self) -> bool:
        """Whether a single kernel of CSR was measured, which need not be the fastest one."""
        return len({solve.label for solve in self.solves if solve.measurement.format == BASE_FORMAT}) == 1

    @property
    def base_text(self) -> str:
        """Baseline of the conversions, with a note if it is the only kernel of CSR; empty without one."""
        return base_text(self.base.label if self.base else "", self.is_base_only)

    @property
    def baseline(self) -> Solve | None:
        """Solve that the others are compared with: the fastest of a library, else of CSR."""
        return self.library or self.base

    @property
    def method(self) -> str:
        """Name of the method in texts."""
        return self.solves[0].method

    @property
    def preconditioner(self) -> str:
        """Name of the preconditioner."""
        return self.solves[0].preconditioner

    @property
    def title(self) -> str:
        """Method, preconditioner, tolerance, and other axes: `CG, jacobi, to 10⁻⁸`."""
        return ", ".join((self.short, *others_text(self.axes)))

    @property
    def short(self) -> str:
        """Method, preconditioner, and tolerance."""
        preconditioner = "" if self.preconditioner == NONE else self.preconditioner
        rtol = self.solves[0].rtol
        return ", ".join(filter(None, (self.method, preconditioner, f"to {scientific(rtol)}" if rtol else "")))

    @property
    def problem(self) -> Key:
        """Matrix, device, and the axes apart from method and preconditioner: solves of one problem."""
        axes = tuple((name, value) for name, value in self.axes.items() if name in (RTOL, *PROBLEM))
        return self.matrix_id, self.device, axes

    def break_even(self, solve: Solve) -> float | None:
        """Return the iterations after which the conversion has paid back against the fastest kernel of CSR.

        Infinite if an iteration is not faster; None for CSR, for a library, and without the times.
        """
        base, convert_s = self.base, solve.measurement.details.convert_s
        if base is None or solve.is_library or solve.measurement.format == BASE_FORMAT or convert_s is None:
            return None
        if not (base.iteration_s and solve.iteration_s):
            return None
        saved = base.iteration_s - solve.iteration_s
        return convert_s / saved if saved > 0 else math.inf

    def pays_back(self, solve: Solve) -> bool | None:
        """Return whether the conversion pays back before the solve is over; None without a break-even.

        The solve must be faster than that with CSR by its verdict too.
        """
        needed = self.break_even(solve)
        if needed is None or self.base is None:
            return None
        faster = compare(self.base.measurement, solve.measurement).kind == "faster"
        return faster and needed <= solve.measurement.details.iterations

    def pays_from(self, fastest: "SolveGroup") -> int | None:
        """Return the number of solves from which some kernel takes less than all of another group; None: never.

        Its solve must be faster than the other group's fastest one by its verdict too.
        """
        if not fastest.built_in:
            return None
        rivals, first = fastest.built_in, fastest.built_in[0].measurement
        faster = [solve for solve in self.built_in if compare(first, solve.measurement).kind == "faster"]
        return min((max(_solves_until(solve, rival) for rival in rivals) for solve in faster), default=None)


PROBLEM = ("system", "excess", "b", "seed")
"""Axes of the system that is solved."""


def base_text(kernel: str, is_only: bool) -> str:
    """Return a baseline of conversions, with a note if it is the only kernel of CSR."""
    return f"{kernel}, {ONLY_CSR}" if kernel and is_only else kernel


def others_text(axes: Mapping[str, str]) -> tuple[str, ...]:
    """Return the texts of the axes other than method, preconditioner, and tolerance, those of the system first."""
    known = (METHOD, PRECONDITIONER, RTOL, *PROBLEM)
    return (*system_texts(axes), *(axis_text(name, value) for name, value in axes.items() if name not in known))


@lru_cache(FINDINGS_CACHED)
def solve_groups(data: StudyData) -> tuple[SolveGroup, ...]:
    """Return the groups in order of appearance."""
    by_key: dict[Key, list[Solve]] = {}
    slowest = records.slowest_conversions(data.measurements)
    for m in records.consistent(data.measurements):
        solve = Solve(m, data.traces.get((m.device, m.case)), slowest.get(records.layout_of(m)))
        by_key.setdefault((m.matrix_id, m.device, tuple(m.axes.items())), []).append(solve)
    return tuple(
        SolveGroup(matrix_id, device, dict(axes), tuple(sorted(solves, key=_fastest_first)))
        for (matrix_id, device, axes), solves in by_key.items()
    )


def problems(data: StudyData) -> dict[Key, tuple[SolveGroup, ...]]:
    """Return the groups of the same problem, which methods and preconditioners solve to the same tolerance."""
    by_problem: dict[Key, list[SolveGroup]] = {}
    for group in solve_groups(data):
        by_problem.setdefault(group.problem, []).append(group)
    return {key: tuple(groups) for key, groups in by_problem.items()}


def _solves_until(solve: Solve, rival: Solve) -> int:
    """Return the number of solves from which a faster solve takes less in total than another one."""
    saved = (rival.measurement.median_s or 0.0) - (solve.measurement.median_s or 0.0)
    return max(1, math.ceil((solve.once_s - rival.once_s) / saved))


def _fastest_first(solve: Solve) -> tuple[bool, float]:
    return solve.measurement.median_s is None, solve.measurement.median_s or 0.0
