"""Tables of the study `solvers` over several groups: preconditioners, methods, and conversions that pay back."""

import math

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.solvers.groups import Solve, SolveGroup, others_text, problems, solve_groups
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

NEVER = "never"
"""Break-even of a format whose iterations are not faster than those of CSR."""

PLACE = (Head("matrix", numeric=False), Head("device", numeric=False), Head("system", numeric=False))


def one_solve(data: StudyData) -> Table:
    """Return a table of methods and preconditioners for one solve with set-up, the fastest of each problem first."""
    heads = (
        *PLACE,
        Head("method", numeric=False),
        Head("preconditioner", numeric=False),
        Head("kernel", numeric=False),
        Head("iterations"),
        Head("set-up"),
        Head("solve"),
        Head("total"),
        Head("slowdown", "vs fastest"),
    )
    rows: list[tuple[str, ...]] = []
    for groups in problems(data).values():
        best = sorted(((total, group, solve) for group in groups for total, solve in best_total(group)), key=_total)
        for total, group, solve in best:
            m = solve.measurement
            cells = group.method, group.preconditioner, solve.label, units.count(m.details.iterations)
            times = units.seconds(m.details.setup_s or None), units.seconds(m.median_s), units.seconds(total)
            rows.append((*_place(group, data), *cells, *times, units.ratio(total / best[0][0])))
    return Table(heads, tuple(rows))


def best_total(group: SolveGroup) -> list[tuple[float, Solve]]:
    """Return the fastest solve of a group with Sparsight kernels and its seconds with set-up; empty without one."""
    timed = [(total, solve) for solve in group.built_in if (total := solve.total_s)]
    return sorted(timed, key=lambda pair: pair[0])[:1]


def conversions(data: StudyData) -> Table:
    """Return a table of the conversions: the iterations after which each pays back against the fastest CSR kernel."""
    heads = (
        *PLACE,
        Head("solve", numeric=False),
        Head("kernel", numeric=False),
        Head("conversion"),
        Head("iteration", "time"),
        Head("iteration", "fastest CSR"),
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
            cells = group.short, solve.label, *map(units.seconds, times), *counts
            rows.append((*_place(group, data), *cells, "yes" if group.pays_back(solve) else "no"))
    return Table(heads, tuple(rows))


def break_even_text(iterations: float | None) -> str:
    """Return the break-even in iterations, rounded up; `never` if it is infinite."""
    if iterations is None:
        return units.MISSING
    return NEVER if math.isinf(iterations) else units.count(whole(iterations))


def whole(iterations: float) -> int:
    """Return a number of iterations, rounded up but for errors of rounding."""
    return math.ceil(float(f"{iterations:.9g}"))


def _place(group: SolveGroup, data: StudyData) -> tuple[str, str, str]:
    system = ", ".join(others_text(group.axes))
    return data.matrix(group.matrix_id).name, group.device, system or "as is"


def _total(entry: tuple[float, SolveGroup, Solve]) -> float:
    return entry[0]
