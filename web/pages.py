"""Page routes: each one parses an address, builds a context, and renders its template."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError
from server.catalogue import get_matrix
from server.custom_kernels import known_custom_kernels
from server.db import Database
from server.deps import DatabaseDep, FetcherDep, SettingsDep, StoreDep
from server.events import newest_id
from server.roles import READ
from server.routes.devices import list_devices
from server.routes.jobs import list_jobs
from server.routes.matrices import list_matrices
from web import assets, download, form_actions
from web.contexts import SignInPage
from web.documents import GLOSSARY
from web.error_pages import as_page
from web.form_actions import local_path
from web.histories import NAMES as HISTORY_PARAMETERS
from web.page_cache import PageCache
from web.pictures import picture
from web.rendering import render
from web.results import Results, results_of, with_set, with_traces
from web.selection import Selection, parse_options, parse_selection
from web.studies import PAGES, page_parameters
from web.studies.base import StudyPage
from web.thumbnails import thumbnail
from web.views import (
    catalogue,
    compare,
    device_pairs,
    documents,
    histories,
    home,
    jobs,
    matrices,
    measure,
    papers,
    report,
    study,
    tables,
)

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[READ])
open_router = APIRouter(include_in_schema=False)
PRIVATE = assets.IMMUTABLE.replace("public", "private")


def install(app: FastAPI) -> None:
    """Add pages and static files to the app, and show errors to browsers as pages."""
    app.state.pages = PageCache()
    app.include_router(assets.router)
    app.include_router(router)
    app.include_router(form_actions.router)
    app.include_router(open_router)
    app.include_router(form_actions.open_router)
    for kind, handler in list(app.exception_handlers.items()):
        app.exception_handlers[kind] = as_page(handler)


@contextmanager
def reading(request: Request, database: Database) -> Iterator[Session]:
    """Yield a session for a page; the newest event is read first, so that the browser gets all later ones."""
    with database.read() as session:
        request.state.event = newest_id(session)
        yield session


def selected(request: Request, session: Session) -> Selection:
    """Return the selection in the address of a study page."""
    return with_set(session, parse_selection(request.query_params.multi_items(), parameters=page_parameters()))


@router.get("/")
def show_home(request: Request, database: DatabaseDep) -> Response:
    """Return the home page: newest results, running jobs, devices."""
    parse_options(request.query_params.multi_items(), ())
    with reading(request, database) as session:
        return render(request, "home.html", home.page(session, request.app.state.pages))


@open_router.get("/sign-in")
def show_sign_in(request: Request) -> Response:
    """Return the page that asks for an access token."""
    options = parse_options(request.query_params.multi_items(), ("next",))
    return render(request, "sign_in.html", SignInPage("Sign in", "", local_path(options.get("next", "")), ""))


@router.get("/matrices")
def show_matrices(request: Request, database: DatabaseDep, fetcher: FetcherDep) -> Response:
    """Return the page of all matrices."""
    options = parse_options(request.query_params.multi_items(), catalogue.OPTIONS)
    with reading(request, database) as session:
        return render(request, "matrices.html", catalogue.page(session, options, fetcher))


@router.get("/matrices/{matrix_id}")
def show_matrix(
    matrix_id: str,
    request: Request,
    database: DatabaseDep,
    store: StoreDep,
    fetcher: FetcherDep,
    settings: SettingsDep,
) -> Response:
    """Return the page of a matrix."""
    history = parse_selection(request.query_params.multi_items(), ("kernel", "cache"))
    custom_kernels = known_custom_kernels(settings)
    with reading(request, database) as session:
        page = matrices.matrix_page(session, store, matrix_id, history, fetcher.is_on, custom_kernels)
        return render(request, "matrix.html", page)


@router.get("/matrices/{matrix_id}/spy.png")
def show_spy(matrix_id: str, database: DatabaseDep, store: StoreDep) -> Response:
    """Return a small PNG of the nonzeros of a matrix; raises NotFoundError if it has none."""
    with database.read() as session:
        structure = picture(store, get_matrix(session, matrix_id))
    if structure is None:
        raise NotFoundError(f"Matrix {matrix_id} has no picture, because its values are not on this server.")
    return Response(thumbnail(structure.spy), media_type="image/png", headers={"Cache-Control": PRIVATE})


@router.get("/jobs")
def show_jobs(request: Request, database: DatabaseDep) -> Response:
    """Return the page of all jobs."""
    options = parse_options(request.query_params.multi_items(), ("state", "study", "tag", "cursor"))
    with reading(request, database) as session:
        return render(request, "jobs.html", jobs.page(session, **options))


@router.get("/jobs/{job_id}")
def show_job(job_id: str, request: Request, database: DatabaseDep) -> Response:
    """Return the page of a job."""
    parse_options(request.query_params.multi_items(), ())
    with reading(request, database) as session:
        return render(request, "job.html", jobs.job_page(session, job_id))


@router.get("/jobs/{job_id}/compare")
def show_comparison(job_id: str, request: Request, database: DatabaseDep) -> Response:
    """Return the comparison of two jobs, before and after."""
    options = parse_options(request.query_params.multi_items(), ("with", "show"))
    with reading(request, database) as session:
        return render(request, "compare.html", compare.page(session, job_id, options["with"], options["show"]))


@router.get("/measure")
def show_measure(request: Request, database: DatabaseDep, settings: SettingsDep) -> Response:
    """Return the form that queues a job."""
    custom_kernels = known_custom_kernels(settings)
    with reading(request, database) as session:
        page = measure.page(session, request.query_params.multi_items(), custom_kernels)
        return render(request, "measure.html", page)


@router.get("/devices")
def show_devices(request: Request, database: DatabaseDep) -> Response:
    """Return the page of all devices."""
    parse_options(request.query_params.multi_items(), ())
    with reading(request, database) as session:
        return render(request, "devices.html", home.devices_page(session))


@router.get("/devices/compare")
def show_device_pair(request: Request, database: DatabaseDep) -> Response:
    """Return the comparison of two devices."""
    options = parse_options(request.query_params.multi_items(), device_pairs.OPTIONS)
    with reading(request, database) as session:
        return render(request, "device_pairs.html", device_pairs.page(session, options))


@router.get("/history")
def show_history(request: Request, database: DatabaseDep) -> Response:
    """Return the history of the cases of a matrix."""
    selection = parse_selection(request.query_params.multi_items(), HISTORY_PARAMETERS)
    with reading(request, database) as session:
        return render(request, "history.html", histories.page(session, selection))


@router.get("/papers")
def show_papers(request: Request) -> Response:
    """Return the page of all papers."""
    parse_options(request.query_params.multi_items(), ())
    return render(request, "papers.html", papers.page())


@router.get("/papers/{name}")
def show_paper(name: str, request: Request, database: DatabaseDep) -> Response:
    """Return the page of a paper."""
    options = parse_options(request.query_params.multi_items(), ("device", "matrix"))
    with reading(request, database) as session:
        return render(request, "paper.html", papers.paper_page(session, request.app.state.pages, name, **options))


@router.get("/docs")
def show_documents(request: Request) -> Response:
    """Return the page of all documents."""
    parse_options(request.query_params.multi_items(), ())
    return render(request, "documents.html", documents.index())


@router.get("/docs/{name}")
def show_document(name: str, request: Request) -> Response:
    """Return the page of a document."""
    parse_options(request.query_params.multi_items(), ())
    return render(request, "document.html", documents.page(name))


@router.get("/glossary")
def show_glossary(request: Request) -> Response:
    """Return the glossary."""
    parse_options(request.query_params.multi_items(), ())
    return render(request, "document.html", documents.page(GLOSSARY))


@router.get("/reference")
def show_reference(request: Request) -> Response:
    """Return the API reference."""
    parse_options(request.query_params.multi_items(), ())
    return render(request, "reference.html", documents.reference_page(request.app.openapi()))


def _add_study(page: StudyPage) -> None:
    """Add the routes of a study: its page, its report and tables, and its results as JSON and CSV."""

    def results(request: Request, session: Session) -> Results:
        return results_of(session, page.name, selected(request, session), named=False)

    def show(request: Request, database: DatabaseDep) -> Response:
        with reading(request, database) as session:
            view = request.app.state.pages.get(session, study.page, page, selected(request, session))
            return render(request, "study.html", view)

    def as_json(request: Request, database: DatabaseDep) -> Response:
        with database.read() as session:
            data = with_traces(session, results(request, session))
        return JSONResponse(download.document(data))

    def as_csv(request: Request, database: DatabaseDep) -> Response:
        with database.read() as session:
            selected_results = results(request, session).data
        return Response(
            download.csv(selected_results, page.findings(selected_results)), media_type="text/csv; charset=utf-8"
        )

    def as_report(request: Request, database: DatabaseDep) -> Response:
        with database.read() as session:
            selection = selected(request, session)
            view = report.page(session, page, selection, str(request.base_url).rstrip("/"))
        answer = render(request, "report.html", view)
        answer.headers["Content-Disposition"] = f'attachment; filename="sparsight-{page.name}.html"'
        return answer

    def show_table(name: str, request: Request, database: DatabaseDep) -> Response:
        name, dot, ending = name.partition(".")
        with reading(request, database) as session:
            selection = selected(request, session)
            if not dot:
                return render(request, "table.html", tables.page(session, page, selection, name))
            text = tables.text(session, page, selection, name, dot + ending)
        return Response(text, media_type="text/csv" if ending == "csv" else "text/plain")

    paths = (("", show), (".json", as_json), (".csv", as_csv), (".html", as_report), ("/tables/{name}", show_table))
    for path, endpoint in paths:
        router.add_api_route(f"/{page.name}{path}", endpoint)


for each in PAGES:
    _add_study(each)

LISTS: dict[str, Callable[..., Response]] = {"jobs": list_jobs, "matrices": list_matrices, "devices": list_devices}
"""Lists of the API at the addresses of their pages, with an ending and the same parameters."""

for name, listed in LISTS.items():
    for ending in (".json", ".csv"):
        router.add_api_route(f"/{name}{ending}", listed)
