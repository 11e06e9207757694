"""Page routes: each one parses an address, builds a context, and renders its template."""

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, FastAPI, Query, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from gpu_engine.errors import NotFoundError
from server.catalogue import get_matrix
from server.custom_kernels import known_custom_kernels
from server.deps import AccessDep, DatabaseDep, FetcherDep, SettingsDep, StoreDep
from server.roles import READ, CallerDep
from server.routes.devices import list_devices
from server.routes.jobs import list_jobs
from server.routes.matrices import list_matrices
from web import assets, chosen_devices, form_actions, study_routes
from web.contexts import SignInPage
from web.documents import GLOSSARY
from web.error_pages import as_page
from web.form_actions import local_path
from web.histories import NAMES as HISTORY_PARAMETERS
from web.page_cache import PageCache
from web.pictures import picture
from web.rendering import render
from web.selection import parse_options, parse_selection
from web.study_routes import reading
from web.thumbnails import SIDE, thumbnail
from web.views import (
    catalogue,
    compare,
    device_pairs,
    documents,
    histories,
    home,
    jobs,
    library,
    matrices,
    measure,
    paper_choice,
    papers,
    service,
)
from web.views.matrix_devices import device_options

router = APIRouter(include_in_schema=False, default_response_class=HTMLResponse, dependencies=[READ])
open_router = APIRouter(include_in_schema=False)
PRIVATE = assets.IMMUTABLE.replace("public", "private")
SpySide = Annotated[int, Query(ge=1, le=512)]
"""Largest side of the picture of a matrix, in pixels."""


def install(app: FastAPI) -> None:
    """Add pages and static files to the app, and show errors to browsers as pages."""
    app.state.pages = PageCache()
    app.include_router(assets.router)
    app.include_router(router)
    app.include_router(study_routes.router)
    app.include_router(form_actions.router)
    app.include_router(open_router)
    app.include_router(form_actions.open_router)
    for kind, handler in list(app.exception_handlers.items()):
        app.exception_handlers[kind] = as_page(handler)


@router.get("/")
def show_home(request: Request, database: DatabaseDep, fetcher: FetcherDep) -> Response:
    """Return the home page, or redirect to the page of the matrix that the address names."""
    options = parse_options(request.query_params.multi_items(), home.OPTIONS)
    with reading(request, database) as session:
        chosen = chosen_devices.last_of(request, session, home.device_ids(session))
        question = home.parse_question(session, {**options, "device": options["device"] or chosen})
        if answer := home.answer_url(session, question):
            response: Response = RedirectResponse(answer, 303)
        else:
            response = render(request, "home.html", home.page(session, question, fetcher))
    chosen_devices.remember(request, response, tuple(filter(None, [options["device"]])))
    return response


@open_router.get("/sign-in")
def show_sign_in(request: Request, access: AccessDep) -> Response:
    """Return the page that asks for an access token, if the server has any."""
    options = parse_options(request.query_params.multi_items(), ("next",))
    page = SignInPage("Sign in", "", local_path(options.get("next", "")), "", access.is_open())
    return render(request, "sign_in.html", page)


@router.get("/matrices")
def show_matrices(request: Request, database: DatabaseDep) -> Response:
    """Return the page of all matrices."""
    options = parse_options(request.query_params.multi_items(), catalogue.OPTIONS)
    with reading(request, database) as session:
        return render(request, "matrices.html", catalogue.page(session, options))


@router.get("/matrices/{matrix_id}")
def show_matrix(
    matrix_id: str, request: Request, database: DatabaseDep, store: StoreDep, fetcher: FetcherDep
) -> Response:
    """Return the page of a matrix."""
    question = matrices.question_of(parse_options(request.query_params.multi_items(), matrices.OPTIONS))
    with reading(request, database) as session:
        offered = [option.value for option in device_options(session, matrix_id)]
        device = chosen_devices.last_of(request, session, offered)
        if address := chosen_devices.matrix_address(request, device):
            return RedirectResponse(address, 303)
        page = matrices.matrix_page(session, store, matrix_id, question, fetcher.is_on)
        response = render(request, "matrix.html", page)
    chosen_devices.remember(request, response, (page.device,), device or offered[0])
    return response


@router.get("/matrices/{matrix_id}/spy.png")
def show_spy(matrix_id: str, database: DatabaseDep, store: StoreDep, side: SpySide = SIDE) -> Response:
    """Return a PNG of the nonzeros of a matrix; raises NotFoundError if it has none."""
    with database.read() as session:
        structure = picture(store, get_matrix(session, matrix_id))
    if structure is None:
        raise NotFoundError(f"Matrix {matrix_id} has no picture, because its values are not on this server.")
    return Response(thumbnail(structure.spy, side), media_type="image/png", headers={"Cache-Control": PRIVATE})


@router.get("/jobs")
def show_jobs(request: Request, database: DatabaseDep) -> Response:
    """Return the page of all jobs."""
    options = parse_options(request.query_params.multi_items(), ("state", "study", "tag", "cursor"))
    with reading(request, database) as session:
        return render(request, "jobs.html", jobs.page(session, **options))


@router.get("/jobs/compare")
def show_chosen_comparison(request: Request) -> Response:
    """Redirect to the comparison of the two jobs that were ticked in the list; raises ParameterError."""
    return RedirectResponse(compare.address_of(request.query_params.getlist("job")), 303)


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
        page = measure.page(
            session, request.query_params.multi_items(), custom_kernels, request.app.state.starts_worker
        )
        return render(request, "measure.html", page)


@router.get("/service")
def show_service(
    request: Request, database: DatabaseDep, settings: SettingsDep, access: AccessDep, caller: CallerDep
) -> Response:
    """Return the page of the service: its state, queue, devices, and response times."""
    parse_options(request.query_params.multi_items(), ())
    with reading(request, database) as session:
        page = service.page(session, request.app.state.metrics.values(), settings, caller, access.is_open())
        return render(request, "service.html", page)


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


@router.get("/library")
def show_library(request: Request, database: DatabaseDep) -> Response:
    """Return the page of all papers and documents."""
    parse_options(request.query_params.multi_items(), ())
    with reading(request, database) as session:
        return render(request, "library.html", library.page(session, request.app.state.pages))


@router.get("/papers/{name}")
def show_paper(name: str, request: Request, database: DatabaseDep) -> Response:
    """Return the page of a paper."""
    options = parse_options(request.query_params.multi_items(), paper_choice.PARAMETERS)
    with reading(request, database) as session:
        return render(request, "paper.html", papers.paper_page(session, request.app.state.pages, name, options))


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


LISTS: dict[str, Callable[..., Response]] = {"jobs": list_jobs, "matrices": list_matrices, "devices": list_devices}
"""Lists of the API at the addresses of their pages, with an ending and the same parameters."""

for name, listed in LISTS.items():
    for ending in (".json", ".csv"):
        router.add_api_route(f"/{name}{ending}", listed)
