"""The roles of traces, which the script that paints charts in the theme knows by name."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from tests.samples.recording import PROFILE
from tests.samples.scaling import MATRICES, swept
from tests.samples.studies import records_of
from web.figure_sources import SOURCES
from web.figures.bandwidth import BANDWIDTH
from web.figures.base import Role
from web.figures.case_history import CASE_HISTORY
from web.figures.history import HISTORY
from web.figures.matrix import MATRIX_FIGURES
from web.pictures import Picture
from web.studies import PAGES
from web.studies.base import StudyPage

PAINT = Path(__file__).parents[2] / "web" / "static" / "paint.js"
PICTURE = Picture([[1, 0], [2, 3]], ((1, 1, 4), (2, 3, 5)), 9, 9, ())


def test_the_script_paints_every_role_and_no_other() -> None:
    table = PAINT.read_text(encoding="utf-8").partition("const PAINT = {\n")[2].partition("\n};")[0]
    assert re.findall(r"^  (\w+)[(:]", table, re.M) == list(get_args(Role))


FIGURES: dict[str, tuple[StudyPage | None, Any]] = {
    **{figure.name: (page, figure) for page in PAGES for figure in page.figures},
    **{figure.name: (None, figure) for figure in MATRIX_FIGURES},
    BANDWIDTH.name: (None, BANDWIDTH),
}
"""All but those over time, which are drawn from several jobs: their own tests look at their roles."""


def test_every_figure_is_looked_at() -> None:
    assert {*SOURCES} - {*FIGURES} == {HISTORY.name, CASE_HISTORY.name}


@pytest.mark.parametrize("name", FIGURES)
def test_every_trace_of_a_figure_has_a_role(name: str) -> None:
    page, figure = FIGURES[name]
    shown = figure.info(_data(page)) if page else PROFILE if figure is BANDWIDTH else PICTURE
    drawn = json.loads(figure.draw(shown).to_json())["data"]
    # These samples lack two matrices of one kind, ELLR beside PELLR, a known GPU, two devices, all beside cuSPARSE, and
    # unfused kernels.
    lacking = ("batched-density", "iterations", "predicted", "regret", "systems", "pagerank-graphs")
    assert drawn or name in lacking
    assert {trace["meta"]["role"] for trace in drawn} <= set(get_args(Role))


def _data(page: StudyPage) -> StudyData:
    measurements, traces = records_of(page.name, ("m1", "m2"))
    known: dict[str, Any] = {name: MatrixFeatures(name, 900, 900, 9000, 10.0, 2.0, 9.0, 0) for name in ("m1", "m2")}
    if page.name == "formats":
        # A figure shows matrices of a paper only.
        known["m1"] = replace(known["m1"], name="memplus")
    if page.name == "batched":
        measurements = [replace(m, energy_j=1e-3) for m in measurements]
    if page.name == "scaling":
        measurements, known = [*measurements, *swept()], known | MATRICES
    by_case = {("cpu", trace.case): trace for trace in traces}
    return StudyData(measurements, known, traces=by_case, chosen={"pair": ("csr", "coo")})
