"""Answer of solves: how long until A·x = b is solved, how much of it is the SpMV, does another format pay back."""

from collections.abc import Mapping

from gpu_engine.findings.solvers.answer import Answer, Compared, answers
from gpu_engine.findings.solvers.groups import SolveGroup, others_text, solve_groups
from gpu_engine.findings.solvers.tables import break_even_text
from gpu_engine.text import units
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import verdict_text
from web.components import Link
from web.explore import Drawer, ExploreAnswer
from web.plots.axis import Axis, log_axis
from web.plots.dots import Dot, DotRow, Dots, DotValue, Series
from web.results import Results
from web.studies.answers.wording import alone, interval, is_open, measured_on, opened, wins

SERIES: Mapping[str, Series] = {
    "CG": Series("CG", "circle", "of-none", "Conjugate gradients."),
    "MINRES": Series("MINRES", "diamond", "of-none", "Minimal residuals, for symmetric matrices."),
    "BiCGSTAB": Series("BiCGSTAB", "triangle", "of-none", "Stabilized biconjugate gradients."),
    "GMRES": Series("GMRES", "square", "of-none", "Restarted GMRES."),
}
"""Method → its entry in the legend: the form of its marks, whose hue is the verdict."""


def explore(results: Results) -> ExploreAnswer | None:
    """Return the answer over all systems of the first device; None without solves to compare with a library."""
    known = answers(results.data)
    if not known:
        return None
    first, *others = known
    return ExploreAnswer(
        eyebrow=_eyebrow(first),
        sentence=_sentence(first),
        under=_under(first),
        pictures=(_picture(first, results),),
        notes=(
            "Each solution is verified on the host. The library gets the tolerance that meets the same bound.",
            *(f"{measured_on(each.device)}: speedup {units.ratio(each.tally.mean)}." for each in others),
        ),
    )


def _eyebrow(answer: Answer) -> str:
    systems = amount(len(answer.by_problem), "system")
    return f"Solves of A·x = b {_goals(answer)} · {measured_on(answer.device)} · {systems}"


def _goals(answer: Answer) -> str:
    goals = dict.fromkeys(f"to {units.scientific(each.group.solves[0].rtol)}" for each in answer.compared)
    return next(iter(goals)) if len(goals) == 1 else "to several tolerances"


def _sentence(answer: Answer) -> str:
    """Return speedup, share, and conversions in one sentence."""
    parts = [f"Solves have a speedup of {units.ratio(answer.tally.mean)} over {answer.library}"]
    if answer.spmv_share is not None:
        parts.append(f"SpMVs take {units.percent(answer.spmv_share)} of the time")
    paying, known = answer.paying
    if known:
        parts.append(f"another format pays back in {paying} of {known}")
    return f"{', '.join(parts[:-1])}, and {parts[-1]}." if len(parts) > 1 else f"{parts[0]}."


def _under(answer: Answer) -> tuple[str, ...]:
    """Return the counts of verdicts, and the time of the median solve by method."""
    return (f"With the fastest kernel, they are {wins(answer.tally.verdicts, 'solves')}.",)


def _picture(answer: Answer, results: Results) -> Dots:
    axis = log_axis(each.pair.speedup for each in answer.compared)
    methods = [method for method in SERIES if method in answer.methods]
    rows = sorted(answer.by_problem.values(), key=lambda by_method: -max(e.pair.speedup for e in by_method.values()))
    means = [_mean(method, methods, answer, axis) for method in methods] if len(rows) > 1 else []
    return Dots(
        heading=f"Speedup over {answer.library}",
        series=tuple(SERIES[method] for method in methods),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=("time", *methods),
        rows=(*(_row(by_method, methods, axis, results) for by_method in rows), *means),
        what="system",
        wide=("time",),
        note="bar: 95 % CI",
        verdicts=True,
    )


def _row(by_method: Mapping[str, Compared], methods: list[str], axis: Axis, results: Results) -> DotRow:
    compared = list(by_method.values())
    group = compared[0].group
    best_s = min(each.pair.other.measurement.median_s or 0.0 for each in compared)
    return DotRow(
        name=results.data.matrix(group.matrix_id).name,
        href=opened(results, group.matrix_id),
        dots=tuple(_dot(method, by_method[method], axis) for method in methods if method in by_method),
        values=(DotValue(units.seconds(best_s)), *(_value(by_method.get(method)) for method in methods)),
        note=", ".join(others_text(group.axes)),
        is_open=is_open(results, group.matrix_id),
    )


def _dot(method: str, each: Compared, axis: Axis) -> Dot:
    low, high = each.pair.interval or (None, None)
    return axis.dot(each.pair.speedup, SERIES[method].form, each.pair.verdict, low=low, high=high)


def _value(each: Compared | None) -> DotValue:
    return DotValue(f"{each.pair.speedup:.2f}", each.pair.verdict) if each else DotValue(units.MISSING)


def _mean(method: str, methods: list[str], answer: Answer, axis: Axis) -> DotRow:
    """Return the row of a mean; its number stands in the column of its method."""
    tally = answer.tally_of(method)
    if tally is None:
        raise ValueError(f"{method} has no solves.")
    low, high = tally.interval or (None, None)
    values = (
        DotValue(f"{tally.mean:.2f}", low_high=interval(tally.interval)) if each == method else DotValue("")
        for each in methods
    )
    dot = axis.dot(tally.mean, SERIES[method].form, "of-none", low=low, high=high)
    return DotRow(f"mean, {method}", "", (dot,), (DotValue(""), *values), is_summary=True)


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
            return _drawer(compared, groups, answer, results)
    return None


def _drawer(compared: list[Compared], groups: list[SolveGroup], answer: Answer, results: Results) -> Drawer:
    best = min(compared, key=lambda each: each.pair.other.measurement.median_s or 0.0)
    group, fastest = best.group, best.group.built_in[0]
    time, library = (units.seconds(run.measurement.median_s) for run in (best.pair.other, best.pair.full))
    word = verdict_text(best.pair.verdict)
    return Drawer(
        title=results.data.matrix(group.matrix_id).name,
        eyebrow=f"Solves of A·x = b {_goals(answer)} · {measured_on(answer.device)}",
        sentence=f"{group.method} with {fastest.label} takes {time}, {answer.library} {library}: {word}, "
        f"{units.ratio(best.pair.speedup)}.",
        pictures=(_times(groups),),
        facts=tuple(
            (f"{each.group.method}, conversions", text) for each in compared if (text := _conversions(each.group))
        ),
        links=(
            alone(results, group.device, group.matrix_id, "All solves of this matrix", "cases"),
            alone(results, group.device, group.matrix_id, "Residual per iteration", "solvers-residual"),
            Link("Matrix", f"/matrices/{group.matrix_id}"),
        ),
    )


def _times(groups: list[SolveGroup]) -> Dots:
    """Return a row per method and preconditioner: the time of its fastest kernel, iterations, and share."""
    best_s = [group.built_in[0].measurement.median_s or 0.0 for group in groups]
    axis = log_axis(best_s, through=None)
    ordered = sorted(zip(best_s, groups, strict=True), key=lambda pair: pair[0])
    rows = tuple(_time_row(time_s, group, axis) for time_s, group in ordered)
    heads = ("kernel", "iterations", "time", "SpMVs")
    return Dots("Time to the tolerance", (), axis.ticks(units.seconds), None, heads, rows, "solve", wide=("kernel",))


def _time_row(time_s: float, group: SolveGroup, axis: Axis) -> DotRow:
    fastest = group.built_in[0]
    m = fastest.measurement
    low, high = m.shown_ci_s
    form = SERIES[group.method].form if group.method in SERIES else "circle"
    dot = axis.dot(time_s, form, "of-none", low=low, high=high, text=units.seconds)
    values = fastest.label, units.count(m.details.iterations), units.seconds(time_s), units.percent(fastest.spmv_share)
    return DotRow(group.title, "", (dot,), tuple(map(DotValue, values)))


def _conversions(group: SolveGroup) -> str:
    """Return the iterations after which each conversion pays back; empty without one."""
    needed = [(solve.label, group.break_even(solve)) for solve in group.built_in]
    known = [f"{label} after {break_even_text(count)}" for label, count in needed if count is not None]
    return ", ".join(known).replace("after never", "never")
