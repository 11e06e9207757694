"""Records of solves as the findings use them: one conversion time per matrix and kernel, and only known counts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from gpu_engine.records import Measurement
from gpu_engine.solvers import METHODS
from gpu_engine.solvers.gmres import RESTART
from gpu_engine.solvers.preconditioners import products

METHOD, PRECONDITIONER, RTOL = "method", "preconditioner", "rtol"
"""Axes of every case."""

NONE = "none"
"""Preconditioner of a solve without one."""

BASE_FORMAT = "csr"
"""Format that matrices come in; the conversion to another one must pay back against its fastest kernel."""

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
            least[layout_of(m)] = min(m.details.convert_s, least.get(layout_of(m), m.details.convert_s))
    return [_of(m, least.get(layout_of(m))) for m in records]


@dataclass(frozen=True, slots=True)
class ConversionSpread:
    """Differences between the conversion times of one matrix and kernel, over all of them.

    factor  largest time over the least one; single: number of matrices and kernels with one time
    total   number of matrices and kernels with a conversion
    """

    factor: float
    single: int
    total: int


def conversion_spread(measurements: Iterable[Measurement]) -> ConversionSpread | None:
    """Return how much the conversion times differ, of which the least counts; None if none differ.

    CSR has no conversion.
    """
    times: dict[Any, set[float]] = {}
    for m in measurements:
        if m.details.convert_s and m.format != BASE_FORMAT:
            times.setdefault(layout_of(m), set()).add(m.details.convert_s)
    factors = [max(each) / min(each) for each in times.values() if len(each) > 1]
    return ConversionSpread(max(factors), len(times) - len(factors), len(times)) if factors else None


def slowest_conversions(measurements: Iterable[Measurement]) -> dict[Any, float]:
    """Return the largest conversion time of each matrix, device, system, and kernel, by `layout_of`."""
    slowest: dict[Any, float] = {}
    for m in measurements:
        if m.details.convert_s is not None:
            slowest[layout_of(m)] = max(m.details.convert_s, slowest.get(layout_of(m), 0.0))
    return slowest


def _of(m: Measurement, convert_s: float | None) -> Measurement:
    """Return a record with the conversion time of its kernel, and with the counts that are known."""
    if m.details.convert_s is None:
        return m if _is_countable(m) else _without_counts(m)
    return replace(m, details=replace(m.details, convert_s=convert_s, spmvs=_spmvs(m)))


def layout_of(m: Measurement) -> Any:
    """Return the key of the records with the same conversion."""
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
