"""Regret: what choosing by prediction costs, the advisor's first choice on each matrix against the fastest kernel."""

from collections.abc import Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.advisor.evaluation import WITHIN, Evaluation, Outcome, evaluate
from gpu_engine.advisor.gpus import Gpu
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures import marks
from web.figures.base import blank, caption, log_axis
from web.figures.formats.groups import Groups, Place, place_in_words
from web.figures.formats.predicted import BAND, NOTHING, predictable
from web.figures.panels import Panels, panels
from web.palette import OKABE_ITO

PANEL_PX = 200


@dataclass(frozen=True, slots=True)
class Panel:
    """The advisor judged in one place as one model of GPU; names: of the matrices, by id."""

    place: Place
    gpu: Gpu
    evaluation: Evaluation
    names: Mapping[str, str]


def info(data: StudyData) -> Panels[Panel]:
    """A panel a device and cache state with a first choice that was measured."""
    found = (_panel(place, gpu, groups, data) for place, (gpu, groups) in predictable(data).items())
    return Panels(tuple(panel for panel in found if panel.evaluation.outcomes))


def draw(info: Panels[Panel]) -> go.Figure:
    """The regret of each matrix, the worst first; a band from 1 to what hardly matters."""
    if not info.panels:
        return blank(NOTHING)
    figure = panels([place_in_words(panel.place) for panel in info.panels], [PANEL_PX] * len(info.panels), across=2)
    axis = log_axis([WITHIN, *(v.regret for panel in info.panels for v in panel.evaluation.outcomes)], least_span=1.5)
    for row, panel in enumerate(info.panels, start=1):
        own = [(n, v.regret, _hover(v, panel)) for n, v in enumerate(panel.evaluation.outcomes, start=1)]
        marker = marks.point(OKABE_ITO[0], "circle", 7)
        trace = marks.points(own, marker, showlegend=False, name="matrices", meta={"role": "point"})
        figure.add_trace(trace, row=row, col=1)
        figure.add_hrect(1.0, WITHIN, **BAND, row=row, col=1)
    figure.update_yaxes(**axis.settings, title_text="time over the fastest")
    figure.update_xaxes(showticklabels=False, showgrid=False, zeroline=False)
    return figure.update_xaxes(title_text="matrices, the worst first", title_standoff=4, row=len(info.panels), col=1)


def table(info: Panels[Panel]) -> Table:
    """A row a matrix, the worst first."""
    heads = (
        *(Head(text, numeric=False) for text in ("matrix", "device", "cache", "first choice")),
        Head("predicted"),
        Head("measured"),
        Head("fastest", numeric=False),
        Head("measured", "of the fastest"),
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
    """What a regret is, and how large it is over all matrices and at worst; empty where nothing was predicted."""
    if not info.panels:
        return ""
    return caption(
        "The measured time of the kernel that the advisor puts first, from features alone, over that of the fastest "
        "which it could have chosen.",
        map(said, info.panels),
        (
            "It chooses among the kernels measured; libraries are no choice of its. Its costs were fitted to some of "
            "the recorded matrices.",
        ),
    )


def said(panel: Panel) -> str:
    """The regret in one place: of a lone matrix its kernels, of several the geometric mean and the worst."""
    found, worst = panel.evaluation, panel.evaluation.outcomes[0]
    where = f"On {place_in_words(panel.place)}"
    if len(found.outcomes) == 1:
        return f"{where}, {_choice(worst)}."
    return (
        f"{where}, over {len(found.outcomes)} matrices: {units.ratio(found.geometric_mean_regret)} in the geometric "
        f"mean, within {round(100 * (WITHIN - 1))}{units.THIN}% on {units.percent(found.share_within_10_percent)}, "
        f"{units.ratio(worst.regret)} at worst ({panel.names[worst.matrix_id]}: {worst.advised}, not {worst.fastest})."
    )


def _choice(v: Outcome) -> str:
    if v.advised == v.fastest:
        return (
            f"the advisor’s first choice, {v.advised}, is the fastest of those measured: {units.seconds(v.advised_s)}"
        )
    return (
        f"the advisor’s first choice, {v.advised}, takes {units.seconds(v.advised_s)}, and the fastest, {v.fastest}, "
        f"{units.seconds(v.fastest_s)}: regret {units.ratio(v.regret)}"
    )


def _panel(place: Place, gpu: Gpu, groups: Groups, data: StudyData) -> Panel:
    known: dict[str, MatrixFeatures] = {matrix_id: data.matrix(matrix_id) for matrix_id in groups}
    features = {matrix_id: matrix.stored for matrix_id, matrix in known.items()}
    judged = evaluate((m for group in groups.values() for m in group), features, gpu)
    return Panel(place, gpu, judged, {matrix_id: matrix.name for matrix_id, matrix in known.items()})


def _hover(v: Outcome, panel: Panel) -> str:
    return marks.hover(panel.names[v.matrix_id], "", _choice(v))
