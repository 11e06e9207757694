"""Form submissions without JavaScript: each one calls the function of the API and redirects to a page."""

import re
from typing import Annotated
from urllib.parse import parse_qsl, urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from gpu_engine.errors import ParameterError
from gpu_engine.generators import find_generator
from gpu_engine.studies import STUDIES, study
from server import matrix_sets
from server.deps import AccessDep, CookieDep, DatabaseDep, FetcherDep, IngestorDep, SettingsDep
from server.devices import AUTO
from server.guard import SIGN_IN, client_of
from server.jobs import queue
from server.roles import READ, SUBMIT, CallerDep
from server.routes.collection import take_fetch
from server.routes.matrices import take_call, take_upload
from server.routes.recordings import take_recording
from server.tokens import session_s
from web.forms import values_of
from web.selection import Selection, study_url
from web.studies.formats import FORMATS
from web.views.catalogue import all_devices, measured_on

router = APIRouter(include_in_schema=False, dependencies=[READ])
open_router = APIRouter(include_in_schema=False)
LOCAL_PATH = re.compile(r"/([!-.0-\[\]-~][!-\[\]-~]*)?")
"""Printable ASCII that begins with one slash; browsers treat a backslash as a second one."""

Fields = list[tuple[str, str]]


async def form_of(request: Request) -> Fields:
    """Return the non-empty fields of a form."""
    return parse_qsl((await request.body()).decode(errors="replace"))


FieldsDep = Annotated[Fields, Depends(form_of)]


@router.post("/matrices", dependencies=[SUBMIT])
async def upload_file(request: Request, ingestor: IngestorDep, caller: CallerDep) -> Response:
    """Upload a matrix file and redirect to the matrix."""
    row, _ = await take_upload(request, ingestor, caller)
    return to(f"/matrices/{row.id}")


@router.post("/matrices/generate", dependencies=[SUBMIT])
def generate(fields: FieldsDep, ingestor: IngestorDep, caller: CallerDep) -> Response:
    """Generate a matrix from `generator`, its parameters, and an optional `name`, and redirect to it."""
    given = {"generator": "", "name": ""} | dict(fields)
    params = values_of(find_generator(given["generator"]).Params, fields, but=("generator", "name"))
    row, _ = take_call(ingestor, caller, given["generator"], params, given["name"])
    return to(f"/matrices/{row.id}")


@router.post("/matrices/fetch", dependencies=[SUBMIT])
def fetch(fields: FieldsDep, fetcher: FetcherDep, caller: CallerDep) -> Response:
    """Download a matrix of the collection by its `name` and redirect to it."""
    row, _ = take_fetch(fetcher, caller, dict(fields).get("name", ""))
    return to(f"/matrices/{row.id}")


@router.post("/jobs", dependencies=[SUBMIT])
def measure(fields: FieldsDep, database: DatabaseDep, settings: SettingsDep, caller: CallerDep) -> Response:
    """Queue a study from `study`, `device`, `matrix_ids` (repeatable), and its parameters, and redirect to the job.

    A form may have the fields of several studies, such as `formats.rounds`; fields of other studies are ignored.
    """
    given = {"device": AUTO, "study": ""} | dict(fields)
    chosen = study(given["study"])
    matrices = tuple(dict.fromkeys(value for name, value in fields if name == "matrix_ids"))
    others = tuple(f"{each.name}." for each in STUDIES if each is not chosen)
    study_fields = [(name.removeprefix(f"{chosen.name}."), v) for name, v in fields if not name.startswith(others)]
    params = values_of(chosen.Params, study_fields, but=("study", "device", "matrix_ids"))
    if not matrices:
        raise ParameterError("Choose at least one matrix.")
    request = queue.JobRequest(given["study"], matrices, params, given["device"])
    job, _ = queue.submit(database, settings, request, caller=caller)
    return to(f"/jobs/{job.id}")


@router.post("/matrices/{matrix_id}/measure", dependencies=[SUBMIT])
def measure_matrix(
    matrix_id: str,
    request: Request,
    fields: FieldsDep,
    database: DatabaseDep,
    settings: SettingsDep,
    caller: CallerDep,
) -> Response:
    """Queue the kernels of all formats on a matrix with the default settings, and redirect to the matrix.

    `device` measures it; `n` and `iterations` in the address are those of the answers.
    """
    given = {"device": AUTO} | dict(fields)
    answer = {name: value for name, value in request.query_params.items() if name in ("n", "iterations")}
    job_request = queue.JobRequest(FORMATS.name, (matrix_id,), {}, given["device"])
    job, _ = queue.submit(database, settings, job_request, caller=caller)
    return to(f"/matrices/{matrix_id}?{urlencode(answer | {'device': job.device})}")


@router.get("/compare")
def compare(request: Request, database: DatabaseDep) -> Response:
    """Redirect to the formats page of `matrix_ids` (repeatable) on all devices that measured one of them."""
    query = request.query_params.multi_items()
    matrices = tuple(dict.fromkeys(value for name, value in query if name == "matrix_ids"))
    with database.read() as session:
        devices = all_devices(measured_on(session, matrices).values())
    return to(study_url(FORMATS.name, Selection(matrix=matrices, device=devices)))


@router.post("/jobs/{job_id}/annotations", dependencies=[SUBMIT])
def annotate(job_id: str, fields: FieldsDep, database: DatabaseDep, caller: CallerDep) -> Response:
    """Replace the `tags` (separated by spaces) and the `note` of a job, and redirect to it."""
    given = {"tags": "", "note": ""} | dict(fields)
    queue.annotate(database, job_id, given["tags"].split(), given["note"], caller)
    return to(f"/jobs/{job_id}")


@router.post("/sets", dependencies=[SUBMIT])
def save_set(fields: FieldsDep, database: DatabaseDep) -> Response:
    """Save `matrix_ids` or `matrix` (repeatable) as a selection with an optional `name`, and redirect to it."""
    matrices = [value for name, value in fields if name in ("matrix_ids", "matrix")]
    row, _ = matrix_sets.save(database, matrices, dict(fields).get("name", ""))
    return to(f"/matrices?set={row.id}")


@router.post("/recordings", dependencies=[SUBMIT])
async def import_recording(
    request: Request, database: DatabaseDep, ingestor: IngestorDep, caller: CallerDep
) -> Response:
    """Import reference results and redirect to the devices."""
    await take_recording(request, database, ingestor, caller)
    return to("/service#devices")


def to(url: str) -> Response:
    """Return a redirect (303) from a form to a page."""
    return RedirectResponse(url, 303)


@open_router.post("/sign-in")
def sign_in(request: Request, fields: FieldsDep, access: AccessDep, cookie: CookieDep) -> Response:
    """Sign a browser in with a `token`, and redirect to the path `next` of the query."""
    answer = to(local_path(request.query_params.get("next", "")))
    if access.is_open():
        return answer
    secret = dict(fields).get("token", "").strip()
    value, caller = access.sign_in(secret, cookie.read(request.scope), client_of(request.scope))
    request.state.caller = caller
    cookie.give(answer, value, session_s(caller.role), request.url.scheme)
    return answer


@router.post("/sign-out")
def sign_out(request: Request, caller: CallerDep, access: AccessDep, cookie: CookieDep) -> Response:
    """End the session of a browser."""
    access.sign_out(caller)
    answer = to(SIGN_IN)
    cookie.take(answer, request.url.scheme)
    return answer


def local_path(text: str) -> str:
    """Return a path of this server for a redirect; any text that may name another host becomes `/`."""
    return text if LOCAL_PATH.fullmatch(text) else "/"
