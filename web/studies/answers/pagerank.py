"""Answer of PageRank: does adaptive precision pay, does refinement, and on how many graphs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.adaptive import Pair, Tally, is_noisy, pairs_of, papers_pairs
from gpu_engine.findings.pagerank.runs import KINDS, RunGroup, place_of, power, run_groups, tolerance, triangles
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text import units
from gpu_engine.text.words import amount, capital
from web.explore import ExploreAnswer
from web.plots.axis import Axis, log_axis
from web.plots.dots import Dot, DotRow, Dots, DotValue, Series
from web.results import Results
from web.studies.answers.wording import YES, interval, is_open, measured_on, opened, wins

ADAPTIVE, REFINED = KINDS
PAPERS = "paper’s kernels"
FP64_RUN = "fp64 run"

SERIES: Mapping[str, Series] = {
    ADAPTIVE: Series(
        ADAPTIVE,
        "circle",
        "of-none",
        "The method of the paper: values in two or four segments, of which early iterations read fewer. Over the "
        "fastest fp64 run.",
    ),
    REFINED: Series(
        REFINED, "diamond", "of-none", "Corrections of the ranks in 32 or 64 bits. Over the fastest fp64 run."
    ),
    PAPERS: Series(
        PAPERS,
        "triangle",
        "of-none",
        "Adaptive precision with the unfused kernels of the paper, over the same kernels in fp64.",
    ),
}
"""Kind of comparison → its entry in the legend: the form of its marks, whose hue is the verdict."""


@dataclass(frozen=True, slots=True)
class Comparisons:
    """All pairs on one device: on complete graphs, or only on lower triangles; pairs by kind of SERIES."""

    device: str
    triangle: str
    pairs: Mapping[str, tuple[Pair, ...]]

    @property
    def tallies(self) -> dict[str, Tally]:
        """Tally by kind, without kinds that have no pair."""
        return {kind: Tally(pairs) for kind, pairs in self.pairs.items() if pairs}

    def of(self, group: RunGroup) -> dict[str, Pair]:
        """Return the pairs of a graph by kind."""
        return {kind: pair for kind, pairs in self.pairs.items() for pair in pairs if pair.full in group.runs}


def comparisons(data: StudyData) -> list[Comparisons]:
    """Return the comparisons by device and triangle, complete graphs first."""
    pairs, papers = pairs_of(data), papers_pairs(data)
    places = dict.fromkeys((group.triangle != "full", group.device, group.triangle) for group in run_groups(data))
    made = []
    for _, device, triangle in sorted(places, key=lambda place: place[0]):
        place = place_of(device, triangle)
        kinds = {kind: tuple(pairs.get((kind, place), ())) for kind in KINDS} | {PAPERS: tuple(papers.get(place, ()))}
        made.append(Comparisons(device, triangle, kinds))
    return [each for each in made if each.tallies]


def explore(results: Results) -> ExploreAnswer | None:
    """Return the answer over all graphs of the first device; None without runs to compare."""
    known = comparisons(results.data)
    if not known:
        return None
    first, *others = known
    tallies = first.tallies
    return ExploreAnswer(
        eyebrow=_eyebrow(first, results.data),
        sentence=_sentence(tallies),
        under=_under(tallies),
        pictures=(_picture(first, results),),
        notes=(*_notes(first, results.data), *(note for each in others for note in _other(each, first.device))),
    )


def _eyebrow(first: Comparisons, data: StudyData) -> str:
    groups = _groups(first, data)
    run = groups[0].runs[0]
    damping = run.measurement.axes.get("damping", "0.85")
    what = "lower triangle" if first.triangle != "full" else "graph"
    epsilon = power(tolerance(run, 1))
    return f"PageRank · δ {damping}, to {epsilon} · {measured_on(first.device)} · {amount(len(groups), what)}"


def _all_groups(first: Comparisons, data: StudyData) -> list[RunGroup]:
    return [group for group in run_groups(data) if (group.device, group.triangle) == (first.device, first.triangle)]


def _groups(first: Comparisons, data: StudyData) -> list[RunGroup]:
    """Return the groups of the graphs with a pair."""
    return [group for group in _all_groups(first, data) if first.of(group)]


def _sentence(tallies: Mapping[str, Tally]) -> str:
    """Return yes or no for adaptive precision, or for refinement if nothing else was measured."""
    kind, tally = next(iter(tallies.items()))
    if kind == PAPERS:
        return f"Does adaptive precision pay? {_yes(tally)} on the paper’s own kernels ({units.ratio(tally.mean)})."
    begin = f"Does {kind} pay? {_yes(tally)} over the fastest {FP64_RUN} ({units.ratio(tally.mean)})"
    papers = tallies.get(PAPERS)
    if papers is None or kind == REFINED:
        return f"{begin}."
    also = "and" if papers.pays == tally.pays else "but"
    return f"{begin}, {also} {_yes(papers).lower()} on the paper’s own kernels ({units.ratio(papers.mean)})."


def _yes(tally: Tally) -> str:
    return YES[tally.pays]


def _under(tallies: Mapping[str, Tally]) -> tuple[str, ...]:
    """Return the counts of graphs of each kind."""
    texts = {
        ADAPTIVE: "Adaptive precision is",
        PAPERS: "With the paper’s kernels it is",
    }
    under = [f"{text} {wins(tallies[kind].verdicts, 'graphs')}." for kind, text in texts.items() if kind in tallies]
    refined = tallies.get(REFINED)
    if refined is not None and under:
        mean = units.ratio(refined.mean)
        ends = f" (95{units.THIN}% CI {interval(refined.interval)})" if refined.interval else ""
        counts = wins(refined.verdicts, "graphs")
        under.append(f"Does {REFINED} pay? {_yes(refined)}: mean {mean}{ends}, {counts}.")
    elif refined is not None:
        under.append(f"It is {wins(refined.verdicts, 'graphs')}.")
    return tuple(under)


def _picture(first: Comparisons, results: Results) -> Dots:
    """Return a row per graph, the largest speedup of adaptive precision first, and the means."""
    kinds, data = [*first.tallies], results.data
    axis = _axis(first)
    graphs = sorted(_groups(first, data), key=lambda group: _order(first.of(group)))
    rows = [_row(group, first.of(group), kinds, axis, results) for group in graphs]
    means = [_mean(kind, first.tallies[kind], kinds, axis) for kind in kinds] if len(rows) > 1 else []
    return Dots(
        heading="Speedup over fp64",
        series=tuple(SERIES[kind] for kind in kinds),
        ticks=axis.ticks(),
        one=axis.at(1.0),
        heads=(FP64_RUN, *kinds),
        rows=(*rows, *means),
        what="graph",
        wide=(FP64_RUN, *([PAPERS] if len(kinds) > 1 else [])),
        note="bar: 95 % CI",
        verdicts=True,
    )


def _axis(first: Comparisons) -> Axis:
    return log_axis(pair.speedup for tally in first.tallies.values() for pair in tally.pairs)


def _order(pairs: Mapping[str, Pair]) -> tuple[bool, float]:
    """Return a sort key: graphs without adaptive runs last."""
    adaptive = pairs.get(ADAPTIVE)
    return adaptive is None, -(adaptive or next(iter(pairs.values()))).speedup


def _row(group: RunGroup, pairs: Mapping[str, Pair], kinds: Sequence[str], axis: Axis, results: Results) -> DotRow:
    full = group.fastest_full
    return DotRow(
        name=results.data.matrix(group.matrix_id).name,
        href=opened(results, group.matrix_id),
        dots=tuple(_dot(kind, pairs[kind], axis) for kind in kinds if kind in pairs),
        values=(
            DotValue(units.seconds(full.measurement.median_s) if full else units.MISSING),
            *(_value(pairs.get(kind)) for kind in kinds),
        ),
        is_open=is_open(results, group.matrix_id),
    )


def _dot(kind: str, pair: Pair, axis: Axis) -> Dot:
    low, high = pair.interval or (None, None)
    return axis.dot(pair.speedup, SERIES[kind].form, pair.verdict, low=low, high=high)


def _value(pair: Pair | None) -> DotValue:
    return DotValue(f"{pair.speedup:.2f}", pair.verdict) if pair else DotValue(units.MISSING)


def _mean(kind: str, tally: Tally, kinds: Sequence[str], axis: Axis) -> DotRow:
    """Return the row of a mean; its number stands in the column of its kind."""
    low, high = tally.interval or (None, None)
    values = (
        DotValue(f"{tally.mean:.2f}", low_high=interval(tally.interval)) if each == kind else DotValue("")
        for each in kinds
    )
    dot = axis.dot(tally.mean, SERIES[kind].form, "of-none", low=low, high=high)
    return DotRow(f"mean, {kind}", "", (dot,), (DotValue(""), *values), is_summary=True)


def _notes(first: Comparisons, data: StudyData) -> tuple[str, ...]:
    tallies = first.tallies
    runs = {pair.other.measurement.case for tally in tallies.values() for pair in tally.pairs}
    notes = [f"The ranks of {amount(len(runs), 'compared run')} are verified. Open a graph for the checks."]
    axis = _axis(first)
    for kind, tally in tallies.items():
        inside = [pair for pair in tally.pairs if axis.holds(pair.speedup)]
        if inside and len(inside) < len(tally.pairs):
            outside = [data.matrix(pair.matrix_id).name for pair in tally.pairs if pair not in inside]
            mean = units.ratio(Tally(tuple(inside)).mean)
            notes.append(f"{capital(kind)} without {join(outside, NAMED)}: {mean}.")
    noisy = [group for group in _all_groups(first, data) if is_noisy(group)]
    if noisy:
        notes.append(f"Timings of {amount(len(noisy), 'more graph')} are too noisy to compare.")
    if len(_groups(first, data)) > 1:
        notes.append("Mean: geometric mean, with a bootstrapped 95 % CI over the graphs.")
    return tuple(notes)


def _other(each: Comparisons, first: str) -> list[str]:
    """Return a sentence per kind on lower triangles, or on another device than the first one."""
    device = measured_on(each.device) if each.device != first else ""
    where = capital(", ".join(filter(None, (device, triangles(each.triangle)))))
    tallies = each.tallies.items()
    return [f"{where}: {kind} {units.ratio(tally.mean)}, {wins(tally.verdicts, 'graphs')}." for kind, tally in tallies]
