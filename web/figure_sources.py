"""SOURCES: every figure by name, with where what it draws comes from: a study, a matrix, a device, or histories."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import plotly.graph_objects as go
from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError, ParameterError, quote
from gpu_engine.records import profile_from_json
from gpu_engine.studies.results import busy_measurements
from server import catalogue, devices, recorded_results
from server.store import Store
from web import histories, kernels
from web.figures import bandwidth, busy, case_history, history
from web.figures.base import Drawing, Figure
from web.figures.headline import HEADLINE
from web.figures.matrix import MATRIX_FIGURES
from web.pictures import Picture, picture
from web.provenance import provenance_of
from web.results import results_of, with_set, with_traces
from web.selection import NAMES, Selection
from web.studies import PAGES
from web.studies.base import StudyPage
from web.studies.formats import FORMATS


@dataclass(frozen=True, slots=True)
class Drawn:
    """A figure that is drawn.

    lines     what it shows and when that was measured, below the title of a downloaded picture
    doubtful  keys of the measurements whose marks are gray
    """

    figure: go.Figure
    lines: Sequence[str]
    doubtful: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure comes from.

    needs       what its query must name: a study, or `matrix`, `device`, `case`
    parameters  that its query may have
    draw        (session, store, selection) → Drawn; raises ParameterError and NotFoundError
    """

    title: str
    needs: str
    parameters: Sequence[str]
    draw: Callable[[Session, Store, Selection], Drawn]


def find_source(name: str) -> Source:
    """Return the source of the figure of that name; raises NotFoundError naming the known ones."""
    if name not in SOURCES:
        raise NotFoundError(f"There is no figure {quote(name)}; known figures: {', '.join(SOURCES)}.")
    return SOURCES[name]


def _of_study(page: StudyPage, figure: Figure[Any]) -> Source:
    names = (*NAMES, *(parameter.name for parameter in page.parameters))
    return Source(figure.title, page.name, names, partial(_draw_study, page, figure))


def _draw_study(page: StudyPage, figure: Figure[Any], session: Session, _: Store, selection: Selection) -> Drawn:
    asked = with_set(session, selection)
    results = results_of(session, page.name, asked)
    data = with_traces(session, results) if page.with_traces else results.data
    few = figure.name in (*page.named, *page.alone)
    names = kernels.drawn(page, page.answers(results.data), asked) if few else ()
    drawn = figure.draw(figure.info(kernels.data_of(page, figure, data, names)))
    return Drawn(drawn, provenance_of(session, results).lines, busy.keys(busy_measurements(results.data)))


def _draw_bandwidth(session: Session, _: Store, selection: Selection) -> Drawn:
    if len(selection.device) != 1:
        raise ParameterError("This figure is of one device; name it with ?device=ID.")
    rows = (*devices.list_devices(session), *recorded_results.list_devices(session))
    row = next((row for row in rows if row.id == selection.device[0] and row.profile), None)
    if row is None:
        raise NotFoundError(f"There is no device {quote(selection.device[0])} whose bandwidth has been measured.")
    profile = profile_from_json(row.profile)
    return Drawn(bandwidth.BANDWIDTH.draw(profile), [f"{row.info['name']}, measured {profile.measured_at[:10]}"])


def _draw_history(session: Session, _: Store, selection: Selection) -> Drawn:
    row = catalogue.get_matrix(session, _one_matrix(selection))
    panels = histories.over_jobs(session, row.id, selection)
    return Drawn(history.draw(panels), [row.name], history.busy_in_history(panels))


def _draw_case_history(session: Session, _: Store, selection: Selection) -> Drawn:
    cases = histories.shown(session, selection)
    drawn = case_history.draw(case_history.info(cases.drawn, cases.histories))
    return Drawn(drawn, [f"{cases.matrix}, {cases.device}, {cases.cache}"], busy.keys(cases.busy))


def _of_matrix(figure: Drawing[Picture]) -> Source:
    return Source(figure.title, "matrix", NAMES, partial(_draw_matrix, figure))


def _draw_matrix(figure: Drawing[Picture], session: Session, store: Store, selection: Selection) -> Drawn:
    row = catalogue.get_matrix(session, _one_matrix(selection))
    seen = picture(store, row)
    if seen is None:
        raise NotFoundError(f"The matrix {row.id} is {row.state} and has no picture.")
    return Drawn(figure.draw(seen), [row.name])


def _one_matrix(selection: Selection) -> str:
    if len(selection.matrix) != 1:
        raise ParameterError("This figure is of one matrix; name it with ?matrix=ID.")
    return selection.matrix[0]


HISTORY = Source(history.HISTORY.title, "matrix", ("matrix", "device", "kernel", "cache"), _draw_history)
CASES = Source(case_history.CASE_HISTORY.title, "case", histories.NAMES, _draw_case_history)
BANDWIDTH = Source(bandwidth.BANDWIDTH.title, "device", ("device",), _draw_bandwidth)

SOURCES = {
    **{figure.name: _of_study(page, figure) for page in PAGES for figure in page.figures},
    HEADLINE.name: _of_study(FORMATS, HEADLINE),
    **{figure.name: _of_matrix(figure) for figure in MATRIX_FIGURES},
    history.HISTORY.name: HISTORY,
    case_history.CASE_HISTORY.name: CASES,
    bandwidth.BANDWIDTH.name: BANDWIDTH,
}
