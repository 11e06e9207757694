"""/formats: the storage formats and their kernels, and the libraries they are measured against."""

from typing import Any

from fastapi import APIRouter, Request, Response

from gpu_engine.competitors import COMPETITORS
from gpu_engine.formats import FORMATS
from gpu_engine.formats.base import Format, Kernel
from server import documents
from server.openapi import list_response_docs
from server.responses import list_response

router = APIRouter(tags=["formats"])

BACKENDS = ("cpu", "cuda")


@router.get("/formats", responses=list_response_docs(documents.StorageFormat))
def list_formats(request: Request) -> Response:
    """Every format with its kernels; `competitor` marks other libraries."""
    ours = [_format_document(format_, competitor=False) for format_ in FORMATS]
    theirs = [_format_document(format_, competitor=True) for format_ in COMPETITORS]
    return list_response(request, ours + theirs)


def _format_document(format_: Format, competitor: bool) -> dict[str, Any]:
    return {
        "name": format_.name,
        "title": format_.title,
        "summary": format_.summary,
        "competitor": competitor,
        "kernels": [_kernel_document(format_, kernel) for kernel in format_.kernels],
    }


def _kernel_document(format_: Format, kernel: Kernel) -> dict[str, Any]:
    return {
        "name": f"{format_.name}/{kernel.variant}",
        "variant": kernel.variant,
        "summary": kernel.summary,
        "backends": [backend for backend in BACKENDS if kernel.runs_on(backend)],
    }
