"""Drawer of a graph: its runs, which precision they have when, and the checks of their ranks."""

from collections.abc import Iterator, Mapping

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.adaptive import Pair
from gpu_engine.findings.pagerank.checks import checks
from gpu_engine.findings.pagerank.runs import Run, RunGroup, is_right, power, run_groups, tolerance
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text import units
from gpu_engine.text.words import capital
from gpu_engine.verdicts.verdict import verdict_text
from web.components import Link
from web.explore import Drawer
from web.plots.axis import Axis, log_axis
from web.plots.dots import DotRow, Dots, DotValue
from web.results import Results
from web.studies.answers.pagerank import time_value
from web.studies.answers.pagerank_comparisons import (
    ADAPTIVE,
    FP64_RUN,
    OWN_KERNELS,
    PAPERS,
    PAPERS_FP64,
    REFINED,
    SERIES,
    Comparisons,
    comparisons,
    kinds_of_axes,
)
from web.studies.answers.wording import alone, measured_on

BITS = 64
"""Bits of a value in all segments."""


def drawer(results: Results, matrix_id: str) -> Drawer | None:
    """Return the drawer of a graph on the first device that has pairs of it; None without pairs."""
    for place in comparisons(results.data):
        for group in run_groups(results.data):
            if group.matrix_id == matrix_id and (pairs := place.of(group)):
                return _drawer(group, pairs, place, results)
    return None


def _drawer(group: RunGroup, pairs: Mapping[str, Pair], place: Comparisons, results: Results) -> Drawer:
    data, checked = results.data, pairs.get(ADAPTIVE) or next(iter(pairs.values()))
    n = data.matrix(group.matrix_id).n_rows
    of_run = checks(group, checked.other, n)
    return Drawer(
        title=data.matrix(group.matrix_id).name,
        eyebrow=_eyebrow(group, place),
        sentence=_sentence(pairs),
        under=_under(pairs),
        pictures=tuple(_runs(group, pairs)),
        facts=_facts(group, pairs, data),
        ticks=tuple((check.holds, check.rule, check.value) for check in sorted(of_run, key=lambda each: each.holds)),
        links=(
            alone(results, group.device, group.matrix_id, "All runs of this graph", "cases"),
            alone(results, group.device, group.matrix_id, "γ per iteration", "pagerank-gamma"),
            Link("Matrix", f"/matrices/{group.matrix_id}"),
        ),
    )


def _eyebrow(group: RunGroup, place: Comparisons) -> str:
    to = f"PageRank to {power(tolerance(group.runs[0], 1))}"
    return " · ".join(filter(None, (to, group.parameters, measured_on(place.device))))


def _sentence(pairs: Mapping[str, Pair]) -> str:
    kind = next(kind for kind in (ADAPTIVE, REFINED, PAPERS) if kind in pairs)
    pair = pairs[kind]
    time, full = (units.seconds(run.measurement.median_s) for run in (pair.other, pair.full))
    base = OWN_KERNELS if kind == PAPERS else f"the {FP64_RUN}"
    name = SERIES[ADAPTIVE if kind == PAPERS else kind].name.capitalize()
    word = verdict_text(pair.verdict)
    return f"{name} takes {time}, {base} {full}: {word}, {units.judged_ratio(pair.speedup)}."


def _under(pairs: Mapping[str, Pair]) -> tuple[str, ...]:
    """Return how much longer the baseline of the paper's kernels takes than the fastest fp64 run."""
    papers = pairs.get(PAPERS)
    if papers is None or papers.slowdown == 1.0:
        return ()
    return (f"{capital(OWN_KERNELS)} take {units.ratio(papers.slowdown)} the time of the {FP64_RUN}.",)


def _runs(group: RunGroup, pairs: Mapping[str, Pair]) -> Iterator[Dots]:
    """Yield a plot per baseline, each with an axis of its own: its time, and those of the runs compared with it."""
    for kinds in kinds_of_axes(pairs):
        is_papers = kinds == [PAPERS]
        full = pairs[PAPERS].full if is_papers else group.fastest_full
        axis = log_axis([1.0, *(pairs[kind].speedup for kind in kinds)])
        rows = [_baseline(PAPERS_FP64 if is_papers else FP64_RUN, full, axis)] if full else []
        rows += [_compared(kind, pairs[kind], axis) for kind in kinds]
        heads = ("iterations", "time", "speedup")
        what = f"Time to convergence{', paper’s kernels' if is_papers else ''}"
        yield Dots(what, (), axis.ticks(), axis.at(1.0), heads, tuple(rows), what="run")


def _compared(kind: str, pair: Pair, axis: Axis) -> DotRow:
    low, high = pair.interval or (None, None)
    dot = axis.dot(pair.speedup, SERIES[kind].form, pair.verdict, low=low, high=high)
    speedup = DotValue(units.ratio_beside_verdict(pair.speedup), pair.verdict)
    return DotRow(kind, "", (dot,), (*_iterations_and_time(pair.other), speedup))


def _baseline(name: str, full: Run, axis: Axis) -> DotRow:
    values = (*_iterations_and_time(full), DotValue("base"))
    return DotRow(name, "", (axis.dot(1.0, "ring", "of-none"),), values)


def _iterations_and_time(run: Run) -> tuple[DotValue, DotValue]:
    iterations = run.measurement.details.iterations
    return DotValue(units.count(iterations)), time_value(run)


def _facts(group: RunGroup, pairs: Mapping[str, Pair], data: StudyData) -> tuple[tuple[str, str], ...]:
    """Return the kernels, the intervals of the speedups, the schedules, and the excluded runs."""
    facts = []
    for kind, pair in pairs.items():
        over = f"over {group.label(pair.full)}" if kind == PAPERS else ""
        ends = units.ratio_interval(pair.interval, beside_verdict=True)
        threshold = f"noise threshold {units.percent(pair.threshold)}"
        texts = (group.label(pair.other), over, f"95 % CI {ends}" if ends else "", threshold, schedule_text(pair.other))
        facts.append((kind, "; ".join(filter(None, texts))))
    if group.fastest_full:
        facts.insert(0, (FP64_RUN, group.label(group.fastest_full)))
    n = data.matrix(group.matrix_id).n_rows
    wrong = [group.label(run) for run in group.timed if not is_right(run, n)]
    if wrong:
        facts.append(("Excluded, not verified", join(wrong, NAMED)))
    return tuple(facts)


def schedule_text(run: Run) -> str:
    """Return which precision a run has when: `46 iterations in 32 bits, then 70 in 64 bits`; empty for one."""
    counts = run.measurement.details.iterations_by_segments
    step = BITS // len(counts) if counts else BITS
    parts = [f"{units.count(count)} in {step * (place + 1)} bits" for place, count in enumerate(counts) if count]
    return f"iterations: {', then '.join(parts)}" if run.precisions and parts else ""
