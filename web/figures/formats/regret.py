"""Regret: slowdown of the kernel that the advisor predicts as the fastest, against the fastest measured kernel."""

from collections.abc import Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.advisor.evaluation import WITHIN, Evaluation, Outcome, evaluate
from gpu_engine.advisor.gpus import Gpu
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures import markers
from web.figures.base import blank, caption, log_axis
from web.figures.formats.groups import Groups, Place, place_in_words
from web.figures.formats.predicted import BAND, NOTHING, predictable
from web.figures.panels import Panels, panels
from web.palette import OKABE_ITO

PANEL_PX = 200


@dataclass(frozen=True, slots=True)
class Panel:
    """The evaluation of the advisor in one place with one GPU model; names: of the matrices, by id."""

    place: Place
    gpu: Gpu
    evaluation: Evaluation
    names: Mapping[str, str]


def info(data: StudyData) -> Panels[Panel]:
    """Return a panel per device and cache state with a predicted kernel that was measured."""
    every = (_panel(place, gpu, groups, data) for place, (gpu, groups) in predictable(data).items())
    return Panels(tuple(panel for panel in every if panel.evaluation.outcomes))


def draw(info: Panels[Panel]) -> go.Figure:
    """Return the regret of each matrix, the largest first, with a band from 1 to what is too small to matter."""
    if not info.panels:
        return blank(NOTHING)
    figure = panels([place_in_words(panel.place) for panel in info.panels], [PANEL_PX] * len(info.panels), across=2)
    axis = log_axis([WITHIN, *(v.regret for panel in info.panels for v in panel.evaluation.outcomes)], least_span=1.5)
    for row, panel in enumerate(info.panels, start=1):
        points = [(n, v.regret, _hover(v, panel)) for n, v in enumerate(panel.evaluation.outcomes, start=1)]
        marker = markers.point(OKABE_ITO[0], "circle", 7)
        trace = markers.points(points, marker, showlegend=False, name="matrices", meta={"role": "point"})
        figure.add_trace(trace, row=row, col=1)
        figure.add_hrect(1.0, WITHIN, **BAND, row=row, col=1)
    figure.update_yaxes(**axis.settings, title_text="regret (slowdown)")
    figure.update_xaxes(showticklabels=False, showgrid=False, zeroline=False)
    return figure.update_xaxes(
        title_text="matrices, largest regret first", title_standoff=4, row=len(info.panels), col=1
    )


def table(info: Panels[Panel]) -> Table:
    """Return a row per matrix, the largest regret first."""
    heads = (
        *(Head(text, numeric=False) for text in ("matrix", "device", "cache", "predicted kernel")),
        Head("predicted"),
        Head("measured"),
        Head("fastest kernel", numeric=False),
        Head("measured", "fastest"),
        Head("regret"),
    )
    rows = [
        (
            panel.names[v.matrix_id],
            *panel.place,
            v.advised,
            units.seconds(v.predicted_s),
            units.seconds(v.advised_s),
            v.fastest,
            units.seconds(v.fastest_s),
            units.ratio(v.regret),
        )
        for panel in info.panels
        for v in panel.evaluation.outcomes
    ]
    return Table(heads, tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """Return the meaning of the regret, its mean, and its maximum; empty if nothing was predicted."""
    if not info.panels:
        return ""
    return caption(
        "Regret: slowdown of the predicted kernel against the fastest measured kernel.",
        map(regret_text, info.panels),
        (
            "The advisor chooses among measured Sparsight kernels, from matrix features; library kernels are excluded. "
            "Its costs were fitted to some of the reference matrices.",
        ),
    )


def regret_text(panel: Panel) -> str:
    """Return the regret in one place: of a single matrix its kernels, of several the geometric mean and the worst."""
    evaluation, worst = panel.evaluation, panel.evaluation.outcomes[0]
    where = f"On {place_in_words(panel.place)}"
    if len(evaluation.outcomes) == 1:
        return f"{where}, {_choice(worst)}."
    return (
        f"{where}, geometric-mean regret {units.ratio(evaluation.geometric_mean_regret)} over "
        f"{len(evaluation.outcomes)} matrices, within {round(100 * (WITHIN - 1))}{units.THIN}% on "
        f"{units.percent(evaluation.share_within_10_percent)}. Worst: {units.ratio(worst.regret)} on "
        f"{panel.names[worst.matrix_id]} ({worst.advised} instead of {worst.fastest})."
    )


def _choice(v: Outcome) -> str:
    if v.advised == v.fastest:
        return f"the predicted kernel, {v.advised}, is the fastest measured one: {units.seconds(v.advised_s)}"
    return (
        f"the predicted kernel, {v.advised}, takes {units.seconds(v.advised_s)}, and the fastest, {v.fastest}, "
        f"{units.seconds(v.fastest_s)}: regret {units.ratio(v.regret)}"
    )


def _panel(place: Place, gpu: Gpu, groups: Groups, data: StudyData) -> Panel:
    known: dict[str, MatrixFeatures] = {matrix_id: data.matrix(matrix_id) for matrix_id in groups}
    features = {matrix_id: matrix.stored for matrix_id, matrix in known.items()}
    evaluation = evaluate((m for group in groups.values() for m in group), features, gpu)
    return Panel(place, gpu, evaluation, {matrix_id: matrix.name for matrix_id, matrix in known.items()})


def _hover(v: Outcome, panel: Panel) -> str:
    return markers.hover(panel.names[v.matrix_id], "", _choice(v))
