"""Route /history: the same cases over time."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from gpu_engine.records import Cache
from gpu_engine.studies import study
from server import catalogue, histories, history_documents
from server.deps import DatabaseDep
from server.openapi import list_response_docs
from server.responses import list_response

router = APIRouter(tags=["jobs"])
KERNELS_MAX = 100


class HistoryQuery(BaseModel):
    """Selection of cases: a study of a matrix on a device in one cache state, with all kernels or only some."""

    model_config = ConfigDict(extra="forbid")

    matrix: str
    device: str
    study: str = "formats"
    cache: Cache = "warm"
    kernel: list[str] = Field([], max_length=KERNELS_MAX)


@router.get("/history", responses=list_response_docs(history_documents.CaseHistory, 404))
def list_histories(request: Request, query: Annotated[HistoryQuery, Query()], database: DatabaseDep) -> Response:
    """Return every case with its newest 500 measurements over all jobs, and its change points."""
    with database.read() as session:
        matrix = catalogue.get_matrix(session, query.matrix)
        points = histories.read(session, study(query.study).name, matrix.id, [query.cache], query.device)
    doubtful = {each.key for each in histories.busy(points)}
    case_histories = histories.histories(points, query.kernel)
    return list_response(request, [history_documents.document(history, doubtful) for history in case_histories])
