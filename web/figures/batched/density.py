"""Throughput by mean row length, over matrices with equal numbers of rows; Figure 4 of the batched SpMV paper.

The matrices of Figure 4 have ORDER rows. If they were measured, only they are drawn; the table has all.
"""

from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.batched.groups import BATCH, CSR_LOOPS, BatchGroup, batch_groups, is_balanced, largest
from gpu_engine.findings.batched.paper import ORDER, is_engineered
from gpu_engine.findings.batched.trials import ON_CSR
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.ranking import join
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import blank, caption, log_axis
from web.figures.batched.markers import BALANCED_TEXT, FACET, Point, colored_among, in_order, left_out, line_panels

PANEL_PX = 300
PANELS_MAX = 6

COLORED = (*ON_CSR, CSR_LOOPS[0])
"""Kernels with a look of their own: those of Figure 4, the four on CSR and the loop of the standard one, in gray."""

NO_FAMILY = (
    "No two balanced or two unbalanced matrices have equally many rows and different row lengths. "
    "Generate some to see the effect of density."
)


@dataclass(frozen=True, slots=True)
class Family:
    """Matrices that differ in their density and little else, by ascending mean row length.

    is_printed  whether the matrices are as in Figure 4: see `is_engineered`
    points      x: the mean row length; sigmas: standard deviations of the row lengths
    """

    device: str
    cache: str
    batch_size: int
    n_rows: int
    balanced: bool
    is_printed: bool
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
    """The families with at least two mean row lengths, those as in Figure 4 first, then the largest."""

    families: tuple[Family, ...]

    @property
    def visible(self) -> tuple[Family, ...]:
        """Return the families as in Figure 4, or the first ones if there are none."""
        return (tuple(family for family in self.families if family.is_printed) or self.families)[:PANELS_MAX]


def info(data: StudyData) -> Density:
    """Return uniform batches of each matrix, of the selected size or the largest, grouped to families."""
    families: dict[tuple[str, str, int, int, bool, bool], list[BatchGroup]] = {}
    for group in largest(batch_groups(data), data.number(BATCH)):
        known = data.matrix(group.matrix_id)
        balanced = is_balanced(known)
        if group.compose == "uniform" and group.timed and balanced is not None:
            setting = group.device, group.cache, group.batch_size
            key = *setting, known.n_rows, balanced, is_engineered(group, data)
            families.setdefault(key, []).append(group)
    every = (_family(key, groups, data) for key, groups in families.items())
    several = (family for family in every if len({point.x for point in family.points}) > 1)
    return Density(tuple(sorted(several, key=_papers_first)))


def draw(info: Density) -> go.Figure:
    """Return GFLOP/s over the mean row length, a line per kernel, with panels for balanced and unbalanced matrices."""
    families = info.visible
    if not families:
        return blank(NO_FAMILY)
    titles, lines = [family.title for family in families], [family.points for family in families]
    figure = line_panels(titles, lines, PANEL_PX, COLORED)
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
    visible = info.visible
    sizes = sorted({family.batch_size for family in visible})
    what = "Matrices with equally many rows and different row lengths."
    if visible[0].is_printed:
        what = f"Matrices of order {units.count(ORDER)} with equally long rows, or with a few full rows."
    kernels = {kernel for family in visible for point in family.points for kernel in point.kernels}
    colors = (
        " In color: the kernels on CSR. Dashed gray: a loop of the standard one."
        if colored_among(kernels, COLORED)
        else ""
    )
    size = f" Batch size: {join([units.count(size) for size in sizes])}."
    omitted = left_out(len(visible), len(info.families))
    return caption(f"{what}{colors}{size}{omitted}", (), (BALANCED_TEXT,))


def _papers_first(family: Family) -> tuple[bool, int, bool]:
    return not family.is_printed, -len(family.points), not family.balanced


def _family(key: tuple[str, str, int, int, bool, bool], groups: list[BatchGroup], data: StudyData) -> Family:
    known = sorted(((data.matrix(group.matrix_id), group) for group in groups), key=lambda pair: pair[0].ave or 0.0)
    points = (Point(matrix.ave or 0.0, matrix.name, {m.kernel: m for m in group.timed}) for matrix, group in known)
    return Family(*key, tuple(points), tuple(matrix.sigma for matrix, _ in known))
