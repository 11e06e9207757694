"""Forms as a browser sends them by itself, without scripts: each does what the API does and leads to a page."""

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse

from gpu_engine.errors import ParameterError
from gpu_engine.generators import generator
from gpu_engine.studies import STUDIES, study
from server import catalogue
from server.deps import DatabaseDep, IngestorDep, SettingsDep
from server.devices import AUTO
from server.jobs import queue
from server.routes.matrices import take_upload
from web.forms import values_of
from web.selection import Selection
from web.studies.formats import FORMATS
from web.views.catalogue import all_devices, measured_on
from web.views.lines import study_url

router = APIRouter(include_in_schema=False)
Fields = list[tuple[str, str]]


async def _fields(request: Request) -> Fields:
    """The fields of a form, empty ones left out."""
    return parse_qsl((await request.body()).decode(errors="replace"))


FieldsDep = Annotated[Fields, Depends(_fields)]


@router.post("/matrices")
async def upload_file(request: Request, ingestor: IngestorDep) -> Response:
    """Takes in a matrix file and shows the matrix."""
    row, _ = await take_upload(request, ingestor)
    return _to(f"/matrices/{row.id}")


@router.post("/matrices/generate")
def generate(fields: FieldsDep, ingestor: IngestorDep) -> Response:
    """Generates a matrix and shows it: `family` and its parameters, and its `name` if you like."""
    given = {"family": "", "name": ""} | dict(fields)
    params = values_of(generator(given["family"]).Params, fields, but=("family", "name"))
    return _to(f"/matrices/{catalogue.add_generated(ingestor, given['family'], params, given['name']).row.id}")


@router.post("/jobs")
def measure(fields: FieldsDep, database: DatabaseDep, settings: SettingsDep) -> Response:
    """Queues a study and shows the job: `study`, `device`, `matrix_ids` (repeatable), and parameters of the study.

    A form may have the fields of several studies, `formats.rounds`: those of the others are left out.
    """
    given = {"device": AUTO, "study": ""} | dict(fields)
    chosen = study(given["study"])
    matrices = tuple(dict.fromkeys(value for name, value in fields if name == "matrix_ids"))
    others = tuple(f"{each.name}." for each in STUDIES if each is not chosen)
    own = [(name.removeprefix(f"{chosen.name}."), v) for name, v in fields if not name.startswith(others)]
    params = values_of(chosen.Params, own, but=("study", "device", "matrix_ids"))
    if not matrices:
        raise ParameterError("No matrix is chosen; tick one or more.")
    job, _ = queue.submit(database, settings, queue.JobRequest(given["study"], matrices, params, given["device"]))
    return _to(f"/jobs/{job.id}")


@router.get("/compare")
def compare(request: Request, database: DatabaseDep) -> Response:
    """Shows what is known of some matrices, `matrix_ids` (repeatable), on the devices that measured one of them."""
    query = request.query_params.multi_items()
    matrices = tuple(dict.fromkeys(value for name, value in query if name == "matrix_ids"))
    with database.read() as session:
        devices = all_devices(measured_on(session, matrices).values())
    return _to(study_url(FORMATS.name, Selection(matrix=matrices, device=devices)))


def _to(url: str) -> Response:
    return RedirectResponse(url, 303)
