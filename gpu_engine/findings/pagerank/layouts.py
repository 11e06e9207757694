"""Speedup of layouts that the CPMS PageRank paper does not have, which it names as future work (Section VI)."""

from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.realizations import LAYOUTS
from gpu_engine.findings.pagerank.runs import FP64, RunGroup, has_right_ranks, run_groups

OTHER_LAYOUTS = ("sellp/thread", "split/tile")
"""Layouts for irregular graphs: SELL-C-σ, and tiles of nearly equal numbers of links."""


@dataclass(frozen=True, slots=True)
class LayoutGain:
    """Geometric-mean speedup of the faster other layout over the faster layout of the paper, fused and in fp64."""

    device: str
    speedup: float
    graphs: int


def layout_gains(data: StudyData) -> tuple[LayoutGain, ...]:
    """Return the speedup on complete graphs per device."""
    by_device: dict[str, list[float]] = {}
    for group in run_groups(data):
        papers, others = (_fastest(group, layouts, data) for layouts in (LAYOUTS, OTHER_LAYOUTS))
        if papers and others and not group.axes:
            by_device.setdefault(group.device, []).append(papers / others)
    return tuple(LayoutGain(device, geometric_mean(gains), len(gains)) for device, gains in by_device.items())


def _fastest(group: RunGroup, layouts: tuple[str, ...], data: StudyData) -> float | None:
    runs = (run for run in group.converged if run.precision == FP64 and run.layout in layouts)
    return next((run.measurement.median_s for run in runs if has_right_ranks(run, data)), None)
