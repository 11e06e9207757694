"""Tables of the study `solvers` over several groups: preconditioners, methods, and conversions that pay back."""

import math
from collections.abc import Iterable

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.solvers.groups import Solve, SolveGroup, others_text, problems, solve_groups
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

NEVER = "never"
"""Break-even of what is not faster."""

MATRIX, DEVICE, SYSTEM = (Head(text, numeric=False) for text in ("matrix", "device", "system"))


def one_solve(data: StudyData) -> Table:
    """Return a table of methods and preconditioners by the total of one solve, the least of each problem first."""
    heads = (
        *_place_heads(data),
        Head("method", numeric=False),
        Head("preconditioner", numeric=False),
        Head("kernel", numeric=False),
        Head("iterations"),
        Head("conversion"),
        Head("set-up"),
        Head("solve"),
        Head("total"),
        Head("slowdown", "vs fastest"),
        Head("pays from", "solves"),
    )
    rows: list[tuple[str, ...]] = []
    for groups in problems(data).values():
        best = by_total(groups)
        for total_s, group, solve in best:
            m = solve.measurement
            cells = group.method, group.preconditioner, solve.label, units.count(m.details.iterations)
            pays = pays_from_text(group, best[0][1])
            rows.append((*_place(group, data), *cells, *once_texts(solve), units.ratio(total_s / best[0][0]), pays))
    return Table(heads, tuple(rows))


Best = tuple[float, SolveGroup, Solve]
"""Seconds of one solve with conversion and set-up, its group, and the solve with the kernel that takes least."""


def by_total(groups: Iterable[SolveGroup]) -> list[Best]:
    """Return the best solve with a Sparsight kernel of each group, the least total first."""
    best = [(solve.total_s or 0.0, group, solve) for group in groups if (solve := group.for_one)]
    return sorted(best, key=lambda entry: entry[0])


def once_texts(solve: Solve) -> tuple[str, str, str, str]:
    """Return the texts of conversion, set-up, solve, and total."""
    details = solve.measurement.details
    parts = details.convert_s, details.setup_s or None, solve.measurement.median_s, solve.total_s
    conversion, set_up, time, total = map(units.seconds, parts)
    return conversion, set_up, time, total


def pays_from_text(group: SolveGroup, fastest: SolveGroup) -> str:
    """Return the number of solves from which a group takes less in total than the one that is fastest for one."""
    if group is fastest:
        return "1"
    count = group.pays_from(fastest)
    return NEVER if count is None else units.count(count)


def conversions(data: StudyData) -> Table:
    """Return a table of the conversions: the iterations after which each pays back against the fastest CSR kernel.

    The table names that kernel, and says if it is the only one that was measured.
    """
    heads = (
        *_place_heads(data),
        Head("solve", numeric=False),
        Head("kernel", numeric=False),
        Head("conversion"),
        Head("iteration", "time"),
        Head("iteration", "CSR"),
        Head("CSR kernel", numeric=False),
        Head("break-even", "iterations"),
        Head("iterations", "of the solve"),
        Head("pays back", numeric=False),
    )
    rows: list[tuple[str, ...]] = []
    for group in solve_groups(data):
        for solve in group.built_in:
            needed = group.break_even(solve)
            if needed is None or group.base is None:
                continue
            details = solve.measurement.details
            times = details.convert_s, solve.iteration_s, group.base.iteration_s
            counts = break_even_text(needed), units.count(details.iterations)
            cells = group.short, solve.label, *map(units.seconds, times), _csr_text(group), *counts
            rows.append((*_place(group, data), *cells, "yes" if group.pays_back(solve) else "no"))
    return Table(heads, tuple(rows))


def _csr_text(group: SolveGroup) -> str:
    """Return the fastest kernel of CSR, and whether it is the only one that was measured."""
    return f"{group.base.label if group.base else units.MISSING}{' (only one)' if group.is_base_only else ''}"


def break_even_text(iterations: float | None) -> str:
    """Return the break-even in iterations, rounded up; `never` if it is infinite."""
    if iterations is None:
        return units.MISSING
    return NEVER if math.isinf(iterations) else units.count(whole(iterations))


def whole(iterations: float) -> int:
    """Return a number of iterations, rounded up but for errors of rounding."""
    return math.ceil(float(f"{iterations:.9g}"))


def _place(group: SolveGroup, data: StudyData) -> tuple[str, ...]:
    """Return the cells under `_place_heads`."""
    name, system = data.matrix(group.matrix_id).name, ", ".join(others_text(group.axes)) or "as is"
    return (name, group.device, system) if _has_devices(data) else (name, system)


def _place_heads(data: StudyData) -> tuple[Head, ...]:
    """Return the heads of matrix, device if there are several, and system."""
    return (MATRIX, DEVICE, SYSTEM) if _has_devices(data) else (MATRIX, SYSTEM)


def _has_devices(data: StudyData) -> bool:
    return len({group.device for group in solve_groups(data)}) > 1
