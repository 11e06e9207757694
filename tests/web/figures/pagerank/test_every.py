import json
from typing import Any

import plotly.io
import pytest

from gpu_engine.findings.data import StudyData
from tests.samples.formats import HOSTILE, sized, titles
from tests.samples.pagerank import luxembourg, ran, shown
from web.figures.base import Figure
from web.figures.pagerank import breakdown, pull, total, what_if
from web.figures.pagerank.facets import CUT, NO_RUN
from web.studies.pagerank import FIGURES

EMPTY = {
    "pagerank-total": total.NO_PAIR,
    "pagerank-time": breakdown.NO_TIME,
    "pagerank-pull": pull.NO_PULL,
    "pagerank-what-if": what_if.NOTHING,
}
"""Figure → its title and summary where there is nothing to draw; of the others NO_RUN."""

LONE = {
    "pagerank-total": ran("csr/thread+fp64", 28),
    "pagerank-time": ran("csr/thread+cpms2", (13, 15)),
    "pagerank-pull": ran("csr/thread+cpms2", (13, 15)),
    "pagerank-what-if": ran("csr/thread+fp32", 9),
}
"""Figure → a run that it can do nothing with alone."""

ALONE = ("pagerank-graphs", "pagerank-shares", "pagerank-fusion", "pagerank-links")

PANELS = tuple(figure for figure in FIGURES if figure.name not in ALONE)
"""Those with a panel a graph of fused kernels; of the others two have all graphs in a panel, one needs the paper's
kernels too, one what the operator has."""

DOTS = ("pagerank-total", "pagerank-pull", "pagerank-what-if")
"""Those that have all graphs in one panel."""

every_figure = pytest.mark.parametrize("figure", PANELS, ids=lambda figure: figure.name)


@every_figure
def test_matrices_and_devices_have_their_own_panels(figure: Figure[Any]) -> None:
    runs = shown(*luxembourg(), *luxembourg("cuda:0"))
    info = figure.info(StudyData(runs.measurements, {"lux": sized(HOSTILE)}, traces=runs.traces))
    drawing = figure.draw(info)
    assert {title.rpartition(" · ")[2] for title in titles(drawing)} == {"cpu", "cuda:0"}
    text = drawing.to_json()
    assert "bdata" not in text
    assert "<b>x</b>" not in json.dumps(json.loads(text)), "names of strangers are text"
    assert plotly.io.from_json(text).layout.height == drawing.layout.height
    assert figure.summary(info).endswith(".")
    assert figure.table is not None
    assert {len(row) for row in figure.table(info).rows} == {len(figure.table(info).heads)}


@every_figure
def test_no_results(figure: Figure[Any]) -> None:
    nothing = EMPTY.get(figure.name, NO_RUN)
    for data in (StudyData(), shown(*([LONE[figure.name]] if figure.name in LONE else []))):
        info = figure.info(data)
        assert titles(figure.draw(info)) == [nothing]
        assert figure.summary(info) == nothing
        assert figure.table is None or figure.table(info).rows == ()


@every_figure
def test_many_matrices_are_left_to_the_table(figure: Figure[Any]) -> None:
    many = figure.info(shown(*(run for number in range(32) for run in luxembourg(matrix=f"m{number}"))))
    drawing = figure.draw(many)
    assert drawing.layout.height < 3200, "however many graphs"
    if figure.name not in DOTS:
        assert f"Showing the first {len(titles(drawing))} of " in figure.summary(many)
    assert figure.table is not None
    assert {row[0] for row in figure.table(many).rows} == {f"m{number}" for number in range(32)}
    assert "Drawn" not in figure.summary(figure.info(shown(*luxembourg())))


@pytest.mark.parametrize(
    ("name", "end"),
    [("pagerank-gamma", 1.05 * 1.3 * 113), ("pagerank-schedule", 1.05 * 1.3 * 113), ("pagerank-time", 1.05 * 1.3)],
)
def test_a_run_that_never_ends_hides_no_other(name: str, end: float) -> None:
    figure: Figure[Any] = next(figure for figure in FIGURES if figure.name == name)
    info = figure.info(shown(*luxembourg(), ran("csr/thread+fp32", 1000, 1.2, residual=3e-8)))
    assert figure.draw(info).layout.xaxis.range == (0, pytest.approx(end))
    assert CUT in figure.summary(info)
    assert CUT not in figure.summary(figure.info(shown(*luxembourg())))
