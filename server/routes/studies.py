"""Route /studies: benchmark types and their parameters."""

from fastapi import APIRouter, Request, Response

from gpu_engine.studies import STUDIES
from server import documents
from server.openapi import list_response_docs, schema_of_params
from server.responses import list_response

router = APIRouter(tags=["studies"])


@router.get("/studies", responses=list_response_docs(documents.Study))
def list_studies(request: Request) -> Response:
    """Return every study, with the JSON Schema of its parameters."""
    items = [
        {"name": study.name, "question": study.question, "params": schema_of_params(study.Params)} for study in STUDIES
    ]
    return list_response(request, items)
