"""Route /audit: the audit log."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from server import audit, documents
from server.deps import DatabaseDep
from server.openapi import list_response_docs
from server.paging import LIMIT_DEFAULT, LIMIT_MAX
from server.responses import list_response
from server.roles import ADMIN

router = APIRouter(tags=["audit"], dependencies=[ADMIN])


class AuditQuery(BaseModel):
    """Query of the audit log."""

    model_config = ConfigDict(extra="forbid")

    who: str = Field("", max_length=60, description="Name of a token; empty: all.")
    limit: int = Field(LIMIT_DEFAULT, ge=1, le=LIMIT_MAX)
    cursor: str | None = None


@router.get("/audit", responses=list_response_docs(documents.AuditEntry))
def list_audit(request: Request, query: Annotated[AuditQuery, Query()], database: DatabaseDep) -> Response:
    """Return the requests that may have changed something, and tokens created and revoked, the newest first."""
    with database.read() as session:
        page = audit.list_audit(session, **query.model_dump())
        return list_response(request, [audit.audit_document(row) for row in page.items], page.next)
