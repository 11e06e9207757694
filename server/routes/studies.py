"""/studies: the questions that a job can answer."""

from fastapi import APIRouter, Request, Response
from pydantic import TypeAdapter

from gpu_engine.studies import STUDIES
from server import documents
from server.answers import listed
from server.openapi import listing

router = APIRouter(tags=["studies"])


@router.get("/studies", responses=listing(documents.Study))
def list_studies(request: Request) -> Response:
    """Every study, with the JSON Schema of its parameters."""
    items = [
        {"name": study.name, "question": study.question, "params": TypeAdapter(study.Params).json_schema()}
        for study in STUDIES
    ]
    return listed(request, items)
