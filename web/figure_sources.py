"""SOURCES: all figures by name, each with the source of its data: a study, a matrix, a device, or histories."""

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
from web.figures.matrix import MATRIX_FIGURES
from web.figures.whiskers import clip
from web.pictures import Picture, picture
from web.provenance import provenance_of
from web.results import results_of, with_set, with_traces
from web.selection import DATA_NAMES, Selection
from web.studies import PAGES
from web.studies.base import StudyPage


@dataclass(frozen=True, slots=True)
class SourcedFigure:
    """A Plotly figure with its provenance.

    lines     devices and dates of the measurements, below the title of a downloaded image
    doubtful  keys of noisy measurements, whose marks are gray
    """

    figure: go.Figure
    lines: Sequence[str]
    doubtful: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """A figure of the API and the function that draws it.

    needs       what its query must name: a study, `matrix`, `device`, or `case`
    parameters  names that its query may have
    draw        (session, store, selection) → SourcedFigure; raises ParameterError and NotFoundError
    """

    title: str
    needs: str
    parameters: Sequence[str]
    draw: Callable[[Session, Store, Selection], SourcedFigure]


def find_source(name: str) -> Source:
    """Return the source of the figure of that name; raises NotFoundError that lists the known ones."""
    if name not in SOURCES:
        raise NotFoundError(f"Unknown figure {quote(name)}. Figures: {', '.join(SOURCES)}.")
    return SOURCES[name]


def source_drawing(source: Source, session: Session, store: Store, selection: Selection) -> SourcedFigure:
    """Return the figure of a selection with clipped whiskers and with gray marks of noisy measurements."""
    drawing = source.draw(session, store, selection)
    busy.gray(clip(drawing.figure), drawing.doubtful)
    return drawing


def address_of(source: Source, selection: Selection) -> str:
    """Return the path and query of the page that shows a figure."""
    pages = {"matrix": f"/matrices/{next(iter(selection.matrix), '')}", "device": "/service", "case": "/history"}
    path = pages.get(source.needs, f"/{source.needs}")
    return path if source.needs == "matrix" or not selection.query else f"{path}?{selection.query}"


def _of_study(page: StudyPage, figure: Figure[Any]) -> Source:
    names = (*DATA_NAMES, *(parameter.name for parameter in page.parameters))
    return Source(figure.title, page.name, names, partial(_draw_study, page, figure))


def _draw_study(
    page: StudyPage, figure: Figure[Any], session: Session, _: Store, selection: Selection
) -> SourcedFigure:
    chosen = with_set(session, selection)
    results = results_of(session, page.name, chosen)
    data = with_traces(session, results) if page.with_traces else results.data
    is_limited = figure.name in (*page.named, *page.alone)
    names = kernels.figure_kernels(page, page.answers(results.data), chosen) if is_limited else ()
    drawing = figure.draw(figure.info(kernels.data_of(page, figure, data, names)))
    return SourcedFigure(drawing, provenance_of(session, results).lines, busy.keys(busy_measurements(results.data)))


def _draw_bandwidth(session: Session, _: Store, selection: Selection) -> SourcedFigure:
    if len(selection.device) != 1:
        raise ParameterError("This figure shows one device. Name it with ?device=ID.")
    rows = (*devices.list_devices(session), *recorded_results.list_devices(session))
    row = next((row for row in rows if row.id == selection.device[0] and row.profile), None)
    if row is None:
        raise NotFoundError(f"No measured bandwidth for device {quote(selection.device[0])}. Run a job on it first.")
    profile = profile_from_json(row.profile)
    return SourcedFigure(
        bandwidth.BANDWIDTH.draw(profile), [f"{row.info['name']}, measured {profile.measured_at[:10]}"]
    )


def _draw_history(session: Session, _: Store, selection: Selection) -> SourcedFigure:
    row = catalogue.get_matrix(session, _one_matrix(selection))
    panels = histories.over_jobs(session, row.id, selection)
    return SourcedFigure(history.draw(panels), [row.name], history.busy_in_history(panels))


def _draw_case_history(session: Session, _: Store, selection: Selection) -> SourcedFigure:
    cases = histories.history_view(session, selection)
    drawing = case_history.draw(case_history.info(cases.drawn_histories, cases.histories))
    return SourcedFigure(drawing, [f"{cases.matrix}, {cases.device}, {cases.cache}"], busy.keys(cases.busy))


def _of_matrix(figure: Drawing[Picture]) -> Source:
    return Source(figure.title, "matrix", DATA_NAMES, partial(_draw_matrix, figure))


def _draw_matrix(figure: Drawing[Picture], session: Session, store: Store, selection: Selection) -> SourcedFigure:
    row = catalogue.get_matrix(session, _one_matrix(selection))
    structure = picture(store, row)
    if structure is None:
        raise NotFoundError(f"Matrix {row.id} has no picture ({row.state}).")
    return SourcedFigure(figure.draw(structure), [row.name])


def _one_matrix(selection: Selection) -> str:
    if len(selection.matrix) != 1:
        raise ParameterError("This figure shows one matrix. Name it with ?matrix=ID.")
    return selection.matrix[0]


HISTORY = Source(history.HISTORY.title, "matrix", ("matrix", "device", "kernel", "cache"), _draw_history)
CASES = Source(case_history.CASE_HISTORY.title, "case", histories.NAMES, _draw_case_history)
BANDWIDTH = Source(bandwidth.BANDWIDTH.title, "device", ("device",), _draw_bandwidth)

SOURCES = {
    **{figure.name: _of_study(page, figure) for page in PAGES for figure in page.figures},
    **{figure.name: _of_matrix(figure) for figure in MATRIX_FIGURES},
    history.HISTORY.name: HISTORY,
    case_history.CASE_HISTORY.name: CASES,
    bandwidth.BANDWIDTH.name: BANDWIDTH,
}
