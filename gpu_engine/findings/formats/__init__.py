"""Findings of the `formats` study: one per matrix, device, and cache state."""

import math
from collections.abc import Sequence
from functools import lru_cache, partial

from gpu_engine.findings.data import FINDINGS_CACHED, StudyData, op_of
from gpu_engine.findings.finding import (
    INTERVAL,
    Finding,
    against,
    common_axes,
    row_of,
    share,
    share_text,
    with_energy,
    with_intervals,
)
from gpu_engine.findings.formats import reproducibility
from gpu_engine.findings.formats.csr_kernels import fastest_csr
from gpu_engine.findings.formats.groups import (
    OF_TRANSPOSE,
    Facet,
    baseline_of,
    group_by_facet,
    once_s,
    products_to_pay,
    without_duplicates,
)
from gpu_engine.findings.overall_ranking import ComparisonGroup
from gpu_engine.findings.ranking import Ranking, rank
from gpu_engine.records import TRANSPOSED, Measurement
from gpu_engine.rounds import shows_interval
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table


@lru_cache(FINDINGS_CACHED)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """Return a finding per matrix, device, and cache state, in order of appearance."""
    return tuple(_finding(facet, group, data) for facet, group in group_by_facet(data.measurements).items())


def contests(data: StudyData) -> tuple[ComparisonGroup, ...]:
    """Return a comparison group per matrix, device, and cache state."""
    return tuple(_contest(facet, group, data) for facet, group in group_by_facet(data.measurements).items())


def _contest(facet: Facet, group: Sequence[Measurement], data: StudyData) -> ComparisonGroup:
    distinct = without_duplicates(group)
    baseline = baseline_of([m for m in group if m.state == "ok"], data.baseline)
    name, entrants = data.matrix(facet[0]).name, {m.kernel: m for m in distinct}
    label = baseline.kernel if baseline else ""
    return ComparisonGroup(name, *facet[1:], entrants, rank(distinct), label, _of(group), without="conversion")


def _of(group: Sequence[Measurement]) -> str:
    """Return the label of SpMVs with the transpose; empty for A."""
    return OF_TRANSPOSE if op_of(group[0]) == TRANSPOSED else ""


def _finding(facet: Facet, group: Sequence[Measurement], data: StudyData) -> Finding:
    subject, device, cache = facet
    timed = [m for m in group if m.state == "ok"]
    baseline = baseline_of(timed, data.baseline)
    ranking = rank(without_duplicates(timed))
    leaders = {m.kernel for m in ranking.leaders}
    if baseline:
        parts = _sentence(ranking, baseline), _undecided(timed), reproducibility.sentence(group)
        sentences = tuple(filter(None, parts))
    else:
        sentences = ("No kernel was timed.",)
    return Finding(
        study="formats",
        matrix_id=group[0].matrix_id,
        device=device,
        cache=cache,
        title=data.matrix(subject).name,
        axes=common_axes(group),
        leaders=tuple(m.kernel for m in ranking.leaders),
        decided=ranking.decided,
        busy=ranking.busy,
        sentences=sentences,
        baseline=baseline.kernel if baseline else "",
        rows=tuple(row_of(m, m.kernel, m.kernel in leaders, baseline) for m in group),
        tabulate=partial(_numbers, group, baseline if data.baseline else fastest_csr(timed) or baseline),
        facts=(
            ("roofline", units.seconds(next((m.roofline_s for m in timed), None))),
            ("gather probe", units.seconds(next((m.gather_probe_s for m in timed), None))),
        ),
        members=(group[0].matrix_id,),
        of=_of(group),
    )


def _sentence(ranking: Ranking, baseline: Measurement) -> str:
    best = ranking.measurements[0]
    # If the baseline itself is fastest, its speedup over the next kernel is the interesting number.
    others = (m for m in ranking.measurements if m not in ranking.leaders)
    rival = next(others, None) if baseline in ranking.leaders else baseline
    facts = (
        units.gflops(best.gflops),
        f"{units.percent(of_roofline)} of roofline"
        if (of_roofline := share(best.roofline_s, best)) is not None
        else "",
        against(rival, best) if rival is not None and rival not in ranking.unsettled else "",
    )
    return ranking.sentence(lambda m: m.kernel, f"on {best.device}, {best.cache}", facts)


def _undecided(timed: Sequence[Measurement]) -> str:
    """Return why verdicts are impossible on times without rounds; empty if they are possible."""
    single = not any(m.ci_low_s or m.few_rounds_s for m in timed)
    return "These are single timings without confidence intervals, so all verdicts are inconclusive." if single else ""


def _numbers(group: Sequence[Measurement], baseline: Measurement | None) -> Table:
    """Return the numbers of each measurement; a column has one unit and one number of decimals.

    baseline  of the break-even: the chosen kernel, else the fastest one of CSR
    """
    timed = [m for m in group if m.median_s]
    time = units.unit_for([m.median_s for m in timed], units.TIME)
    size = units.unit_for([m.stored_bytes for m in timed], units.SIZE)
    times = units.column([units.scaled(t, time) for m in group for t in (m.median_s, *_ends(m))])
    vs = f" vs {baseline.kernel}" if baseline else ""
    columns = (
        (Head("throughput", "GFLOP/s"), units.column([m.gflops for m in group])),
        (Head("median", time.symbol), times[0::3]),
        (
            Head(INTERVAL, time.symbol),
            list(map(_interval, group, times[1::3], times[2::3])),
        ),
        (Head("% of roofline"), [share_text(m.roofline_s, m) for m in group]),
        (Head("% of gather probe"), [share_text(m.gather_probe_s, m) for m in group]),
        (Head("storage", size.symbol), units.column([units.scaled(m.stored_bytes, size) for m in group])),
        (Head("conversion", "from CSR"), [_conversion(m) for m in group]),
        (Head("break-even", f"SpMVs{vs}"), [_break_even(m, baseline) for m in group]),
        (Head("max error", "ε(|A||x|)"), units.column([m.max_error for m in group])),
        *(
            [(reproducibility.HEAD, bitwise_reproducible)]
            if (bitwise_reproducible := reproducibility.cells(group))
            else ()
        ),
    )
    heads, cells = zip(*columns, strict=True)
    return with_energy(with_intervals(Table(heads, tuple(zip(*cells, strict=True))), group), group)


def _ends(m: Measurement) -> tuple[float | None, float | None]:
    """Return the ends of the CI in seconds; with too few rounds for one, the fastest and the slowest round."""
    return m.shown_ci_s if shows_interval(m.rounds) else (m.min_s, m.max_s)


def _interval(m: Measurement, low: str, high: str) -> str:
    """Return the cell of the CI column; low, high: its ends, formatted for the column."""
    spread = units.MISSING if units.MISSING in (low, high) else low if low == high else f"{low} – {high}"
    return spread if m.rounds is None or shows_interval(m.rounds) else units.rounds_text(m.rounds, spread)


def _conversion(m: Measurement) -> str:
    return "none" if once_s(m) == 0 else units.seconds(once_s(m))


def _break_even(m: Measurement, baseline: Measurement | None) -> str:
    spmvs = products_to_pay(m, baseline)
    if baseline is None or m.kernel == baseline.kernel or spmvs is None:
        return units.MISSING
    if math.isinf(spmvs):
        return "never"
    return units.count(spmvs) if spmvs else "immediate"
