"""/collection: the index of the SuiteSparse Matrix Collection. /matrices/fetch: a matrix of it by name."""

from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field

from server import documents, intake, quotas
from server.collection.entries import Entry
from server.collection.fetcher import Fetcher
from server.collection.index import SORTS, Index, search
from server.collection.where import COLUMNS, LENGTH_MAX, parse_where
from server.deps import DatabaseDep, FetcherDep
from server.models import MatrixRow
from server.openapi import list_response_docs, response_docs
from server.paging import LIMIT_DEFAULT, LIMIT_MAX
from server.responses import list_response
from server.roles import SUBMIT, Caller, CallerDep
from server.routes.matrices import ADDED, answer_added

router = APIRouter()


class CollectionQuery(BaseModel):
    """Which matrices of the collection, in which order, how many at a time."""

    model_config = ConfigDict(extra="forbid")

    q: str = Field("", max_length=200, description="Part of GROUP/NAME, or of the kind.")
    where: str = Field(
        "", max_length=LENGTH_MAX, description=f"A condition on {', '.join(COLUMNS)}, such as nnz > 1e6 and spd."
    )
    sort: str = Field("name", description=f"{', '.join(SORTS)}; a minus before it: descending.")
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX)
    cursor: str | None = None


class FetchCall(BaseModel):
    """A matrix of the collection."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "HB/bcsstk16"}]})

    name: str = Field(description="GROUP/NAME, as the collection calls it.")


@router.post("/matrices/fetch", tags=["matrices"], status_code=202, responses=ADDED, dependencies=[SUBMIT])
def fetch_matrix(call: FetchCall, fetcher: FetcherDep, caller: CallerDep, database: DatabaseDep) -> Response:
    """Fetches a matrix of the SuiteSparse Matrix Collection: 202; one that was fetched before is found: 200."""
    return answer_added(database, *take_fetch(fetcher, caller, call.name))


@router.get("/collection", tags=["collection"], responses=list_response_docs(documents.CollectionEntry))
def list_collection(request: Request, query: Annotated[CollectionQuery, Query()], fetcher: FetcherDep) -> Response:
    """What can be fetched by name, as far as it is known here; nothing is fetched for the answer."""
    where = parse_where(query.where)
    page = search(fetcher.shelf.index(), query.q, where, query.sort, query.limit, query.cursor)
    return list_response(request, [entry_document(entry) for entry in page.items], page.next)


@router.get("/collection/index", tags=["collection"], responses=response_docs(documents.CollectionIndex))
def get_collection_index(fetcher: FetcherDep) -> Response:
    """Where the list of what can be fetched comes from, and how many matrices it has."""
    return JSONResponse(_index_document(fetcher, fetcher.shelf.index()))


@router.post(
    "/collection/index",
    tags=["collection"],
    responses=response_docs(documents.CollectionIndex, 409),
    dependencies=[SUBMIT],
)
def fetch_collection_index(fetcher: FetcherDep) -> Response:
    """Fetches the list of all matrices of the collection, at most once a minute."""
    return JSONResponse(_index_document(fetcher, fetcher.refresh()))


def take_fetch(fetcher: Fetcher, caller: Caller, name: str) -> tuple[MatrixRow, bool]:
    """The matrix of that name, and whether it is new: an upload of about as many bytes as its archive has."""
    entry = fetcher.find(name.strip())
    quotas.charge_upload(fetcher.ingestor.database, caller, fetcher.bytes_of(entry))
    added = intake.add_fetched(fetcher, entry)
    return added.row, added.created


def entry_document(entry: Entry) -> dict[str, Any]:
    """A matrix of the collection in its REST form; null where the index does not say."""
    fields = asdict(entry) | {"kind": entry.kind or None, "about_bytes": entry.about_bytes}
    return {"id": entry.id, **fields}


def _index_document(fetcher: Fetcher, index: Index) -> dict[str, Any]:
    told = {name: text or None for name, text in asdict(index.origin).items()}
    return {"is_complete": bool(index.origin.address), "is_on": fetcher.is_on, "count": len(index.entries), **told}
