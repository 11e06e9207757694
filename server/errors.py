"""Errors as HTTP responses: RFC 9457 problem documents with a sentence that says what to do."""

import errno
import logging
import math
from collections.abc import Mapping, Sequence
from http.client import responses
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import DataError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from starlette.exceptions import HTTPException

from gpu_engine import errors
from gpu_engine.errors import Hint, LimitError, MatrixFileError, SparsightError, plain, quote
from gpu_engine.matrix_io.options import QUESTIONS
from server.db import AWAY
from server.disk import is_full
from server.head_requests import allowed

log = logging.getLogger(__name__)

STATUS: tuple[tuple[type[SparsightError], int], ...] = (
    (errors.TooLargeError, 413),
    (errors.InputError, 422),
    (errors.UnauthorizedError, 401),
    (errors.ForbiddenError, 403),
    (errors.NotFoundError, 404),
    (errors.ConflictError, 409),
    (errors.LimitError, 429),
    (errors.DiskFullError, 507),
    (errors.UnavailableError, 503),
    (SparsightError, 500),
)
"""HTTP status by class of error; the first class that matches decides."""

CODES = {413: errors.TooLargeError.code}
"""Codes of plain HTTP errors that have a name among the error classes. All others are named after their title."""

TITLES: Mapping[int, str] = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    409: "Conflict",
    410: "Gone",
    411: "Length Required",
    412: "Precondition Failed",
    413: "Content Too Large",
    414: "URI Too Long",
    415: "Unsupported Media Type",
    416: "Range Not Satisfiable",
    417: "Expectation Failed",
    421: "Misdirected Request",
    422: "Unprocessable Content",
    426: "Upgrade Required",
    428: "Precondition Required",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
    505: "HTTP Version Not Supported",
    507: "Insufficient Storage",
}
"""Reason phrases of RFC 9110, 6585, and 4918. The ones in Python's `http` change between releases."""

EXTRA: Mapping[int, dict[str, str]] = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "5"}}
"""Headers of every response with this status."""

CLOSED = (errno.EROFS, errno.EACCES, errno.EPERM)
"""System errors of a folder that is not writable, for example on a failed disk."""

HINTS: Mapping[Hint, str] = {
    "choose_direction": (
        "Send directed=true if u v is the edge u → v, directed=false if it is an edge in both directions."
    ),
    "choose_duplicates": "Send duplicates=sum or duplicates=last.",
    "choose_field": "Send field=real or field=pattern.",
    "choose_header": "Send header=sizes or header=edge.",
    "choose_ids": "Send ids=shared for a square matrix, ids=apart if rows and columns have separate ids.",
    "choose_weights": "Send weights=values if the third column is weights, weights=ignore if it is times.",
    "delete_with_results": "Add ?with_results=true to delete the results too.",
    "fetch_matrix": "Fetch it with its values by POST /api/v1/matrices/fetch, and measure that matrix.",
    "generate_matrix": "Generate it with its values by POST /api/v1/matrices/generate, and measure that matrix.",
    "list_jobs": "GET /api/v1/jobs lists them.",
    "list_matrices": "GET /api/v1/matrices lists them.",
    "send_token": "Send `Authorization: Bearer …`; a browser signs in at /sign-in.",
}
"""Hints in terms of HTTP, by their stable name."""


def status_of(error: SparsightError) -> int:
    """Return the HTTP status of a Sparsight error."""
    return next(status for kind, status in STATUS if isinstance(error, kind))


def title_of(status: int) -> str:
    """Return the title of a problem with this status, or that of its class of statuses."""
    return TITLES.get(status) or ("Client Error" if status < 500 else "Server Error")


def problem(status: int, code: str, detail: str, hint: Hint | None = None, **members: Any) -> dict[str, Any]:
    """Return an RFC 9457 problem document. `code` and `hint_code` are stable; `detail` and `hint` are for people.

    `asks` lists the fields of an upload that would answer the hint.
    """
    hints: dict[str, Any] = {"hint_code": hint, "hint": HINTS[hint]} if hint else {}
    if hint and hint in QUESTIONS:
        hints["asks"] = list(QUESTIONS[hint].options)
    return {
        "type": "about:blank",
        "title": title_of(status),
        "status": status,
        "code": code,
        "detail": plain(detail),
        **hints,
        **members,
    }


def problem_of(error: SparsightError) -> dict[str, Any]:
    """Return the problem document of a Sparsight error. A MatrixFileError adds `line`."""
    members = {"line": error.line} if isinstance(error, MatrixFileError) and error.line is not None else {}
    return problem(status_of(error), error.code, error.message, error.hint, **members)


def problem_response(document: dict[str, Any], headers: dict[str, str] | None = None) -> JSONResponse:
    """Return the document as `application/problem+json`."""
    status = int(document["status"])
    extra = {**EXTRA.get(status, {}), **(headers or {})}
    return JSONResponse(document, status, headers=extra, media_type="application/problem+json")


def error_response(error: SparsightError) -> JSONResponse:
    """Return the response to a Sparsight error."""
    waits = {"Retry-After": str(math.ceil(error.retry_after_s))} if isinstance(error, LimitError) else {}
    return problem_response(problem_of(error), waits)


def database_response(error: Exception) -> JSONResponse:
    """Return the response while the database is unavailable or its disk is full."""
    if is_full(error):
        log.error("the disk of the database is full: %s", error)
        return error_response(errors.DiskFullError())
    log.warning("database: %s", error)
    return problem_response(problem(503, "unavailable", "The database is temporarily unavailable. Try again shortly."))


def install_error_handlers(app: FastAPI) -> None:
    """Convert every exception of a route to a problem document."""

    @app.exception_handler(SparsightError)
    async def _known(_: Request, error: SparsightError) -> JSONResponse:
        return error_response(error)

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 405:
            methods = allowed(app.router.routes, request.scope)
            detail = f"{request.method} is not allowed here. Allowed: {methods}."
            return problem_response(problem(405, "method_not_allowed", detail), {"Allow": methods})
        code = CODES.get(error.status_code, title_of(error.status_code).lower().replace(" ", "_"))
        # For an unknown path Starlette only gives the reason phrase of Python.
        is_bare = error.detail == responses.get(error.status_code, "")
        detail = (
            str(error.detail)
            if not is_bare
            else f"Not found: {quote(request.url.path)}. See /reference for all API calls."
        )
        return problem_response(problem(error.status_code, code, detail), dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    async def _invalid(_: Request, error: RequestValidationError) -> JSONResponse:
        return problem_response(problem(422, "invalid_request", *_explain(error.errors())))

    @app.exception_handler(DataError)
    @app.exception_handler(UnicodeEncodeError)
    @app.exception_handler(OverflowError)
    async def _unstorable(_: Request, error: Exception) -> JSONResponse:
        # NUL or a lone surrogate in text, or an integer beyond 64 bits: databases cannot store them.
        log.warning("unstorable value: %r", error)
        return problem_response(
            problem(422, "invalid_request", "A value in the request cannot be stored in the database.")
        )

    async def _database(_: Request, error: Exception) -> JSONResponse:
        return database_response(error)

    for kind in (*AWAY, PoolTimeoutError):
        app.add_exception_handler(kind, _database)

    @app.exception_handler(OSError)
    async def _disk(request: Request, error: OSError) -> JSONResponse:
        if is_full(error):
            log.error("the disk is full: %s", error)
            return error_response(errors.DiskFullError())
        if error.errno in CLOSED:
            log.error("the data directory is not writable: %s", error)
            detail = (
                "The server cannot write its files. Its log has the details; contact the administrator, then try again."
            )
            return problem_response(problem(503, "unavailable", detail))
        return await _unknown(request, error)

    @app.exception_handler(Exception)
    async def _unknown(_: Request, error: Exception) -> JSONResponse:
        log.exception("unhandled error", exc_info=error)
        return problem_response(problem(500, "internal", "Internal error. The server log has the details."))


def _explain(findings: Sequence[Any]) -> tuple[str]:
    """Return one sentence for the errors of request validation. They may quote non-finite numbers."""
    parts = []
    for finding in findings:
        if finding["type"] == "json_invalid":
            # The location is a position in the body.
            return (f"The body is not valid JSON: {finding['ctx']['error']} at character {finding['loc'][-1]}.",)
        if isinstance(finding.get("input"), bytes):
            return ("The body is not JSON. Send JSON with `Content-Type: application/json`.",)
        names = [part for part in finding["loc"] if part not in ("body", "query", "path")]
        place = ".".join(quote(part).strip("'") for part in names)
        given = finding.get("input")
        odd = isinstance(given, float) and not math.isfinite(given)
        value = "" if given is None or isinstance(given, dict | list) or odd else f" (given: {quote(given)})"
        parts.append(f"{place or 'body'}: {finding['msg']}{value}")
    return ("; ".join(parts[:5]) + ".",)
