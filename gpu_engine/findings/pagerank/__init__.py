"""Findings of the `pagerank` study: which run is fastest, what segments gain, whether the ranks are right."""

from collections.abc import Sequence
from functools import lru_cache, partial

from gpu_engine.findings.answer import Contest
from gpu_engine.findings.data import KEPT, StudyData
from gpu_engine.findings.finding import (
    INTERVAL,
    Finding,
    against,
    interval_text,
    row_of,
    share_text,
    with_energy,
    with_interval_head,
)
from gpu_engine.findings.pagerank.runs import (
    FP64,
    KINDS,
    Run,
    RunGroup,
    by_segments,
    is_right,
    power,
    run_groups,
    speed_up,
    tolerance,
    triangles,
)
from gpu_engine.findings.ranking import NAMED, Ranking, join, rank
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

HEADS = (
    Head("ranks", numeric=False),
    Head("iterations"),
    Head("iterations", "by segments"),
    Head("time", "median"),
    Head(INTERVAL),
    Head("share of", "floor"),
    Head("speed-up", "same kernel in fp64"),
    Head("bound", "by bytes"),
    Head("residual"),
    Head("distance", "from fp64"),
    Head("top-k agreement", "top pages"),
    Head("mass error"),
    Head("note", numeric=False),
)

PLACES = 10
"""Top pages of a matrix that are listed."""


@lru_cache(KEPT)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """A finding per matrix, device and parameters of PageRank: only runs whose ranks are right compete."""
    return tuple(_finding(group, data) for group in run_groups(data))


def contests(data: StudyData) -> tuple[Contest, ...]:
    """A contest per matrix, device and parameters of PageRank, as the findings have them.

    Lower triangles are answered by themselves, as in the paper: a kernel that ran on them alone is behind on no other.
    """
    return tuple(_contest(group, data) for group in run_groups(data))


def _contest(group: RunGroup, data: StudyData) -> Contest:
    full = group.fastest_full
    return Contest(
        _title(group, data),
        group.device,
        "warm",
        {group.label(run): run.measurement for run in group.runs},
        ranking_of(group, data),
        group.label(full) if full else "",
        triangles(group.triangle),
    )


def _title(group: RunGroup, data: StudyData) -> str:
    return ", ".join(filter(None, (data.matrix(group.matrix_id).name, group.parameters)))


def _right(group: RunGroup, data: StudyData) -> list[Run]:
    n = data.matrix(group.matrix_id).n_rows
    return [run for run in group.timed if is_right(run, n)]


def ranking_of(group: RunGroup, data: StudyData) -> Ranking:
    """Return the ranking of the runs whose ranks are right; the others too tell whether the machine was busy."""
    return _rankings(data)[group.matrix_id, group.device, group.parameters]


@lru_cache(KEPT)
def _rankings(data: StudyData) -> dict[tuple[str, str, str], Ranking]:
    """By the places of the groups."""
    return {
        (group.matrix_id, group.device, group.parameters): rank(
            [run.measurement for run in _right(group, data)], [run.measurement for run in group.timed]
        )
        for group in run_groups(data)
    }


def top_pages(data: StudyData) -> Table:
    """The highest ranks of each matrix in fp64, and how many of the runs have the same page in that place."""
    heads = (Head("matrix", numeric=False), Head("device", numeric=False), Head("place"), Head("page"), Head("rank"))
    rows: list[tuple[str, ...]] = []
    for group in run_groups(data):
        listed = [run for run in group.runs if run.measurement.details.top_pages]
        if listed:
            first = next((run for run in listed if run.precision == FP64), listed[0])
            own = data.matrix(group.matrix_id).name, group.device
            rows += [(*own, *line) for line in _places(first.measurement, listed)]
    return Table((*heads, Head("same page", "runs")), tuple(rows))


def _finding(group: RunGroup, data: StudyData) -> Finding:
    matrix = data.matrix(group.matrix_id)
    right, ranking = _right(group, data), ranking_of(group, data)
    labels = {run.measurement.case: group.label(run) for run in group.runs}
    full = group.fastest_full
    leaders = {m.case for m in ranking.leaders}
    if right:
        under = f", {group.parameters}" if group.parameters else ""
        facts = [f"{units.seconds(ranking.measurements[0].median_s)} to convergence"]
        first = ranking.sentence(lambda m: labels[m.case], f"on {group.device}{under}", facts)
    else:
        first = "No run here has a time and the right ranks."
    base = full.measurement if full else None
    return Finding(
        study="pagerank",
        matrix_id=group.matrix_id,
        device=group.device,
        cache="warm",
        title=_title(group, data),
        axes=group.axes,
        leaders=tuple(labels[m.case] for m in ranking.leaders),
        decided=ranking.decided,
        busy=ranking.busy,
        sentences=(first, *_on_kinds(group, right, matrix.n_rows), *_wrong(group, matrix.n_rows)),
        baseline=group.label(full) if full else "",
        rows=tuple(row_of(r.measurement, group.label(r), r.measurement.case in leaders, base) for r in group.runs),
        tabulate=partial(_numbers, group, matrix.n_rows),
        members=(group.matrix_id,),
    )


def _on_kinds(group: RunGroup, right: Sequence[Run], n: int) -> tuple[str, ...]:
    """What the fastest run of each kind gains and whether its ranks are right; without one those of the fastest."""
    best = {kind: run for kind, belongs in KINDS.items() if (run := group.fastest(belongs, n))}
    if not best:
        return (_ranks(group, right[0], n),) if right else ()
    pairs = ((_gain(group, kind, run), _ranks(group, run, n)) for kind, run in best.items())
    return tuple(sentence for pair in pairs for sentence in pair)


def _gain(group: RunGroup, kind: str, best: Run) -> str:
    """Both ratios always: the gain over the same kernel alone would flatter."""
    plain, fastest = group.plain(best), group.fastest_full
    begin = f"The fastest run with {kind} is {group.label(best)}: "
    if plain is not None and plain is fastest:
        return f"{begin}{_against(best, plain)}, the same kernel in fp64 and the fastest run in fp64."
    own = f"{_against(best, plain)}, the same kernel in fp64" if plain else "the same kernel has no time in fp64"
    all_ = f"{_against(best, fastest)}, the fastest run in fp64" if fastest else "no run in fp64 has a time"
    return f"{begin}{own}; {all_}."


def _against(run: Run, base: Run) -> str:
    return against(base.measurement, run.measurement)


def _ranks(group: RunGroup, run: Run, n: int) -> str:
    m, plain = run.measurement, group.plain(run) or group.fastest_full
    counts = m.details.iterations_by_segments
    said = f"{units.count(m.details.iterations)} iterations{f' ({by_segments(counts)} by segments)' if counts else ''}"
    if plain and plain is not run:
        said += f" against {units.count(plain.measurement.details.iterations)} in fp64"
    said += f"; the ranks are right: residual {power(m.details.residual)} under {power(tolerance(run, n))}"
    return f"{said}{_beside_fp64(run)}."


def _beside_fp64(run: Run) -> str:
    own = run.measurement.details
    if run.precision == FP64 or own.distance is None:
        return ""
    return f", distance {power(own.distance)} from those in fp64{_top(own)}"


def _top(own: PageRankDetails) -> str:
    """How many of the top pages fp64 has too; records without `top_k_slack` counted pages of equal rank as others."""
    if own.top_k_agreement is None:
        return ""
    pages = f"top {units.count(len(own.top_pages))} pages" if own.top_pages else "top pages"
    share_ = f"{'at least ' if own.top_k_slack is None and own.top_k_agreement < 1 else ''}{units.percent(own.top_k_agreement)}"
    return f", {share_} of the {pages} the same"


def _wrong(group: RunGroup, n: int) -> tuple[str, ...]:
    """A sentence on the runs that ended without the right ranks, faster or not; none where there are none."""
    wrong = [run for run in group.timed if not is_right(run, n)]
    if not wrong:
        return ()
    names = [f"{group.label(run)} (residual {power(run.measurement.details.residual)})" for run in wrong]
    return (f"Not ranked, the ranks not being right to ε: {join(names, NAMED)}.",)


def _numbers(group: RunGroup, n: int) -> Table:
    rows = tuple(_cells(run, group, n) for run in group.runs)
    measurements = [run.measurement for run in group.runs]
    return with_energy(Table(with_interval_head(HEADS, measurements), rows), measurements)


def _cells(run: Run, group: RunGroup, n: int) -> tuple[str, ...]:
    m, own = run.measurement, run.measurement.details
    return (
        "" if not m.median_s else "right" if is_right(run, n) else "not right to ε",
        units.count(own.iterations),
        by_segments(own.iterations_by_segments) or units.MISSING,
        units.seconds(m.median_s),
        interval_text(m),
        share_text(m.roofline_s, m),
        units.ratio(speed_up(group.plain(run), run)),
        units.ratio(group.bound(run)),
        power(own.residual),
        power(own.distance),
        units.percent(own.top_k_agreement),
        power(own.mass_error),
        m.note,
    )


def _places(first: Measurement, listed: Sequence[Run]) -> list[tuple[str, ...]]:
    lines: list[tuple[str, ...]] = []
    pages = list(zip(first.details.top_pages, first.details.top_ranks, strict=False))
    for number, (page, value) in enumerate(pages[:PLACES]):
        same = sum(run.measurement.details.top_pages[number : number + 1] == (page,) for run in listed)
        lines.append((str(number + 1), units.count(page), power(value), f"{same} of {len(listed)}"))
    return lines
