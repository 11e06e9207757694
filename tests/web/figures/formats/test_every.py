from typing import Any

import plotly.io
import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.records import CACHES
from tests.samples.formats import HOSTILE, sized, study_of, timed, titles, untimed
from web.figures.base import Figure, escape
from web.figures.formats import devices, iterations, paper_speedups, predicted
from web.figures.formats.groups import NO_QUIET, NO_RESULTS, NO_TIME
from web.figures.formats.ratio import NOTHING
from web.studies.formats import FIGURES

EMPTY = {
    "formats": (NO_RESULTS, NO_RESULTS),
    "iterations": (iterations.NOTHING, iterations.NOTHING),
    "performance-profile": (NO_QUIET, NO_QUIET),
    "share": (NO_RESULTS, NO_QUIET),
    "side-by-side": (NO_RESULTS, NO_QUIET),
    "imbalance": (NOTHING, NOTHING),
    "predicted": (predicted.NOTHING, predicted.NOTHING),
    "regret": (predicted.NOTHING, ""),
    "systems": (devices.NOTHING, devices.NOTHING),
    "ratio": (NOTHING, NOTHING),
    "paper-speedups": (paper_speedups.NOTHING, paper_speedups.NOTHING),
}
"""Figure → its title and how its summary begins where there is nothing to draw; of the others NO_RESULTS, NO_TIME."""

OTHERWISE = ("paper-speedups", "predicted", "regret", "systems")
"""Figures of matrices of the paper, of devices with a model of the advisor (two), and of several devices per panel."""

every_figure = pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
faceted_figure = pytest.mark.parametrize(
    "figure", [each for each in FIGURES if each.name not in OTHERWISE], ids=lambda figure: figure.name
)


@faceted_figure
def test_devices_and_cache_states_have_their_own_panels(figure: Figure[Any]) -> None:
    measurements = [*study_of("m1"), *study_of("m1", "cuda:0", 0.01)]
    places = [(device, cache) for device in ("cpu", "cuda:0") for cache in CACHES]
    measurements += [timed(f"{n}/thread", 2e-3, cache, device=d) for n in ("ellr", "pellr") for d, cache in places]
    info = figure.info(StudyData(measurements, {"m1": sized(HOSTILE)}, chosen={"pair": ("coo", "csr")}))
    drawing = figure.draw(info)
    panels = "\n".join(titles(drawing)).replace(" · ", ", ")
    for place in ("cpu, cold", "cpu, warm", "cuda:0, cold", "cuda:0, warm"):
        assert place in panels
    text = drawing.to_json()
    assert "bdata" not in text
    assert "<script>" not in text.replace("\\u003c", "<"), "names of strangers are text"
    assert plotly.io.from_json(text).layout.height == drawing.layout.height
    assert figure.summary(info).endswith(".")
    if figure.table:
        assert {len(row) for row in figure.table(info).rows} == {len(figure.table(info).heads)}


@every_figure
def test_no_results(figure: Figure[Any]) -> None:
    title, summary = EMPTY.get(figure.name, (NO_RESULTS, NO_TIME))
    info = figure.info(StudyData())
    assert titles(figure.draw(info)) == [escape(title)], f"or list {figure.name} in EMPTY"
    assert figure.summary(info).startswith(summary), f"or list {figure.name} in EMPTY"
    assert figure.table is None or figure.table(info).rows == ()


@pytest.mark.parametrize("name", ["rate", "roofline"])
def test_without_a_time_there_is_no_point(name: str) -> None:
    figure: Figure[Any] = next(figure for figure in FIGURES if figure.name == name)
    info = figure.info(StudyData([untimed("csr/i", "failed", "wrong")], {"m1": sized("start_segments")}))
    assert titles(figure.draw(info)) == [NO_RESULTS]
    assert figure.summary(info) == NO_TIME
