"""Tables of the `spmm` study: the fastest kernel per matrix and number of columns, and where one SpMM pays."""

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import share_text
from gpu_engine.findings.spmm.groups import SpmmGroup, crossover, series_of, spmm_groups
from gpu_engine.findings.spmm.names import ORDER_NAMES, label
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.verdicts.verdict import Verdict, verdict_text

PLACE = tuple(Head(text, numeric=False) for text in ("matrix", "device", "cache", "order"))

NOISY = "too noisy"
"""Fastest kernel of noisy timings."""


def by_columns(data: StudyData) -> Table:
    """Return a row per matrix and number of columns: the fastest kernel, and one SpMM against the alternatives."""
    heads = (
        *PLACE,
        Head("columns"),
        Head("fastest kernel", numeric=False),
        Head("time", "per column"),
        Head("% of roofline"),
        Head("fastest SpMM", numeric=False),
        Head("speedup", "vs k SpMVs"),
        Head("speedup", "vs library"),
    )
    return Table(heads, tuple(_row(group, data) for group in spmm_groups(data, every=True) if group.timed))


def crossovers(data: StudyData) -> Table:
    """Return a row per matrix: the number of columns from which one SpMM is faster than k SpMVs."""
    heads = (
        *PLACE,
        Head("columns measured"),
        Head("SpMM pays from", "columns"),
        Head("speedup", "at the most columns"),
    )
    rows = []
    for groups in series_of(spmm_groups(data, every=True)).values():
        compared = [group for group in groups if group.over_spmvs and not group.ranking.busy]
        if compared:
            smallest, measured = crossover(compared), ", ".join(str(group.k) for group in compared)
            pays = "never" if smallest is None else units.count(smallest)
            rows.append((*_place(groups[0], data), measured, pays, verdict_cell(compared[-1].over_spmvs)))
    return Table(heads, tuple(rows))


def verdict_cell(verdict: Verdict | None) -> str:
    """Return a speedup with its verdict: `1.25 × (faster)`."""
    if verdict is None or verdict.ratio is None:
        return units.MISSING
    return f"{units.ratio(verdict.ratio)} ({verdict_text(verdict.kind)})"


def _row(group: SpmmGroup, data: StudyData) -> tuple[str, ...]:
    first, busy = group.timed[0], bool(group.ranking.busy)
    return (
        *_place(group, data),
        units.count(group.k),
        NOISY if busy else label(first.kernel),
        units.seconds(first.details.vector_s),
        share_text(first.roofline_s, first),
        group.spmm.kernel if group.spmm else units.MISSING,
        verdict_cell(None if busy else group.over_spmvs),
        verdict_cell(None if busy else group.over_library),
    )


def _place(group: SpmmGroup, data: StudyData) -> tuple[str, str, str, str]:
    """Return the cells under PLACE."""
    return data.matrix(group.matrix_id).name, group.device, group.cache, ORDER_NAMES.get(group.order, group.order)
