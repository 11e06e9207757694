"""Findings of the `solvers` study: the fastest solve, its share of SpMVs, and conversions that pay back."""

from collections import Counter
from functools import lru_cache, partial

from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.finding import (
    INTERVAL,
    Finding,
    against,
    interval_text,
    row_of,
    share_text,
    with_intervals,
)
from gpu_engine.findings.overall_ranking import ComparisonGroup
from gpu_engine.findings.solvers.consistent import NONE
from gpu_engine.findings.solvers.groups import Solve, SolveGroup, problems, solve_groups
from gpu_engine.findings.solvers.tables import break_even_text, by_total, whole
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import scientific
from gpu_engine.text.words import amount

HEADS = (
    Head("iterations"),
    Head("time", "of the solve"),
    Head(INTERVAL),
    Head("iteration"),
    Head("% of roofline"),
    Head("SpMV", "alone"),
    Head("share", "of the SpMVs"),
    Head("conversion"),
    Head("set-up", "preconditioner"),
    Head("total", "one solve"),
    Head("break-even", "iterations vs CSR"),
    Head("residual", "relative"),
    Head("tolerance", "of the library"),
    Head("note", numeric=False),
)


@lru_cache(FINDINGS_CACHED)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """Return a finding per matrix, device, method, preconditioner, and tolerance."""
    return tuple(_finding(group, data) for group in solve_groups(data))


def contests(data: StudyData) -> tuple[ComparisonGroup, ...]:
    """Return a comparison group per matrix, device, method, preconditioner, and tolerance."""
    return tuple(_contest(group, data) for group in solve_groups(data))


def overview(data: StudyData) -> tuple[str, ...]:
    """Return a sentence per device and method with several preconditioners: the one with the least total."""
    ranked: dict[tuple[str, str], list[list[Total]]] = {}
    for groups in problems(data).values():
        by_method: dict[str, list[Total]] = {}
        for group in groups:
            by_method.setdefault(group.method, []).extend((total_s, group) for total_s, *_ in by_total([group]))
        for method, totals in by_method.items():
            if len(totals) > 1:
                ranked.setdefault((groups[0].device, method), []).append(sorted(totals, key=lambda each: each[0]))
    return tuple(
        _on_one_system(systems[0], data) if len(systems) == 1 else _on_systems(device, method, systems)
        for (device, method), systems in ranked.items()
    )


Total = tuple[float, SolveGroup]
"""Seconds of one solve with conversion and set-up, and its group."""


def _on_one_system(totals: list[Total], data: StudyData) -> str:
    """Return the fastest preconditioner of a method on a system, compared with none."""
    total, group = totals[0]
    where = f"{data.matrix(group.matrix_id).name} on {group.device}, {group.method}"
    text = f"{where}: {_named(group)} is fastest for one solve"
    plain = next((each for each in totals if each[1].preconditioner == NONE), None)
    if plain is None or plain is totals[0]:
        return f"{text} ({units.seconds(total)} in total)."
    return f"{text} ({units.seconds(total)} in total; without a preconditioner {units.seconds(plain[0])})."


def _on_systems(device: str, method: str, systems: list[list[Total]]) -> str:
    """Return on how many systems each preconditioner is the fastest."""
    counts = Counter(_named(totals[0][1]) for totals in systems).most_common()
    parts = [f"{name} is fastest on {count} of {len(systems)} systems" for name, count in counts[:1]]
    parts += [f"{name} on {count}" for name, count in counts[1:]]
    return f"{method} on {device}, one solve in total: {', '.join(parts)}."


def _named(group: SolveGroup) -> str:
    return "no preconditioner" if group.preconditioner == NONE else group.preconditioner


def _contest(group: SolveGroup, data: StudyData) -> ComparisonGroup:
    base = group.baseline
    return ComparisonGroup(
        f"{data.matrix(group.matrix_id).name}, {group.title}",
        group.device,
        "warm",
        {solve.label: solve.measurement for solve in group.solves},
        group.ranking,
        base.label if base else "",
        group.method,
        (("systems", str(group.problem)), ("preconditioners", group.preconditioner)),
        "conversion",
    )


def _finding(group: SolveGroup, data: StudyData) -> Finding:
    base, ranking = group.baseline, group.ranking
    leading = {m.case for m in ranking.leaders}
    measured = base.measurement if base else None
    return Finding(
        study="solvers",
        matrix_id=group.matrix_id,
        device=group.device,
        cache="warm",
        title=f"{data.matrix(group.matrix_id).name}, {group.title}",
        axes=dict(group.axes),
        leaders=tuple(m.kernel for m in ranking.leaders),
        decided=ranking.decided,
        busy=ranking.busy,
        sentences=_sentences(group),
        baseline=base.label if base else "",
        rows=tuple(row_of(s.measurement, s.label, s.measurement.case in leading, measured) for s in group.solves),
        tabulate=partial(_numbers, group),
        members=(group.matrix_id,),
        of=group.method,
    )


def _sentences(group: SolveGroup) -> tuple[str, ...]:
    ranking = group.ranking
    if not ranking.measurements:
        return (_without_time(group),)
    fastest = next(s for s in group.solves if s.measurement is ranking.measurements[0])
    facts = [f"{units.seconds(fastest.measurement.median_s)} for {_iterations(fastest)}"]
    first = ranking.sentence(lambda m: m.kernel, f"on {group.device}, {group.short}", facts)
    if ranking.busy:
        return (first,)
    others = _for_one(group), _over_library(group), _on_share(group), _on_conversion(group)
    return tuple(filter(None, (first, *others)))


def _without_time(group: SolveGroup) -> str:
    """Return why no solve has a time: the note that most of them share."""
    notes = [solve.measurement.note for solve in group.solves if solve.measurement.note]
    reason = max(dict.fromkeys(notes), key=notes.count, default="no reason was recorded")
    return f"No solve has a time: {reason.rstrip('.')}."


def _iterations(solve: Solve) -> str:
    iterations = solve.measurement.details.iterations
    return "an unknown number of iterations" if iterations is None else amount(iterations, "iteration")


def _over_library(group: SolveGroup) -> str:
    """Return the speedup of the fastest Sparsight kernel over the fastest library, without what is needed once."""
    if not group.built_in or group.library is None:
        return ""
    fastest, library = group.built_in[0], group.library
    text = against(library.measurement, fastest.measurement)
    needed = library.measurement.details.iterations
    same = needed is None or abs((fastest.measurement.details.iterations or 0) - needed) <= 1
    count = "" if same else f", which needs {_iterations(library)}"
    return f"Many solves, {fastest.label}: {text}{count}."


def _for_one(group: SolveGroup) -> str:
    """Return the kernel with the least total for one solve against the fastest library; empty without a conversion."""
    solve = group.for_one
    if solve is None or solve.measurement.details.convert_s is None:
        return ""
    time = f"One solve takes least with {solve.label}, {units.seconds(solve.total_s)} with conversion"
    time += "" if group.preconditioner == NONE else " and set-up"
    return f"{time}: {against(group.library.measurement, solve.total)}." if group.library else f"{time}."


def _on_share(group: SolveGroup) -> str:
    """Return the share of the SpMVs in the fastest solve with a Sparsight kernel; empty without one."""
    if not group.built_in or (share := group.built_in[0].spmv_share) is None:
        return ""
    fastest = group.built_in[0]
    each = units.seconds(fastest.iteration_s)
    return f"{fastest.label}: the SpMVs take {units.percent(share)} of the solve ({each} per iteration)."


def _on_conversion(group: SolveGroup) -> str:
    """Return which conversions pay back before the solve is over; empty without one to judge."""
    verdicts = [(solve, pays) for solve in group.built_in if (pays := group.pays_back(solve)) is not None]
    if not verdicts or group.base is None:
        return ""
    paying = [solve for solve, pays in verdicts if pays]
    if not paying:
        return f"No conversion pays back within the solve against {group.base_text}."
    first = min(paying, key=lambda solve: group.break_even(solve) or 0.0)
    after = amount(whole(group.break_even(first) or 0.0), "iteration")
    others = f" and for {amount(len(paying) - 1, 'further kernel')}" if len(paying) > 1 else ""
    return f"Conversion pays back after {after} for {first.label}{others}, against {group.base_text}."


def _numbers(group: SolveGroup) -> Table:
    rows = tuple(_cells(solve, group) for solve in group.solves)
    return with_intervals(Table(HEADS, rows), [solve.measurement for solve in group.solves])


def _cells(solve: Solve, group: SolveGroup) -> tuple[str, ...]:
    m, details = solve.measurement, solve.measurement.details
    return (
        units.count(details.iterations),
        units.seconds(m.median_s),
        interval_text(m),
        units.seconds(solve.iteration_s),
        share_text(m.roofline_s, m),
        units.seconds(details.spmv_s),
        units.percent(solve.spmv_share),
        units.seconds(details.convert_s),
        units.seconds(details.setup_s or None),
        units.seconds(solve.total_s),
        break_even_text(group.break_even(solve)),
        units.MISSING if details.residual is None else scientific(details.residual),
        units.MISSING if details.tolerance is None else scientific(details.tolerance),
        m.note,
    )
