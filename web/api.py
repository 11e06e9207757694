"""REST: the figures behind the pages' charts, as Plotly JSON that `plotly.io.from_json` reads."""

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError, ParameterError
from server import catalogue, documents
from server.answers import kept as keep
from server.answers import listed
from server.deps import DatabaseDep, StoreDep
from server.openapi import kept, listing
from server.store import Store
from web.figures import FIGURES, find_figure
from web.measured import BATCHED_STUDY, FORMATS_STUDY, PAGERANK_STUDY, SCALING_STUDY, measured, with_traces
from web.pictures import Picture, picture
from web.selection import NAMES, VALUES_MAX, Selection, parse_options, parse_selection

router = APIRouter(tags=["figures"])
QUERY = {"type": "array", "items": {"type": "string"}, "maxItems": VALUES_MAX}
SELECTION = {"parameters": [{"name": name, "in": "query", "schema": QUERY} for name in NAMES]}


@router.get("/figures", responses=listing(documents.FigureEntry))
def list_figures(request: Request) -> Response:
    """Every figure, with what its query must name."""
    parse_options(request.query_params.multi_items(), ())
    items = [
        {
            "name": f.name,
            "title": f.title,
            "needs": f.needs,
            "parameters": list(NAMES),
            "href": f"/api/v1/figures/{f.name}",
        }
        for f in FIGURES
    ]
    return listed(request, items)


@router.get("/figures/{name}", responses=kept(documents.PlotlyFigure, 404), openapi_extra=SELECTION)
def get_figure(name: str, request: Request, database: DatabaseDep, store: StoreDep) -> Response:
    """The figure of a selection (`job matrix device kernel cache baseline pair`, repeatable) as Plotly JSON.

    `batch operation`, given once, are of the figures of batches; `devices phases` of those of scaling;
    `first near stall replay` of `pagerank-what-if`.
    """
    figure = find_figure(name)
    selection = parse_selection(request.query_params.multi_items())
    with database.read() as session:
        drawn = figure.draw(*LOADERS[figure.needs](session, store, selection))
    return keep(request, drawn.to_json())


def _measurements(session: Session, store: Store, selection: Selection) -> tuple[Any, ...]:  # noqa: ARG001
    return (measured(session, FORMATS_STUDY, selection).shown,)


def _runs(session: Session, store: Store, selection: Selection) -> tuple[Any, ...]:  # noqa: ARG001
    return (with_traces(session, measured(session, PAGERANK_STUDY, selection)),)


def _batches(session: Session, store: Store, selection: Selection) -> tuple[Any, ...]:  # noqa: ARG001
    return (measured(session, BATCHED_STUDY, selection).shown,)


def _works(session: Session, store: Store, selection: Selection) -> tuple[Any, ...]:  # noqa: ARG001
    return (measured(session, SCALING_STUDY, selection).shown,)


def _spy(session: Session, store: Store, selection: Selection) -> tuple[Any, ...]:
    row, seen = _one_matrix(session, store, selection)
    return seen.spy, row.n_rows, row.n_cols


def _row_lengths(session: Session, store: Store, selection: Selection) -> tuple[Any, ...]:
    return (_one_matrix(session, store, selection)[1].row_lengths,)


def _one_matrix(session: Session, store: Store, selection: Selection) -> tuple[Any, Picture]:
    if len(selection.matrix) != 1:
        raise ParameterError("This figure is of one matrix; name it with ?matrix=ID.")
    row = catalogue.get_matrix(session, selection.matrix[0])
    seen = picture(store, row)
    if seen is None:
        raise NotFoundError(f"The matrix {row.id} is {row.state} and has no picture.")
    return row, seen


LOADERS: dict[str, Callable[[Session, Store, Selection], tuple[Any, ...]]] = {
    "measurements": _measurements,
    "runs": _runs,
    "batches": _batches,
    "works": _works,
    "spy": _spy,
    "row_lengths": _row_lengths,
}
"""What each kind of figure is drawn from."""
