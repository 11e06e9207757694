"""Findings of the `spmm` study: the fastest kernel per number of columns, and one SpMM against k SpMVs."""

from collections.abc import Sequence
from functools import lru_cache
from statistics import geometric_mean

from gpu_engine.findings.data import FINDINGS_CACHED, StudyData
from gpu_engine.findings.finding import (
    INTERVAL,
    Finding,
    against,
    interval_text,
    share,
    share_text,
)
from gpu_engine.findings.overall_ranking import ComparisonGroup
from gpu_engine.findings.spmm.groups import SpmmGroup, order_text, spmm_groups
from gpu_engine.findings.spmm.names import label
from gpu_engine.findings.titled_group import contest_of, finding_of
from gpu_engine.records import Measurement
from gpu_engine.text import units
from gpu_engine.text.tables import Head
from gpu_engine.text.words import amount
from gpu_engine.verdicts.verdict import speedup_over

HEADS = (
    Head("throughput", "GFLOP/s"),
    Head("time", "median"),
    Head(INTERVAL),
    Head("time", "per column"),
    Head("% of roofline"),
    Head("storage"),
    Head("conversion", "from CSR"),
    Head("set-up", "for k columns"),
    Head("max error", "ε(|A||x|)"),
    Head("note", numeric=False),
)


@lru_cache(FINDINGS_CACHED)
def findings(data: StudyData) -> tuple[Finding, ...]:
    """Return a finding per matrix, device, cache state, order, and number of columns."""
    return tuple(finding_of(group, data, label, _sentences(group), HEADS, _cells) for group in spmm_groups(data))


def contests(data: StudyData) -> tuple[ComparisonGroup, ...]:
    """Return a comparison group per matrix, device, cache state, order, and number of columns."""
    return tuple(contest_of(group, data, label) for group in spmm_groups(data))


def overview(data: StudyData) -> tuple[str, ...]:
    """Return a sentence per device, cache state, order, and number of columns with several matrices."""
    by_setting: dict[tuple[str, str, str, int], list[SpmmGroup]] = {}
    for group in spmm_groups(data):
        if not group.ranking.busy:
            by_setting.setdefault((group.device, group.cache, group.order, group.k), []).append(group)
    return tuple(filter(None, (_on_matrices(groups) for groups in by_setting.values() if len(groups) > 1)))


def _on_matrices(groups: Sequence[SpmmGroup]) -> str:
    """Return the mean speedup over k SpMVs, and over the fastest library kernel."""
    over = [v.ratio for group in groups if (v := group.over_spmvs) and v.ratio]
    if not over:
        return ""
    first = groups[0]
    where = f"on {first.device}, {first.cache}{order_text(first.order)}"
    matrices = amount(len(over), "matrix", "matrices")
    text = f"{speedup_over(geometric_mean(over), amount(first.k, 'SpMV'))} {where} ({matrices})"
    library = [v.ratio for group in groups if (v := group.over_library) and v.ratio]
    rest = f", {units.ratio(geometric_mean(library))} over the fastest library kernel" if library else ""
    return f"One SpMM: {text}{rest}."


def _sentences(group: SpmmGroup) -> tuple[str, ...]:
    if not group.timed:
        note = next((m.note for m in group.measurements if m.note), "no reason was recorded")
        return (f"No kernel was timed: {note.rstrip('.')}.",)
    if group.ranking.busy:
        return (group.ranking.busy,)
    first = group.ranking.measurements[0]
    of_roofline = share(first.roofline_s, first)
    roofline = f"{units.percent(of_roofline)} of roofline" if of_roofline is not None else ""
    each = f"{units.seconds(_vector_s(first))} per column" if group.k > 1 else ""
    where = f"on {group.device}, {group.cache}, with {group.title}"
    sentence = group.ranking.sentence(lambda m: label(m.kernel), where, (units.gflops(first.gflops), roofline, each))
    return tuple(filter(None, (sentence, _over_spmvs(group), _over_library(group))))


def _over_spmvs(group: SpmmGroup) -> str:
    """Return the speedup of one SpMM over k SpMVs; empty without both."""
    if group.over_spmvs is None or group.spmm is None or group.spmvs is None:
        return ""
    kernel = label(group.spmvs.kernel).removeprefix("k × ")
    text = against(group.spmvs, group.spmm, f"{amount(group.k, 'SpMV')} with {kernel}")
    return f"One SpMM with {group.spmm.kernel}: {text}."


def _over_library(group: SpmmGroup) -> str:
    """Return the speedup of the fastest Sparsight kernel over the fastest library kernel; empty without both."""
    if group.over_library is None or group.spmm is None or group.library is None:
        return ""
    return f"{group.spmm.kernel}: {against(group.library, group.spmm)}, the fastest library kernel."


def _cells(m: Measurement) -> tuple[str, ...]:
    details = m.details
    return (
        units.number(m.gflops),
        units.seconds(m.median_s),
        interval_text(m),
        units.seconds(_vector_s(m)),
        share_text(m.roofline_s, m),
        units.size(m.stored_bytes),
        "none" if details.convert_s == 0 else units.seconds(details.convert_s),
        units.seconds(details.setup_s),
        units.number(m.max_error),
        m.note,
    )


def _vector_s(m: Measurement) -> float | None:
    return m.details.vector_s if m.median_s else None
