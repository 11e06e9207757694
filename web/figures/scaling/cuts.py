"""Equal lines beside equal nonzeros where the matrix stays: the speed that the cut allows, and that which is measured.

Figure 6 of the MSREP paper. A part of the figure of `balance`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from web import units
from web.comparison import NAMED
from web.figures.panels import Legend
from web.figures.scaling.marks import bars, heading
from web.scaling import WorkGroup, in_words, work_groups
from web.scaling_cases import RESIDENT, imbalance
from web.shown import Shown

AXIS = "% of the speed of equal nonzeros"

KINDS = {"allowed by the cut": 4, "measured": 5}
"""The bars of a row, and the numbers of their looks, which no strategy and no resident product has."""


@dataclass(frozen=True, slots=True)
class Speed:
    """Of equal lines, in shares of the speed of equal nonzeros: what their cut allows, and what was measured."""

    devices: int
    allowed: float
    measured: float


Panel = tuple[WorkGroup, list[Speed]]


def compared(shown: Shown) -> list[Panel]:
    """Our resident products that were measured with both cuts, by number of devices."""
    found = [(group, _speeds(group)) for group in work_groups(shown, (RESIDENT,))]
    return [panel for panel in found if panel[1]]


def title(panel: Panel, shown: Shown) -> str:
    """Matrix, machine and kernel."""
    return heading(panel[0], shown, f"{panel[0].partitioning}/{RESIDENT}")


def labels(panel: Panel) -> list[str]:
    """The row of each number of devices."""
    return [in_words(speed.devices, virtual=False) for speed in panel[1]]


def rows(panel: Panel) -> int:
    """How many there are."""
    return len(panel[1])


def traces(panel: Panel, legend: Legend) -> list[go.Bar]:
    """Both shares in percent, a row a number of devices."""
    group, speeds = panel
    found = []
    for (kind, number), shares in zip(KINDS.items(), _shares(speeds), strict=True):
        drawn = [
            (label, 100 * share, f"<b>{label}</b><br>{kind}: {units.percent(share)}")
            for label, share in zip(labels((group, speeds)), shares, strict=True)
        ]
        found.append(bars(kind, number, drawn, legend))
    return found


def said(found: Sequence[Panel], shown: Shown) -> str:
    """A sentence a panel on the most devices."""
    sentences = []
    for group, speeds in found[:NAMED]:
        last = speeds[-1]
        where = f"{shown.matrix(group.matrix_id).name}, {group.device}, {group.partitioning}/{RESIDENT}"
        sentences.append(
            f" On {where}: with {in_words(last.devices, group.virtual)} equal rows allow {units.percent(last.allowed)} "
            f"of the speed of equal nonzeros, and reach {units.percent(last.measured)}."
        )
    return "".join(sentences)


def _shares(speeds: Sequence[Speed]) -> tuple[list[float], list[float]]:
    return [speed.allowed for speed in speeds], [speed.measured for speed in speeds]


def _speeds(group: WorkGroup) -> list[Speed]:
    numbers = sorted({m.devices or 0 for series in group.series for m in series.timed})
    return [speed for devices in numbers if (speed := _speed(group, devices))]


def _speed(group: WorkGroup, devices: int) -> Speed | None:
    found = group.baseline(devices)
    measured = group.cut_speed(*found) if found else None
    uneven = imbalance(found[1]) if found else None
    return Speed(devices, 1 / uneven, measured) if measured and uneven else None
