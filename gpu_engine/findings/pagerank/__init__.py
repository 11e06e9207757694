"""Findings of the `pagerank` study: the fastest run, the speedup of reduced precision, and verified ranks."""

from collections.abc import Sequence
from functools import lru_cache, partial

from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.finding import (
    INTERVAL,
    Finding,
    against,
    interval_text,
    row_of,
    share_text,
    with_energy,
    with_intervals,
)
from gpu_engine.findings.overall_ranking import ComparisonGroup
from gpu_engine.findings.pagerank.checks import are_equal
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
from gpu_engine.text.words import capital

HEADS = (
    Head("ranks", numeric=False),
    Head("iterations"),
    Head("iterations", "by segments"),
    Head("time", "median"),
    Head(INTERVAL),
    Head("% of roofline"),
    Head("speedup", "same kernel in fp64"),
    Head("upper bound", "by bytes"),
    Head("residual"),
    Head("distance", "from fp64"),
    Head("top-k agreement", "top pages"),
    Head("mass error"),
    Head("note", numeric=False),
)

TOP_PAGES = 10
"""Number of top pages listed per matrix."""


@lru_cache(FINDINGS_CACHED)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """Return a finding per matrix, device, and PageRank parameters; only runs with verified ranks are ranked."""
    return tuple(_finding(group, data) for group in run_groups(data))


def contests(data: StudyData) -> tuple[ComparisonGroup, ...]:
    """Return a comparison group per matrix, device, and PageRank parameters.

    Lower triangles have an overall ranking of their own, as in the paper, because some kernels run only on them.
    """
    return tuple(_contest(group, data) for group in run_groups(data))


def _contest(group: RunGroup, data: StudyData) -> ComparisonGroup:
    full = group.fastest_full
    return ComparisonGroup(
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
    """Return the ranking of the runs with verified ranks; the other runs count only for the noise check."""
    return _rankings(data)[group.matrix_id, group.device, group.parameters]


@lru_cache(FINDINGS_CACHED)
def _rankings(data: StudyData) -> dict[tuple[str, str, str], Ranking]:
    """Return the rankings by (matrix id, device, parameters)."""
    return {
        (group.matrix_id, group.device, group.parameters): rank(
            [run.measurement for run in _right(group, data)], [run.measurement for run in group.timed]
        )
        for group in run_groups(data)
    }


def top_pages(data: StudyData) -> Table:
    """Return a table of the highest-ranked pages in fp64 per matrix, and the number of runs that agree."""
    heads = (Head("matrix", numeric=False), Head("device", numeric=False), Head("position"), Head("page"), Head("rank"))
    rows: list[tuple[str, ...]] = []
    for group in run_groups(data):
        listed = [run for run in group.runs if run.measurement.details.top_pages]
        if listed:
            first = next((run for run in listed if run.precision == FP64), listed[0])
            names = data.matrix(group.matrix_id).name, group.device
            rows += [(*names, *cells) for cells in _top_pages(first.measurement, listed)]
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
        first = "No run converged to verified ranks."
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
    """Return the speedup and the ranks of the fastest run of each kind; without such runs, the ranks of the fastest."""
    best = {kind: run for kind, belongs in KINDS.items() if (run := group.fastest(belongs, n))}
    if not best:
        return (_ranks(group, right[0], n),) if right else ()
    pairs = ((_gain(group, kind, run), _ranks(group, run, n)) for kind, run in best.items())
    return tuple(sentence for pair in pairs for sentence in pair)


def _gain(group: RunGroup, kind: str, best: Run) -> str:
    """Return both speedups, because the speedup over the same kernel alone would flatter."""
    plain, fastest = group.plain(best), group.fastest_full
    begin = f"Fastest run with {kind}: {group.label(best)}, "
    if plain is not None and plain is fastest:
        return f"{begin}{_against(best, plain)}, which is the same kernel and the fastest run in fp64."
    same = f"{_against(best, plain)}, the same kernel in fp64" if plain else "the same kernel was not timed in fp64"
    over_fastest = f"{_against(best, fastest)}, the fastest run in fp64" if fastest else "no run was timed in fp64"
    return f"{begin}{same}. {capital(over_fastest)}."


def _against(run: Run, base: Run) -> str:
    return against(base.measurement, run.measurement)


def _ranks(group: RunGroup, run: Run, n: int) -> str:
    m, plain = run.measurement, group.plain(run) or group.fastest_full
    counts = m.details.iterations_by_segments
    notes = [f"{by_segments(counts)} by segments"] if counts else []
    if plain and plain is not run:
        notes.append(f"fp64: {units.count(plain.measurement.details.iterations)}")
    suffix = f" ({'; '.join(notes)})" if notes else ""
    text = f"{units.count(m.details.iterations)} iterations{suffix}"
    text += f". Ranks verified: residual {power(m.details.residual)} < {power(tolerance(run, n))}"
    return f"{text}{_difference_from_fp64(run)}."


def _difference_from_fp64(run: Run) -> str:
    details = run.measurement.details
    if run.precision == FP64 or details.distance is None:
        return ""
    return f", distance {power(details.distance)} from fp64{_top(details)}"


def _top(details: PageRankDetails) -> str:
    """Return the top-k agreement with fp64; `at least` for records without `top_k_slack`, which miss equal ranks."""
    agreement = details.top_k_agreement
    if agreement is None:
        return ""
    pages = f"top {units.count(len(details.top_pages))} pages" if details.top_pages else "top pages"
    if _is_regular(details):
        return f", the {pages} have equal ranks"
    prefix = "at least " if details.top_k_slack is None and agreement < 1 else ""
    return f", {prefix}{units.percent(agreement)} of the {pages} agree with fp64"


def _is_regular(details: PageRankDetails) -> bool:
    """Return whether the top ranks are all equal; False for records without `top_k_slack`."""
    return details.top_k_slack is not None and are_equal(details.top_ranks, details.top_k_slack)


def _wrong(group: RunGroup, n: int) -> tuple[str, ...]:
    """Return a sentence on the runs without verified ranks; none if all are verified."""
    wrong = [run for run in group.timed if not is_right(run, n)]
    if not wrong:
        return ()
    names = [f"{group.label(run)} (residual {power(run.measurement.details.residual)})" for run in wrong]
    return (f"Excluded (residual above ε): {join(names, NAMED)}.",)


def _numbers(group: RunGroup, n: int) -> Table:
    rows = tuple(_cells(run, group, n) for run in group.runs)
    measurements = [run.measurement for run in group.runs]
    return with_energy(with_intervals(Table(HEADS, rows), measurements), measurements)


def _cells(run: Run, group: RunGroup, n: int) -> tuple[str, ...]:
    m, details = run.measurement, run.measurement.details
    return (
        "" if not m.median_s else "verified" if is_right(run, n) else "residual above ε",
        units.count(details.iterations),
        by_segments(details.iterations_by_segments) or units.MISSING,
        units.seconds(m.median_s),
        interval_text(m),
        share_text(m.roofline_s, m),
        units.ratio(speed_up(group.plain(run), run)),
        units.ratio(group.bound(run)),
        power(details.residual),
        power(details.distance),
        units.MISSING if _is_regular(details) else units.percent(details.top_k_agreement),
        power(details.mass_error),
        m.note,
    )


def _top_pages(first: Measurement, listed: Sequence[Run]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    pages = list(zip(first.details.top_pages, first.details.top_ranks, strict=False))
    for number, (page, value) in enumerate(pages[:TOP_PAGES]):
        same = sum(run.measurement.details.top_pages[number : number + 1] == (page,) for run in listed)
        rows.append((str(number + 1), units.count(page), power(value), f"{same} of {len(listed)}"))
    return rows
