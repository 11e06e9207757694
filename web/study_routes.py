"""Routes of the studies: pages, reports, tables, and results as files; and every figure as a drawing."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from sqlalchemy.orm import Session

from server.db import Database
from server.deps import DatabaseDep, StoreDep
from server.events import newest_id
from server.responses import etag_response
from server.roles import READ
from web import chosen_devices, download, figure_svg
from web.figure_sources import address_of, find_source, source_drawing
from web.figure_svg import colors
from web.rendering import render
from web.results import Results, results_of, with_set, with_traces
from web.selection import VALUES_MAX, Selection, parse_selection, with_nearest
from web.studies import PAGES, page_parameters
from web.studies.base import StudyPage
from web.views import report, study, tables

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[READ])
SVG_TYPE = "image/svg+xml"
OF_DRAWINGS = ("width", "paper", "version")
"""Parameters of a drawing itself; version: changes with its data, so that browsers fetch it again."""

Width = Annotated[int, Query(ge=figure_svg.WIDTHS[0], le=figure_svg.WIDTHS[1])]
Top = Annotated[int, Query(ge=1, le=VALUES_MAX)]


@contextmanager
def reading(request: Request, database: Database) -> Iterator[Session]:
    """Yield a session for a page; the newest event is read first, so that the browser gets all later ones."""
    with database.read() as session:
        request.state.event = newest_id(session)
        yield session


def selected(request: Request, session: Session, *others: str) -> Selection:
    """Return the selection in the address of a study page; others: parameters that are no part of it."""
    query = [(name, value) for name, value in request.query_params.multi_items() if name not in others]
    return with_set(session, parse_selection(query, parameters=page_parameters()))


@router.get("/figures/{name}.svg")
def show_drawing(
    name: str,
    request: Request,
    database: DatabaseDep,
    store: StoreDep,
    width: Width = figure_svg.WIDTH,
    *,
    paper: bool = False,
) -> Response:
    """Return a figure as SVG that follows the theme of the page, or on white with its title and origin for a paper."""
    source = find_source(name)
    with database.read() as session:
        selection = selected(request, session, *OF_DRAWINGS)
        drawing = source_drawing(source, session, store, selection)
    svg = figure_svg.draw(drawing.figure, width)
    if not paper:
        return etag_response(request, colors.with_tokens(svg), SVG_TYPE)
    # The page that asked for the drawing, or the one that shows it.
    site, referrer = site_of(request), request.headers.get("referer", "")
    address = referrer if referrer.startswith(f"{site}/") else site + address_of(source, selection)
    lines = (*drawing.lines, *figure_svg.address_lines(address, width))
    return etag_response(request, figure_svg.on_paper(svg, source.title, lines), SVG_TYPE)


def _add_study(page: StudyPage) -> None:
    """Add the routes of a study: its page, its report and tables, and its results as JSON, CSV, and BibTeX."""

    def results(request: Request, session: Session) -> Results:
        return results_of(session, page.name, selected(request, session), named=False)

    def show(request: Request, database: DatabaseDep) -> Response:
        parameters = page_parameters()
        query, note = with_nearest(request.query_params.multi_items(), parameters)
        with reading(request, database) as session:
            selection = with_set(session, parse_selection(query, parameters=parameters))
            device = chosen_devices.chosen_device(request, session, page.name)
            if address := chosen_devices.address_on(device, page.name, selection):
                return RedirectResponse(address, 303)
            view = request.app.state.pages.get(session, study.page, page, selection)
            response = render(request, "study.html", replace(view, number_note=note) if note else view)
            devices = chosen_devices.devices_of(session, selection)
        chosen_devices.remember(request, response, devices, device)
        return response

    def as_json(request: Request, database: DatabaseDep) -> Response:
        with database.read() as session:
            data = page.used(with_traces(session, results(request, session)))
        return JSONResponse(download.document(data), headers=_file(f"sparsight-{page.name}.json"))

    def as_csv(request: Request, database: DatabaseDep) -> Response:
        with database.read() as session:
            data = page.used(results(request, session).data)
        text = download.csv(data, page.study.findings(data), page.csv_fields(data))
        return Response(text, media_type="text/csv; charset=utf-8", headers=_file(f"sparsight-{page.name}.csv"))

    def as_bibtex(request: Request, database: DatabaseDep) -> Response:
        with database.read() as session:
            text = report.bibtex(session, page, selected(request, session), site_of(request))
        return Response(text, media_type="application/x-bibtex", headers=_file(f"sparsight-{page.name}.bib"))

    def as_report(request: Request, database: DatabaseDep) -> Response:
        with database.read() as session:
            view = report.page(session, page, selected(request, session), site_of(request))
        answer = render(request, "report.html", view)
        answer.headers.update(_file(f"sparsight-{page.name}.html"))
        return answer

    def show_table(name: str, request: Request, database: DatabaseDep, top: Top = 0) -> Response:
        name, dot, ending = name.partition(".")
        with reading(request, database) as session:
            selection = selected(request, session, "top")
            if not dot:
                return render(request, "table.html", tables.page(session, page, selection, name, top))
            text = tables.text(session, page, selection, name, dot + ending, top)
        kind = "text/csv" if ending == "csv" else "text/plain"
        file = f"sparsight-{page.name}-{name}{f'-top{top}' if top else ''}.{ending}"
        return Response(text, media_type=kind, headers=_file(file))

    paths = (("", show), (".json", as_json), (".csv", as_csv), (".bib", as_bibtex), (".html", as_report))
    for path, endpoint in (*paths, ("/tables/{name}", show_table)):
        router.add_api_route(f"/{page.name}{path}", endpoint)


def site_of(request: Request) -> str:
    """Return the address of the server."""
    return str(request.base_url).rstrip("/")


def _file(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"'}


for each in PAGES:
    _add_study(each)
