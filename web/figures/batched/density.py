"""Throughput by mean row length, over matrices with equal numbers of rows; Figure 4 of the batched SpMV paper."""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import BATCH, BatchGroup, batch_groups, is_balanced, largest
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.ranking import join
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import blank, log_axis
from web.figures.batched.markers import FACET, Point, in_order, left_out, line_panels

PANEL_PX = 300
PANELS_MAX = 6
NO_FAMILY = (
    "No two balanced or two unbalanced matrices have equally many rows and different row lengths. "
    "Generate some to see the effect of density."
)


@dataclass(frozen=True, slots=True)
class Family:
    """Matrices that differ in their density and little else, by ascending mean row length.

    points  x: the mean row length; sigmas: standard deviations of the row lengths
    """

    device: str
    cache: str
    batch_size: int
    n_rows: int
    balanced: bool
    points: tuple[Point, ...]
    sigmas: tuple[float | None, ...]

    @property
    def rows_are(self) -> str:
        """Return `balanced` or `unbalanced`."""
        return "balanced" if self.balanced else "unbalanced"

    @property
    def title(self) -> str:
        """Return the title of the panel; the summary has the batch size."""
        return f"{units.count(self.n_rows)} rows, {self.rows_are} · {self.device} · {self.cache}"


@dataclass(frozen=True, slots=True)
class Density:
    """The families with at least two mean row lengths, the largest first."""

    families: tuple[Family, ...]


def info(data: StudyData) -> Density:
    """Return uniform batches of each matrix, of the selected size or the largest, grouped to families."""
    families: dict[tuple[str, str, int, int, bool], list[BatchGroup]] = {}
    for group in largest(batch_groups(data), data.number(BATCH)):
        known = data.matrix(group.matrix_id)
        balanced = is_balanced(known)
        if group.compose == "uniform" and group.timed and balanced is not None:
            key = group.device, group.cache, group.batch_size, known.n_rows, balanced
            families.setdefault(key, []).append(group)
    every = (_family(key, groups, data) for key, groups in families.items())
    several = (family for family in every if len({point.x for point in family.points}) > 1)
    return Density(tuple(sorted(several, key=lambda family: (-len(family.points), not family.balanced))))


def draw(info: Density) -> go.Figure:
    """Return GFLOP/s over the mean row length, a line per kernel, with panels for balanced and unbalanced matrices."""
    families = info.families[:PANELS_MAX]
    if not families:
        return blank(NO_FAMILY)
    figure = line_panels([family.title for family in families], [family.points for family in families], PANEL_PX)
    for row, family in enumerate(families, start=1):
        axis = log_axis([point.x for point in family.points], least_span=4.0)
        figure.update_xaxes(**axis.settings, row=row, col=1)
    figure.update_xaxes(title_text="mean row length", title_standoff=4, row=len(families), col=1)
    return figure


def table(info: Density) -> Table:
    """Return a row per matrix by ascending mean row length, a column per kernel."""
    kernels = in_order(kernel for family in info.families for point in family.points for kernel in point.kernels)
    heads = (*FACET, Head("rows are", numeric=False), Head("batch size"), Head("rows"), Head("ave"), Head("σ"))
    rows = []
    for family in info.families:
        size = units.count(family.batch_size), units.count(family.n_rows)
        for point, sigma in zip(family.points, family.sigmas, strict=True):
            rates = units.column([m.gflops if (m := point.kernels.get(kernel)) else None for kernel in kernels])
            lengths = units.number(point.x), units.number(sigma)
            rows.append((point.name, family.device, family.cache, family.rows_are, *size, *lengths, *rates))
    return Table((*heads, *(Head(kernel, "GFLOP/s") for kernel in kernels)), tuple(rows))


def summary(info: Density) -> str:
    """Return what the lines are, and the definition of balanced."""
    if not info.families:
        return NO_FAMILY
    sizes = sorted({family.batch_size for family in info.families})
    return (
        "Matrices with equally many rows and different row lengths. Balanced: σ is below a tenth of the mean. "
        f"Batch size: {join([units.count(size) for size in sizes])}.{left_out(PANELS_MAX, len(info.families))}"
    )


def _family(key: tuple[str, str, int, int, bool], groups: list[BatchGroup], data: StudyData) -> Family:
    known = sorted(((data.matrix(group.matrix_id), group) for group in groups), key=lambda pair: pair[0].ave or 0.0)
    points = (Point(matrix.ave or 0.0, matrix.name, {m.kernel: m for m in group.timed}) for matrix, group in known)
    return Family(*key, tuple(points), tuple(matrix.sigma for matrix, _ in known))
