"""Records of solves as the findings use them: one conversion time per matrix and kernel, and only known counts."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpu_engine.records import Measurement
from gpu_engine.solvers import METHODS
from gpu_engine.solvers.gmres import RESTART
from gpu_engine.solvers.preconditioners import products

METHOD, PRECONDITIONER, RTOL = "method", "preconditioner", "rtol"
"""Axes of every case."""

NONE = "none"
"""Preconditioner of a solve without one."""

CHANGES = ("system", "excess")
"""Axes that change the matrix."""

CYCLIC = "warp"
"""Library whose GMRES ends only after whole cycles."""

SPMVS = {method.name: method.spmvs for method in METHODS}
"""Method → SpMVs per iteration, without those of a preconditioner."""


def consistent(measurements: Iterable[Measurement]) -> list[Measurement]:
    """Return the records with the least conversion time of a matrix and kernel, and without impossible counts.

    A conversion is the same in all groups of a matrix. What else a process does only makes it longer, such as the first
    use of memory, so the least time is the nearest to that of a warm one.
    """
    records = list(measurements)
    least: dict[Any, float] = {}
    for m in records:
        if m.details.convert_s is not None:
            least[_layout(m)] = min(m.details.convert_s, least.get(_layout(m), m.details.convert_s))
    return [_of(m, least.get(_layout(m))) for m in records]


def conversions_differ(measurements: Sequence[Measurement]) -> bool:
    """Return whether some conversion of a matrix and kernel has several times, of which the least is used."""
    timed = {(_layout(m), m.details.convert_s) for m in measurements if m.details.convert_s is not None}
    return len(timed) > len({layout for layout, _ in timed})


def _of(m: Measurement, convert_s: float | None) -> Measurement:
    """Return a record with the conversion time of its kernel, and with the counts that are known."""
    if m.details.convert_s is None:
        return m if _is_countable(m) else _without_counts(m)
    return replace(m, details=replace(m.details, convert_s=convert_s, spmvs=_spmvs(m)))


def _layout(m: Measurement) -> Any:
    return m.matrix_id, m.device, tuple(m.axes.get(name) for name in CHANGES), m.kernel


def _spmvs(m: Measurement) -> int | None:
    """Return the SpMVs of a solve with those of a polynomial preconditioner, which older records lack."""
    per_iteration = SPMVS.get(m.axes.get(METHOD, ""))
    if m.details.iterations is None or per_iteration is None:
        return m.details.spmvs  # type: ignore[no-any-return]
    return int(m.details.iterations * per_iteration * (1 + products(m.axes.get(PRECONDITIONER, NONE))))


def _is_countable(m: Measurement) -> bool:
    """Return whether the iterations of a library are possible: GMRES of Warp makes whole cycles."""
    if m.format != CYCLIC or m.axes.get(METHOD) != "gmres" or m.details.iterations is None:
        return True
    return m.details.iterations % int(m.axes.get("restart", RESTART)) == 0  # type: ignore[no-any-return]


def _without_counts(m: Measurement) -> Measurement:
    unknown = replace(m.details, iterations=None, spmvs=None, iteration_roofline_s=None)
    return replace(m, details=unknown, roofline_s=None, gflops=None)
