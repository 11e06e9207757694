"""Endpoints for the figures of the pages, as Plotly JSON that `plotly.io.from_json` reads."""

from fastapi import APIRouter, Request, Response

from server import documents
from server.deps import DatabaseDep, StoreDep
from server.openapi import etag_response_docs, list_response_docs
from server.responses import etag_response, list_response
from web.figure_sources import SOURCES, find_source, source_drawing
from web.provenance import name_provenance
from web.selection import DATA_NAMES, VALUES_MAX, parse_options, parse_selection
from web.studies import page_parameters

router = APIRouter(tags=["figures"])
QUERY = {"type": "array", "items": {"type": "string"}, "maxItems": VALUES_MAX}
SELECTION = {
    "parameters": [{"name": name, "in": "query", "schema": QUERY} for name in (*DATA_NAMES, *page_parameters())]
}


@router.get("/figures", responses=list_response_docs(documents.FigureEntry))
def list_figures(request: Request) -> Response:
    """Return all figures with the parameters that each one requires."""
    parse_options(request.query_params.multi_items(), ())
    items = [
        {
            "name": name,
            "title": source.title,
            "needs": source.needs,
            "parameters": list(source.parameters),
            "href": f"/api/v1/figures/{name}",
        }
        for name, source in SOURCES.items()
    ]
    return list_response(request, items)


@router.get("/figures/{name}", responses=etag_response_docs(documents.PlotlyFigure, 404), openapi_extra=SELECTION)
def get_figure(name: str, request: Request, database: DatabaseDep, store: StoreDep) -> Response:
    """Return the figure of a selection as Plotly JSON; `GET /figures` lists the parameters of each figure."""
    source = find_source(name)
    selection = parse_selection(request.query_params.multi_items(), parameters=page_parameters())
    with database.read() as session:
        drawing = source_drawing(source, session, store, selection)
    name_provenance(drawing.figure, source.title, drawing.lines)
    return etag_response(request, drawing.figure.to_json())
