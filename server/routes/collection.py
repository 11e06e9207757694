"""Routes /collection: index of the SuiteSparse Matrix Collection, and /matrices/fetch: downloads by name."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from server import documents, matrix_lifecycle, quotas
from server.collection.conditions import COLUMNS, LENGTH_MAX, parse_where
from server.collection.entries import Entry
from server.collection.fetcher import Fetcher
from server.collection.index import SORTS, Index, search
from server.deps import DatabaseDep, FetcherDep
from server.models import MatrixRow
from server.openapi import list_response_docs, response_docs
from server.paging import LIMIT_DEFAULT, LIMIT_MAX
from server.responses import list_response
from server.roles import SUBMIT, Caller, CallerDep
from server.routes.matrices import ADDED, answer_added

router = APIRouter()


class CollectionQuery(BaseModel):
    """Query of the index: filters, order, and page."""

    model_config = ConfigDict(extra="forbid")

    q: str = Field("", max_length=200, description="Part of GROUP/NAME or of the kind, in any case.")
    where: str = Field(
        "", max_length=LENGTH_MAX, description=f"Condition on {', '.join(COLUMNS)}, such as nnz > 1e6 and spd."
    )
    sort: str = Field("name", description=f"One of {', '.join(SORTS)}; a leading minus sorts in descending order.")
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX)
    cursor: str | None = None


class FetchCall(BaseModel):
    """Request for a matrix of the collection."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "HB/bcsstk16"}]})

    name: str = Field(description="Name in the collection: GROUP/NAME.")


@router.post("/matrices/fetch", tags=["matrices"], status_code=202, responses=ADDED, dependencies=[SUBMIT])
def fetch_matrix(call: FetchCall, fetcher: FetcherDep, caller: CallerDep, database: DatabaseDep) -> Response:
    """Download a matrix of the SuiteSparse Matrix Collection. The status is 202, or 200 for a matrix that was
    downloaded before.
    """
    return answer_added(database, *take_fetch(fetcher, caller, call.name))


@router.get("/collection", tags=["collection"], responses=list_response_docs(documents.CollectionEntry))
def list_collection(request: Request, query: Annotated[CollectionQuery, Query()], fetcher: FetcherDep) -> Response:
    """Return the matrices that can be downloaded by name, as far as the local index contains them. Nothing is
    downloaded.
    """
    where = parse_where(query.where)
    page = search(fetcher.shelf.index(), query.q, where, query.sort, query.limit, query.cursor)
    return list_response(request, [entry_document(entry) for entry in page.items], page.next)


@router.get("/collection/index", tags=["collection"], responses=response_docs(documents.CollectionIndex))
def get_collection_index(fetcher: FetcherDep) -> Response:
    """Return the origin and the size of the local index."""
    return JSONResponse(_index_document(fetcher, fetcher.shelf.index()))


@router.post(
    "/collection/index",
    tags=["collection"],
    responses=response_docs(documents.CollectionIndex, 409),
    dependencies=[SUBMIT],
)
def fetch_collection_index(fetcher: FetcherDep) -> Response:
    """Download the list of all matrices of the collection, at most once per minute."""
    return JSONResponse(_index_document(fetcher, fetcher.refresh()))


def take_fetch(fetcher: Fetcher, caller: Caller, name: str) -> tuple[MatrixRow, bool]:
    """Return the matrix of that name, and whether it is new. It counts as an upload of its estimated archive size."""
    entry = fetcher.find(name.strip())
    quotas.charge_upload(fetcher.ingestor.database, caller, fetcher.bytes_of(entry))
    added = matrix_lifecycle.add_fetched(fetcher, entry)
    return added.row, added.created


def entry_document(entry: Entry) -> dict[str, Any]:
    """Return the REST document of a matrix of the collection; unknown values are null."""
    fields = asdict(entry) | {"kind": entry.kind or None, "about_bytes": entry.about_bytes}
    return {"id": entry.id, **fields}


def _index_document(fetcher: Fetcher, index: Index) -> dict[str, Any]:
    origin = {name: text or None for name, text in asdict(index.origin).items()}
    return {"is_complete": bool(index.origin.address), "is_on": fetcher.is_on, "count": len(index.entries), **origin}
