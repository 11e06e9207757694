"""Route /formats: storage formats and their kernels, and library kernels."""

from typing import Any

from fastapi import APIRouter, Request, Response

from gpu_engine.competitors import COMPETITORS
from gpu_engine.errors import NotFoundError, quote
from gpu_engine.formats import FORMATS, kernel_names
from gpu_engine.formats.base import Format, Kernel
from gpu_engine.records import BACKENDS
from gpu_engine.standalone import archive, folder_of
from server import documents
from server.openapi import BYTES, list_response_docs, problem_docs
from server.responses import list_response

router = APIRouter(tags=["formats"])


@router.get("/formats", responses=list_response_docs(documents.StorageFormat))
def list_formats(request: Request) -> Response:
    """Return every format with its kernels. `is_library` marks other libraries."""
    ours = [_format_document(format_, is_library=False) for format_ in FORMATS]
    theirs = [_format_document(format_, is_library=True) for format_ in COMPETITORS]
    return list_response(request, ours + theirs)


@router.get("/formats/{storage}/{variant}/archive", response_class=Response, responses=BYTES | problem_docs(404))
def get_kernel_archive(storage: str, variant: str) -> Response:
    """Export a GPU kernel of Sparsight as a zip with its CUDA source, a loader that only needs CuPy, and a test against
    SciPy.
    """
    kernel = f"{storage}/{variant}"
    if kernel not in kernel_names("cuda"):
        raise NotFoundError(f"Sparsight has no GPU kernel {quote(kernel)}. GET /api/v1/formats lists all kernels.")
    headers = {"Content-Disposition": f'attachment; filename="{folder_of(kernel)}.zip"'}
    return Response(archive(kernel), media_type="application/octet-stream", headers=headers)


def _format_document(format_: Format, is_library: bool) -> dict[str, Any]:
    return {
        "name": format_.name,
        "title": format_.title,
        "summary": format_.summary,
        "is_library": is_library,
        "kernels": [_kernel_document(format_, kernel) for kernel in format_.kernels],
    }


def _kernel_document(format_: Format, kernel: Kernel) -> dict[str, Any]:
    return {
        "name": f"{format_.name}/{kernel.variant}",
        "variant": kernel.variant,
        "summary": kernel.summary,
        "backends": [backend for backend in BACKENDS if kernel.runs_on(backend)],
    }
