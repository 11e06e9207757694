"""Lines of batches: speedup over the best library kernel as the batch of one matrix grows."""

import math
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise

from gpu_engine.findings.batched.flexible import Flexible
from gpu_engine.findings.batched.groups import BatchGroup, batch_groups, name_of
from gpu_engine.findings.batched.outlook import FLEXIBLE
from gpu_engine.findings.batched.paper import SIMILAR
from gpu_engine.findings.data import StudyData
from gpu_engine.text import units
from web.palette import mark_of
from web.plots.lines import Curve, Frame, Lines, line_plot, ratio_range

SIZES_MIN, LINES_MAX, RATIO_MAX = 3, 5, 10.0
"""Least number of batch sizes, maximum number of lines, and the largest ratio on the axis."""


def growth(first: Flexible, data: StudyData) -> Lines | None:
    """Return the lines of a matrix of the paper if possible; None without a matrix with several batch sizes."""
    series: dict[str, list[BatchGroup]] = {}
    for group in batch_groups(data):
        if (group.device, group.cache, group.compose) == (first.device, first.cache, "uniform") and group.peer:
            series.setdefault(group.matrix_id, []).append(group)
    candidates = [groups for groups in series.values() if len(groups) >= SIZES_MIN and groups[-1].of(FLEXIBLE)]
    if not candidates:
        return None
    return _lines(min(candidates, key=lambda groups: _order(name_of(groups[0], data), len(groups))), data)


def _order(name: str, sizes: int) -> tuple[bool, int]:
    """Return a sort key: matrices of the paper first, then those with the most sizes."""
    return not name.startswith(tuple(SIMILAR)), -sizes


def _lines(groups: list[BatchGroup], data: StudyData) -> Lines:
    points = {
        kernel: known
        for kernel in _kernels(groups[-1])
        if len(known := {group.batch_size: _ratio(group, kernel) for group in groups if group.of(kernel)}) > 1
    }
    sizes = [group.batch_size for group in groups]
    name = name_of(groups[0], data)
    ends = ", ".join(f"{kernel} {units.ratio(known[max(known)])}" for kernel, known in points.items())
    return line_plot(
        Frame((sizes[0], sizes[-1]), ratio_range((r for known in points.values() for r in known.values()), RATIO_MAX)),
        [Curve(kernel, *mark_of(kernel), _interpolated(points[kernel]), dashed) for kernel, dashed in _dashed(points)],
        heading=f"Speedup over the best library kernel as the batch grows: {name}",
        note="",
        x_label="matrices per launch",
        cursor=None,
        crossings=(),
        summary=f"Speedup over the best library kernel with {units.count(sizes[-1])} matrices: {ends}.",
    )


def _kernels(group: BatchGroup) -> list[str]:
    """Return the flexible kernel and the fastest other ones of the largest batch."""
    return list(dict.fromkeys((FLEXIBLE, *(m.kernel for m in group.ours))))[:LINES_MAX]


def _dashed(kernels: Iterable[str]) -> list[tuple[str, bool]]:
    """Return each kernel with whether its line is dashed, because an earlier one has its color."""
    colors = [(kernel, mark_of(kernel)[0]) for kernel in kernels]
    return [(kernel, color in [other for _, other in colors[:place]]) for place, (kernel, color) in enumerate(colors)]


def _ratio(group: BatchGroup, kernel: str) -> float:
    m = group.of(kernel)
    return group.peer.median_s / m.median_s if group.peer and group.peer.median_s and m and m.median_s else 1.0


def _interpolated(known: Mapping[int, float]) -> Callable[[float], float]:
    """Return the ratio at any batch size: straight lines between the measured ones on both logarithmic axes."""
    points = [(math.log(size), math.log(ratio)) for size, ratio in sorted(known.items())]

    def ratio(size: float) -> float:
        at = math.log(size)
        for (left, low), (right, high) in pairwise(points):
            if left <= at <= right:
                return math.exp(low + (high - low) * (at - left) / (right - left))
        return math.exp(points[0 if at < points[0][0] else -1][1])

    return ratio
