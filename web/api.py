"""REST: the figures behind the pages' charts, as Plotly JSON that `plotly.io.from_json` reads."""

from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError, ParameterError, quote
from gpu_engine.records import DeviceProfile, profile_from_json
from server import catalogue, devices, documents, recorded_results
from server.deps import DatabaseDep, StoreDep
from server.openapi import etag_response_docs, list_response_docs
from server.responses import etag_response, list_response
from server.store import Store
from web import case_histories, kernels
from web.figures.bandwidth import BANDWIDTH
from web.figures.case_history import CASE_HISTORY
from web.figures.case_history import draw as draw_cases
from web.figures.case_history import info as info_of_cases
from web.figures.headline import HEADLINE
from web.figures.history import HISTORY
from web.figures.history import draw as draw_history
from web.figures.matrix import MATRIX_FIGURES
from web.figures.whiskers import clip
from web.history import history_of
from web.pictures import Picture, picture
from web.provenance import name_provenance, provenance_of
from web.results import results_of, with_set, with_traces
from web.selection import NAMES, VALUES_MAX, Selection, parse_options, parse_selection
from web.studies import PAGES
from web.studies.base import StudyPage
from web.studies.formats import FORMATS

router = APIRouter(tags=["figures"])
QUERY = {"type": "array", "items": {"type": "string"}, "maxItems": VALUES_MAX}
SELECTION = {"parameters": [{"name": name, "in": "query", "schema": QUERY} for name in NAMES]}


@router.get("/figures", responses=list_response_docs(documents.FigureEntry))
def list_figures(request: Request) -> Response:
    """Every figure, with what its query must name."""
    parse_options(request.query_params.multi_items(), ())
    items = [
        {
            "name": name,
            "title": figure.title,
            "needs": page.name if page else LONE.get(name, ("matrix", NAMES))[0],
            "parameters": list(NAMES if page else LONE.get(name, ("matrix", NAMES))[1]),
            "href": f"/api/v1/figures/{name}",
        }
        for name, (page, figure) in FIGURES.items()
    ]
    return list_response(request, items)


@router.get("/figures/{name}", responses=etag_response_docs(documents.PlotlyFigure, 404), openapi_extra=SELECTION)
def get_figure(name: str, request: Request, database: DatabaseDep, store: StoreDep) -> Response:
    """The figure of a selection (`job matrix device kernel cache baseline pair`, repeatable) as Plotly JSON.

    Given once, `kernels` is a preset of kernels; `series sort` are of `side-by-side`; `op bits` of the figures of
    `formats`, `batch operation` of those of batches, `devices phases` of those of scaling; `first near stall epsilon
    replay` of `pagerank-what-if`; `study` is of `case-history`.
    """
    page, figure = find_figure(name)
    selection = parse_selection(request.query_params.multi_items())
    lines: Sequence[str]
    with database.read() as session:
        if figure is BANDWIDTH:
            name, profile = _one_device(session, selection)
            drawn, lines = figure.draw(profile), [f"{name}, measured {profile.measured_at[:10]}"]
        elif figure is HISTORY:
            row = catalogue.get_matrix(session, _one_matrix_id(selection))
            drawn, lines = draw_history(history_of(session, row.id, selection)), [row.name]
        elif figure is CASE_HISTORY:
            cases = case_histories.shown(session, selection)
            drawn = draw_cases(info_of_cases(cases.drawn, cases.histories))
            lines = [f"{cases.matrix}, {cases.device}, {cases.cache}"]
        elif page is None:
            drawn = figure.draw(_one_matrix(session, store, selection))
            lines = [catalogue.get_matrix(session, selection.matrix[0]).name]
        else:
            selection = with_set(session, selection)
            results = results_of(session, page.name, selection)
            data = with_traces(session, results) if page.with_traces else results.data
            few = figure.name in (*page.named, *page.alone)
            names = kernels.drawn(page, page.answers(results.data), selection) if few else ()
            drawn = figure.draw(figure.info(kernels.data_of(page, figure, data, names)))
            lines = provenance_of(session, results).lines
    name_provenance(clip(drawn), figure.title, lines)
    return etag_response(request, drawn.to_json())


def _one_device(session: Session, selection: Selection) -> tuple[str, DeviceProfile]:
    if len(selection.device) != 1:
        raise ParameterError("This figure is of one device; name it with ?device=ID.")
    rows = (*devices.list_devices(session), *recorded_results.list_devices(session))
    found = next((row for row in rows if row.id == selection.device[0] and row.profile), None)
    if found is None:
        raise NotFoundError(f"There is no device {quote(selection.device[0])} whose bandwidth has been measured.")
    return str(found.info["name"]), profile_from_json(found.profile)


def _one_matrix_id(selection: Selection) -> str:
    if len(selection.matrix) != 1:
        raise ParameterError("This figure is of one matrix; name it with ?matrix=ID.")
    return selection.matrix[0]


def _one_matrix(session: Session, store: Store, selection: Selection) -> Picture:
    row = catalogue.get_matrix(session, _one_matrix_id(selection))
    seen = picture(store, row)
    if seen is None:
        raise NotFoundError(f"The matrix {row.id} is {row.state} and has no picture.")
    return seen


FIGURES: dict[str, tuple[StudyPage | None, Any]] = {
    **{figure.name: (page, figure) for page in PAGES for figure in page.figures},
    HEADLINE.name: (FORMATS, HEADLINE),
    **{figure.name: (None, figure) for figure in (*MATRIX_FIGURES, HISTORY, CASE_HISTORY, BANDWIDTH)},
}
"""Every figure by name, and the page that it is of; None: it is of one matrix or device."""


LONE: dict[str, tuple[str, Sequence[str]]] = {
    BANDWIDTH.name: ("device", ("device",)),
    HISTORY.name: ("matrix", ("matrix", "device", "kernel", "cache")),
    CASE_HISTORY.name: ("case", case_histories.NAMES),
}
"""Figures of no study page: what they are of, and the parameters they take; the others are of one matrix."""


def find_figure(name: str) -> tuple[StudyPage | None, Any]:
    """The figure of that name and its page; raises NotFoundError naming the known ones."""
    if name not in FIGURES:
        raise NotFoundError(f"There is no figure {quote(name)}; known figures: {', '.join(FIGURES)}.")
    return FIGURES[name]
