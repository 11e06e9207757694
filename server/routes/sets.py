"""Routes /sets: saved selections of matrices."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from server import documents, matrix_sets
from server.deps import DatabaseDep
from server.examples import MATRIX_ID
from server.openapi import list_response_docs, problem_docs, response_docs
from server.responses import list_response
from server.roles import ADMIN, SUBMIT

router = APIRouter(prefix="/sets", tags=["matrices"])


class SetBody(BaseModel):
    """Matrices of a saved selection, and its name."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"matrix_ids": [MATRIX_ID]}]})

    matrix_ids: list[str] = Field(min_length=1, max_length=documents.MATRICES_MAX)
    name: str = ""


@router.post(
    "",
    status_code=201,
    responses=response_docs(documents.MatrixSet, 404, success=201, also={200: "The set already existed."}),
    dependencies=[SUBMIT],
)
def create_set(body: SetBody, database: DatabaseDep) -> Response:
    """Save matrices as a set, which `set=ID` selects in the address of a page. Equal matrices give the same set,
    renamed.
    """
    row, created = matrix_sets.save(database, body.matrix_ids, body.name)
    headers = {"Location": matrix_sets.set_path(row.id)}
    return JSONResponse(matrix_sets.set_document(row), 201 if created else 200, headers)


@router.get("", responses=list_response_docs(documents.MatrixSet))
def list_sets(request: Request, database: DatabaseDep) -> Response:
    """Return all sets, the newest first."""
    with database.read() as session:
        return list_response(request, [matrix_sets.set_document(row) for row in matrix_sets.list_sets(session)])


@router.get("/{set_id}", responses=response_docs(documents.MatrixSet, 404))
def get_set(set_id: str, database: DatabaseDep) -> Response:
    """Return the set."""
    with database.read() as session:
        return JSONResponse(matrix_sets.set_document(matrix_sets.get_set(session, set_id)))


@router.delete("/{set_id}", status_code=204, responses=problem_docs(404), dependencies=[ADMIN])
def delete_set(set_id: str, database: DatabaseDep) -> None:
    """Delete the set but not its matrices."""
    matrix_sets.delete_set(database, set_id)
