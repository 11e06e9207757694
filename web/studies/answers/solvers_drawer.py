"""Drawer of a system: all its methods and preconditioners by the total of one solve, and what pays for many."""

from gpu_engine.findings.solvers.answer import LIBRARY_NAMES, Answer, Compared, answers
from gpu_engine.findings.solvers.groups import SolveGroup, solve_groups
from gpu_engine.findings.solvers.systems import conditions_text, matrix_text
from gpu_engine.findings.solvers.tables import NEVER, Best, break_even_text, by_total, once_texts, pays_from_text
from gpu_engine.text import units
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import verdict_text
from web.components import Link
from web.explore import Drawer
from web.plots.axis import Axis, log_axis
from web.plots.dots import DotRow, Dots, DotValue
from web.results import Results
from web.studies.answers.solvers import goals
from web.studies.answers.wording import alone, measured_on

FORMS = {"CG": "circle", "MINRES": "diamond", "BiCGSTAB": "triangle", "GMRES": "square"}
"""Method → form of its marks."""

HEADS = ("solve", "pays from", "conversion", "set-up", "total")
WIDE = HEADS[:2]

SPREAD_MIN = 1.1
"""Least factor between the times of a conversion for which the largest one is said."""


def drawer(results: Results, matrix_id: str) -> Drawer | None:
    """Return the drawer of a matrix on the first device that compares solves of it; None without any."""
    for answer in answers(results.data):
        compared = [each for each in answer.compared if each.group.matrix_id == matrix_id]
        if compared:
            groups = [
                group
                for group in solve_groups(results.data)
                if (group.matrix_id, group.device) == (matrix_id, answer.device) and group.built_in
            ]
            return _drawer(compared, by_total(groups), answer, results)
    return None


def _drawer(compared: list[Compared], rows: list[Best], answer: Answer, results: Results) -> Drawer:
    best = min(compared, key=lambda each: each.solve.total_s or 0.0)
    group, library = best.group, best.pair.full.measurement
    times = units.seconds(best.solve.total_s), units.seconds(library.median_s)
    word, speedup = verdict_text(best.pair.verdict), units.judged_ratio(best.pair.speedup)
    return Drawer(
        title=results.data.matrix(group.matrix_id).name,
        eyebrow=f"Solves of A·x = b {goals(answer)} · {measured_on(answer.device)}",
        sentence=f"One solve by {group.method} with {best.solve.label} takes {times[0]} with conversion, "
        f"by {LIBRARY_NAMES.get(library.format, library.format)} {times[1]}: {word}, {speedup}.",
        under=tuple(filter(None, (_least(rows, group), _pays(rows)))),
        pictures=(_times(rows),),
        facts=(
            ("System", matrix_text(group.axes)),
            ("Conditions", conditions_text(group.axes, any(each.method == "GMRES" for _, each, _ in rows))),
            *((("Conversion times", spreads),) if (spreads := _spreads(rows)) else ()),
            *((f"{each.group.method}, break-even", text) for each in compared if (text := _conversions(each.group))),
        ),
        links=(
            alone(results, group.device, group.matrix_id, "All solves of this matrix", "cases"),
            alone(results, group.device, group.matrix_id, "Residual per iteration", "solvers-residual"),
            Link("Matrix", f"/matrices/{group.matrix_id}"),
        ),
    )


def _least(rows: list[Best], group: SolveGroup) -> str:
    """Return the method and preconditioner with the least total, if libraries are compared with another one."""
    total_s, least, _ = rows[0]
    return "" if least is group else f"{least.title} takes least, {units.seconds(total_s)} in total."


def _pays(rows: list[Best]) -> str:
    """Return the ways of solving that take less in total from a number of solves on; empty without one."""
    first = rows[0][1]
    counts = [(group.pays_from(first), group) for _, group, _ in rows[1:]]
    least = min(((count, group) for count, group in counts if count), key=lambda each: each[0], default=None)
    return f"{_way(least[1])} pays from {amount(least[0], 'solve')} on." if least else ""


def _way(group: SolveGroup) -> str:
    return group.short.partition(", to ")[0]


def _times(rows: list[Best]) -> Dots:
    """Return a row per method and preconditioner, by the total of one solve with its best kernel."""
    axis = log_axis((total_s for total_s, *_ in rows), through=None)
    plots = tuple(_time_row(row, rows[0][1], axis) for row in rows)
    return Dots("One solve in total", (), axis.ticks(units.seconds), None, HEADS, plots, "method", wide=WIDE)


def _time_row(row: Best, fastest: SolveGroup, axis: Axis) -> DotRow:
    total_s, group, solve = row
    details = solve.measurement.details
    low, high = solve.total.shown_ci_s
    dot = axis.dot(total_s, FORMS.get(group.method, "circle"), "of-none", low=low, high=high, text=units.seconds)
    conversion, set_up, time, total = once_texts(solve)
    share = "" if solve.spmv_share is None else f", SpMVs {units.percent(solve.spmv_share)}"
    pays = pays_from_text(group, fastest)
    values = (
        f"{time}, {solve.label}, {amount(details.iterations, 'iteration')}{share}",
        pays if pays == NEVER else f"{pays} {'solve' if pays == '1' else 'solves'}",
        *(conversion, set_up, total),
    )
    return DotRow(_way(group), "", (dot,), tuple(map(DotValue, values)))


def _spreads(rows: list[Best]) -> str:
    """Return the least and the largest conversion time of each kernel of the rows whose times differ."""
    solves = {solve.label: solve for _, _, solve in rows}.values()
    times = ((each.label, each.measurement.details.convert_s, each.convert_max_s) for each in solves)
    return ", ".join(
        f"{label} {units.seconds(least)} to {units.seconds(most)}"
        for label, least, most in times
        if least and most and most > SPREAD_MIN * least
    )


def _conversions(group: SolveGroup) -> str:
    """Return the iterations after which each conversion pays back against the fastest CSR; empty without one."""
    needed = [(solve.label, group.break_even(solve)) for solve in group.built_in]
    known = [f"{label} {break_even_text(count)}" for label, count in needed if count is not None]
    return f"iterations against {group.base_text}: {', '.join(known)}" if known and group.base else ""
