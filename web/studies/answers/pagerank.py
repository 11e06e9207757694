"""Answer of PageRank: does adaptive precision pay, does refinement, and on how many graphs."""

from collections.abc import Iterable, Mapping, Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.adaptive import Pair, Tally, is_noisy
from gpu_engine.findings.pagerank.runs import Run, RunGroup, power, tolerance, triangles
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text import units
from gpu_engine.text.words import amount, capital
from web.device_labels import short
from web.explore import ExploreAnswer
from web.plots.axis import Axis, log_axis
from web.plots.dots import Dot, DotRow, Dots, DotValue
from web.results import Results
from web.studies.answers.pagerank_comparisons import (
    A_NAME,
    ADAPTIVE,
    FP64_RUN,
    OWN_KERNELS,
    PAPERS,
    PAPERS_FP64,
    REFINED,
    SERIES,
    Comparisons,
    all_groups,
    comparisons,
    groups_of,
    kinds_of_axes,
)
from web.studies.answers.wording import YES, is_open, measured_on, opened, wins


def explore(results: Results) -> ExploreAnswer | None:
    """Return the answer over all graphs of the first device; None without runs to compare."""
    known = comparisons(results.data)
    if not known:
        return None
    first, *others = known
    tallies = first.tallies
    return ExploreAnswer(
        eyebrow=_eyebrow(known, results.data),
        sentence=_sentence(tallies, first.device),
        under=_under(tallies),
        pictures=tuple(
            _picture(each, kinds, results)
            for each in known
            if each.device == first.device
            for kinds in kinds_of_axes(each.tallies)
        ),
        notes=(
            *_notes(first, results.data),
            *(note for each in others for note in _other(each, first.device, results.data)),
        ),
    )


def _eyebrow(known: Sequence[Comparisons], data: StudyData) -> str:
    first = known[0]
    run = groups_of(first, data)[0].runs[0]
    damping = run.measurement.axes.get("damping", "0.85")
    epsilon = power(tolerance(run, 1))
    graphs = ", ".join(_amount(each, data) for each in known if each.device == first.device)
    return f"PageRank · δ {damping}, to {epsilon} · {measured_on(first.device)} · {graphs}"


def _amount(each: Comparisons, data: StudyData) -> str:
    """Return the number of graphs: `12 whole matrices`, or `10 lower triangles`."""
    number = len(groups_of(each, data))
    return amount(
        number, *(("whole matrix", "whole matrices") if each.triangle == "full" else (f"{each.triangle} triangle",))
    )


def _sentence(tallies: Mapping[str, Tally], device: str) -> str:
    """Return yes or no for adaptive precision, or for refinement if nothing else was measured."""
    kind, tally = next(iter(tallies.items()))
    begin = f"Does {kind if kind != PAPERS else ADAPTIVE} pay on {short(device)}? {_yes(tally)} {_against(kind, tally)}"
    papers = tallies.get(PAPERS)
    if papers is None or kind != ADAPTIVE:
        return f"{begin}."
    also = "and" if papers.pays == tally.pays else "but"
    return f"{begin}, {also} {_yes(papers).lower()} {_against(PAPERS, papers)}."


def _against(kind: str, tally: Tally) -> str:
    """Return the baseline of a kind, and the mean speedup over it."""
    base = OWN_KERNELS if kind == PAPERS else f"the {FP64_RUN}"
    return f"against {base} ({units.ratio(tally.mean)})"


def _yes(tally: Tally) -> str:
    return YES[tally.pays]


def _under(tallies: Mapping[str, Tally]) -> tuple[str, ...]:
    """Return the mean, its CI, and the counts of graphs of each kind, over a baseline that is named."""
    under = []
    if adaptive := tallies.get(ADAPTIVE):
        what = "mean" if len(adaptive.pairs) > 1 else "speedup"
        mean = f"Against the {FP64_RUN}, the {what} is {_mean_and_interval(adaptive)}."
        under.append(f"{mean} It is {wins(adaptive.verdicts, 'graphs')}.")
    if papers := tallies.get(PAPERS):
        under.append(f"{_baseline_text(papers)} Against them, it is {wins(papers.verdicts, 'graphs')}.")
    if refined := tallies.get(REFINED):
        counts = wins(refined.verdicts, "graphs")
        question = f"Does {REFINED} pay? {_yes(refined)}: mean" if under else "Mean"
        under.append(f"{question} {_mean_and_interval(refined)}, {counts}.")
    return tuple(under)


def _mean_and_interval(tally: Tally) -> str:
    ends = f" (95{units.THIN}% CI {units.ratio_interval(tally.interval)})" if tally.interval else ""
    return f"{units.ratio(tally.mean)}{ends}"


def _baseline_text(papers: Tally) -> str:
    """Return how much longer the baseline of the paper's kernels takes than that of all others."""
    mean, most = papers.slowdowns
    up_to = f" (mean, up to {units.ratio(most)})" if len(papers.pairs) > 1 else ""
    return f"{capital(OWN_KERNELS)} take {units.ratio(mean)} the time of the {FP64_RUN}{up_to}."


def _picture(each: Comparisons, kinds: Sequence[str], results: Results) -> Dots:
    """Return a row per graph with a pair of these kinds, the largest first speedup first, and the means."""
    axis, baseline = _axis(each, kinds), PAPERS_FP64 if kinds == [PAPERS] else FP64_RUN
    graphs = [(group, pairs) for group in groups_of(each, results.data) if (pairs := _pairs(each, group, kinds))]
    graphs.sort(key=lambda graph: _order(graph[1]))
    rows = [_row(group, pairs, kinds, axis, results) for group, pairs in graphs]
    means = [_mean(kind, each.tallies[kind], kinds, axis) for kind in kinds] if len(rows) > 1 else []
    return Dots(
        heading=capital(": ".join(filter(None, (triangles(each.triangle), f"speedup over the {baseline}")))),
        series=tuple(SERIES[kind] for kind in kinds),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=(baseline, *kinds),
        rows=(*rows, *means),
        what="graph",
        wide=(baseline,),
        note="bar: 95 % CI",
        verdicts=True,
    )


def _pairs(each: Comparisons, group: RunGroup, kinds: Sequence[str]) -> dict[str, Pair]:
    return {kind: pair for kind, pair in each.of(group).items() if kind in kinds}


def _axis(each: Comparisons, kinds: Sequence[str]) -> Axis:
    return log_axis(pair.speedup for kind in kinds for pair in each.tallies[kind].pairs)


def _order(pairs: Mapping[str, Pair]) -> tuple[bool, float]:
    """Return a sort key: graphs without the first kind last."""
    adaptive = pairs.get(ADAPTIVE)
    return adaptive is None, -(adaptive or next(iter(pairs.values()))).speedup


def _row(group: RunGroup, pairs: Mapping[str, Pair], kinds: Sequence[str], axis: Axis, results: Results) -> DotRow:
    name = results.data.matrix(group.matrix_id).name
    return DotRow(
        name=name,
        href=opened(results, group.matrix_id),
        dots=tuple(_dot(kind, pairs[kind], axis) for kind in kinds if kind in pairs),
        values=(
            time_value(pairs[PAPERS].full if PAPERS in pairs else group.fastest_full),
            *(_value(pairs.get(kind)) for kind in kinds),
        ),
        is_open=is_open(results, group.matrix_id),
        note=A_NAME if name.partition(" ")[0] in ADAPTIVE.split() else "",
    )


def _dot(kind: str, pair: Pair, axis: Axis) -> Dot:
    low, high = pair.interval or (None, None)
    return axis.dot(pair.speedup, SERIES[kind].form, pair.verdict, low=low, high=high)


def time_value(run: Run | None) -> DotValue:
    """Return the time of a run, or the sign for a missing value."""
    return DotValue(units.seconds(run.measurement.median_s) if run else units.MISSING)


def _value(pair: Pair | None) -> DotValue:
    """Return the speedup of a pair with its verdict."""
    return DotValue(units.ratio_beside_verdict(pair.speedup), pair.verdict) if pair else DotValue(units.MISSING)


def _mean(kind: str, tally: Tally, kinds: Sequence[str], axis: Axis) -> DotRow:
    """Return the row of a mean; its number stands in the column of its kind."""
    low, high = tally.interval or (None, None)
    values = (
        DotValue(f"{tally.mean:.2f}", low_high=units.ratio_interval(tally.interval)) if each == kind else DotValue("")
        for each in kinds
    )
    dot = axis.dot(tally.mean, SERIES[kind].form, "of-none", low=low, high=high)
    return DotRow(f"mean, {kind}", "", (dot,), (DotValue(""), *values), is_summary=True)


def _notes(first: Comparisons, data: StudyData) -> tuple[str, ...]:
    tallies = first.tallies
    runs = {pair.other.measurement.case for tally in tallies.values() for pair in tally.pairs}
    notes = [f"The ranks of {amount(len(runs), 'compared run')} are verified. Open a graph for the checks."]
    axes = {kind: _axis(first, kinds) for kinds in kinds_of_axes(tallies) for kind in kinds}
    for kind, tally in tallies.items():
        inside = [pair for pair in tally.pairs if axes[kind].holds(pair.speedup)]
        if inside and len(inside) < len(tally.pairs):
            outside = [data.matrix(pair.matrix_id).name for pair in tally.pairs if pair not in inside]
            mean = units.ratio(Tally(tuple(inside)).mean)
            notes.append(f"{capital(kind)} without {join(outside, NAMED)}: {mean}.")
    noisy = [group for group in all_groups(first, data) if is_noisy(group)]
    if noisy:
        notes.append(f"Timings of {amount(len(noisy), 'more graph')} are too noisy to compare.")
    notes.append(_threshold_note(pair for tally in tallies.values() for pair in tally.pairs))
    if len(groups_of(first, data)) > 1:
        notes.append("Mean: geometric mean, with a bootstrapped 95 % CI over the graphs.")
    return tuple(notes)


def _threshold_note(pairs: Iterable[Pair]) -> str:
    """Return within which differences two runs are equal."""
    thresholds = [pair.threshold for pair in pairs]
    ends = dict.fromkeys((units.percent(min(thresholds)), units.percent(max(thresholds))))
    return f"Equal: the difference is within the noise threshold of the graph ({' to '.join(ends)})."


def _other(each: Comparisons, first: str, data: StudyData) -> list[str]:
    """Return a sentence per kind on lower triangles, or on another device than the first one."""
    device = measured_on(each.device) if each.device != first else ""
    where = capital(", ".join(filter(None, (device, triangles(each.triangle)))))
    tallies = each.tallies.items()
    return [
        f"{where}: {kind} {units.ratio(tally.mean)}, {wins(tally.verdicts, 'graphs')}.{_without(each, kind, data)}"
        for kind, tally in tallies
    ]


def _without(each: Comparisons, kind: str, data: StudyData) -> str:
    """Return why graphs lack a kind, if only the kernels of the paper ran on them; empty if none does."""
    groups = [each.of(group) for group in groups_of(each, data)]
    number = sum(kind not in pairs and PAPERS in pairs for pairs in groups)
    return f" On {amount(number, 'other', 'others')} only the paper’s kernels ran." if number else ""
