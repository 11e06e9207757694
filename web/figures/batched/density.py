"""GFLOP/s by mean row length, matrices of equal size; Figure 4 of the batched SpMV paper."""

from dataclasses import dataclass

import plotly.graph_objects as go

from web import units
from web.batches import BatchGroup, batch_groups, is_balanced, largest
from web.comparison import join
from web.figures.base import Head, Table, blank, log_axis
from web.figures.batched.marks import PLACE, hover, kernels_of, line, place
from web.figures.panels import Legend, panels
from web.shown import Shown

PANEL_PX = 300
PANELS_MAX = 6
NO_FAMILY = (
    "No two matrices here have the same number of rows and different row lengths, both balanced or both not: "
    "generate some to see what density does."
)


@dataclass(frozen=True, slots=True)
class Family:
    """What the matrices of a panel have in common: they differ in their density and little else."""

    device: str
    cache: str
    problems: int
    n_rows: int
    balanced: bool

    @property
    def rows_are(self) -> str:
        """`balanced` or `unbalanced`."""
        return "balanced" if self.balanced else "unbalanced"

    @property
    def title(self) -> str:
        """Of the panel; the size of the batches is in the summary."""
        return f"{units.count(self.n_rows)} rows, {self.rows_are} · {self.device} · {self.cache}"


def draw(shown: Shown) -> go.Figure:
    """GFLOP/s over the mean row length, a line a kernel; a panel for balanced and one for unbalanced matrices."""
    found = list(families(shown).items())[:PANELS_MAX]
    if not found:
        return blank(NO_FAMILY)
    kernels = kernels_of(group for _, groups in found for group in groups)
    figure = panels([family.title for family, _ in found], [PANEL_PX] * len(found), len(kernels))
    legend = Legend()
    for row, (_, groups) in enumerate(found, start=1):
        # Libraries are drawn first, behind our own.
        for kernel in reversed(kernels):
            points = [(_ave(group, shown), m) for group in groups if (m := group.of(kernel))]
            texts = [hover(m, shown.matrix(m.matrix_id).name) for _, m in points]
            if points:
                figure.add_trace(line(points, legend, texts), row=row, col=1)
        axis = log_axis([_ave(group, shown) for group in groups], least_span=4.0)
        figure.update_xaxes(**axis.settings, row=row, col=1)
    figure.update_layout(legend_traceorder="reversed")
    figure.update_yaxes(rangemode="tozero", title_text="GFLOP/s")
    figure.update_xaxes(title_text="mean row length", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """A row a matrix by ascending mean row length, a column a kernel."""
    found = families(shown)
    kernels = kernels_of(group for groups in found.values() for group in groups)
    heads = (*PLACE, Head("rows are", numeric=False), Head("problems"), Head("rows"), Head("ave"), Head("σ"))
    rows = []
    for family, groups in found.items():
        for group in groups:
            known = shown.matrix(group.matrix_id)
            features = units.count(known.n_rows), units.number(known.ave), units.number(known.sigma)
            rates = units.column([m.gflops if (m := group.of(kernel)) else None for kernel in kernels])
            rows.append((*place(group, shown), family.rows_are, units.count(group.problems), *features, *rates))
    return Table((*heads, *(Head(kernel, "GFLOP/s") for kernel in kernels)), tuple(rows))


def summary(shown: Shown) -> str:
    """What the lines are, and what balanced means."""
    found = families(shown)
    if not found:
        return NO_FAMILY
    said = "Matrices with equally many rows and different row lengths; balanced where σ is below a tenth of the mean."
    sizes = sorted({family.problems for family in found})
    said += f" Batches of {join([units.count(size) for size in sizes])}."
    left = f" Drawn are the first {PANELS_MAX} of {len(found)}; the table has all." if len(found) > PANELS_MAX else ""
    return said + left


def families(shown: Shown) -> dict[Family, list[BatchGroup]]:
    """The families of copies with two mean row lengths or more, each by ascending mean; the largest family first.

    Of each matrix the batch of the chosen size, else the largest.
    """
    found: dict[Family, list[BatchGroup]] = {}
    for group in largest(batch_groups(shown), shown.batch):
        known = shown.matrix(group.matrix_id)
        balanced = is_balanced(known)
        if group.compose == "copies" and group.timed and balanced is not None:
            family = Family(group.device, group.cache, group.problems, known.n_rows, balanced)
            found.setdefault(family, []).append(group)
    several = {family: groups for family, groups in found.items() if len({_ave(g, shown) for g in groups}) > 1}
    ordered = sorted(several, key=lambda family: (-len(several[family]), not family.balanced))
    return {family: sorted(several[family], key=lambda group: _ave(group, shown)) for family in ordered}


def _ave(group: BatchGroup, shown: Shown) -> float:
    return shown.matrix(group.matrix_id).ave or 0.0
