"""OpenAPI description: the responses of each request, with an example of every document and every problem.

A route declares `responses=response_docs(documents.Job, 404)`. `describe` completes the description of the application.
"""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

# Pydantic reads TypedDict from here before Python 3.12.
from typing_extensions import TypedDict

from gpu_engine.studies import STUDIES
from server import documents, result_documents
from server.errors import problem
from server.examples import EXAMPLES
from server.roles import every_route, role_of

Responses = dict[int | str, dict[str, Any]]

BYTES: Responses = {200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}}}
"""Schema of any file, in the form that client generators recognize."""

PROBLEM_TYPE = "application/problem+json"
PROBLEM_SCHEMA = {"$ref": "#/components/schemas/Problem"}

PROBLEMS: Mapping[int, tuple[str, str, str]] = {
    400: ("unknown_host", "Unknown host name.", "Unknown host name."),
    401: ("unauthorized", "Access token required.", "Access token required."),
    403: (
        "forbidden",
        "The role of the token is too low, or the request is cross-site.",
        "This request needs the role submit; the token 'ci' has the role read. …",
    ),
    404: ("not_found", "The resource does not exist.", "Unknown job '5f0'."),
    409: (
        "conflict",
        "The state of the resource does not allow it.",
        "The job is succeeded. Only a queued or running job can be cancelled.",
    ),
    413: ("too_large", "A size or a number exceeds its limit.", "The upload is larger than the limit of 2 GiB."),
    422: ("invalid_parameter", "Invalid request.", "rounds is 3; it must be at least 9."),
    429: (
        "limit_reached",
        "Temporarily unavailable. Try again after `Retry-After` seconds.",
        "Daily upload limit reached (100). It resets at 00:00 UTC.",
    ),
    507: ("disk_full", "The disk of the server is full.", "The server's disk is full. Delete matrices …"),
    503: (
        "unavailable",
        "Temporarily unavailable. Try again after `Retry-After` seconds.",
        "The database is temporarily unavailable. Try again shortly.",
    ),
}
"""Status → code, meaning, and detail of its example."""

SECURITY_SCHEMES: dict[str, dict[str, str]] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "Access token, if the server requires one."},
    "cookie": {"type": "apiKey", "in": "cookie", "description": "Session of a signed-in browser."},
}
"""Ways to send a token. A request needs one of them if the server has a token."""

JSON_BOUNDS = {"ge": "minimum", "le": "maximum", "minLength": "minItems", "maxLength": "maxItems"}

TAGS = {
    "matrices": "Matrices: upload, generate, list, delete.",
    "jobs": "Jobs: queue a study, follow its progress, read its results.",
    "events": "Live updates (server-sent events).",
    "collection": "SuiteSparse downloads by name.",
    "devices": "Devices that run jobs.",
    "studies": "Benchmark types and their parameters.",
    "formats": "Storage formats and their kernels.",
    "figures": "Figures of the pages.",
    "audit": "Audit log.",
    "health": "Health and metrics for operators.",
}


def problem_docs(*statuses: int) -> Responses:
    """Return the problem documents that a request may answer."""
    return {status: _problem_doc(status) for status in statuses}


def response_docs(
    model: Any, *statuses: int, success: int = 200, also: Mapping[int, str] | None = None, example: Any = None
) -> Responses:
    """Return the responses of a request: the document with its example, further statuses with the same document (status
    → meaning), and problems.
    """
    content = {"application/json": {"example": example or EXAMPLES[model]}}
    docs: Responses = {success: {"model": model, "content": content}}
    for status, meaning in (also or {}).items():
        docs[status] = {"model": model, "content": content, "description": meaning}
    return docs | problem_docs(*statuses)


def etag_response_docs(model: Any, *statuses: int, as_csv: bool = False, example: Any = None) -> Responses:
    """Return the `response_docs` of a request with an ETag. `as_csv`: it also answers `Accept: text/csv`."""
    docs = response_docs(model, *statuses, example=example) | {
        304: {"description": "Unchanged: `If-None-Match` contains the current ETag."}
    }
    docs[200]["headers"] = {
        "ETag": {"description": "Changes with the content of the response.", "schema": {"type": "string"}}
    }
    if as_csv:
        docs[200]["content"] = docs[200]["content"] | {"text/csv": {"schema": {"type": "string"}}}
    return docs


def list_response_docs(item: Any, *statuses: int) -> Responses:
    """Return the responses of a list: JSON, or CSV for `Accept: text/csv`. `Link: rel=next` names the next page."""
    docs = etag_response_docs(_list_of(item), *statuses, as_csv=True, example={"items": [EXAMPLES[item]], "next": None})
    link = {"description": '`<…>; rel="next"` if another page follows.', "schema": {"type": "string"}}
    docs[200]["headers"] = docs[200]["headers"] | {"Link": link}
    return docs


_schemas: dict[type[Any], dict[str, Any]] = {}


def schema_of_params(params: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a dataclass of parameters (gpu_engine/parameters.py). It is cached and must not be
    changed.
    """
    if params not in _schemas:
        _schemas[params] = _schema_of_params(params)
    return _schemas[params]


def _schema_of_params(params: type[Any]) -> dict[str, Any]:
    schema: dict[str, Any] = TypeAdapter(params).json_schema()
    for entry in schema["properties"].values():
        if entry["type"] == "array":
            # Pydantic does not convert bounds of a list whose numbers have bounds too.
            entry["items"] |= {JSON_BOUNDS[name]: entry.pop(name) for name in ("ge", "le") if name in entry}
            entry |= {JSON_BOUNDS[name]: entry.pop(name) for name in ("minLength", "maxLength") if name in entry}
    return schema


def schema_of_record(record: type[Any]) -> dict[str, Any]:
    """Return the JSON Schema of a record as `as_json` writes it: every field, and samples only on request."""
    schema: dict[str, Any] = TypeAdapter(record).json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    schema["required"] = [name for name in schema["properties"] if name != "samples_s"]
    for name, entry in schema["properties"].items():
        entry |= {"format": "date-time"} if name.endswith("_at") else {}
    return schema


def operation_id(route: APIRoute) -> str:
    """Return the name of the route's function, in the form verb_noun."""
    return route.name


def describe(app: FastAPI) -> None:
    """Add tags, the problem schema, and examples to the description of the application."""

    def build() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    app.openapi = build  # type: ignore[method-assign]


def _document(app: FastAPI) -> dict[str, Any]:
    tags = [{"name": name, "description": text} for name, text in TAGS.items()]
    document = get_openapi(
        title=app.title,
        version=app.version,
        routes=app.routes,
        tags=tags,
        servers=[{"url": "/"}],
        summary="Benchmark sparse matrix–vector kernels on GPUs and CPUs.",
    )
    schemas = document["components"]["schemas"]
    schemas["Problem"] = TypeAdapter(documents.Problem).json_schema()
    details = [study.details for study in STUDIES]
    schemas |= {record.__name__: schema_of_record(record) for record in (*result_documents.RECORDS, *details)}
    choices = [{"$ref": f"#/components/schemas/{kind.__name__}"} for kind in details]
    schemas["Measurement"]["properties"]["details"] |= {"anyOf": choices}
    for model, example in EXAMPLES.items():
        if model.__name__ in schemas:
            schemas[model.__name__]["examples"] = [example]
    named = {"cookie": SECURITY_SCHEMES["cookie"] | {"name": app.state.cookie.name("http")}}
    document["components"]["securitySchemes"] = SECURITY_SCHEMES | named
    if app.state.settings.token:
        document["security"] = [{name: []} for name in SECURITY_SCHEMES]
        _name_roles(app, document["paths"])
    return document


def _name_roles(app: FastAPI, paths: dict[str, Any]) -> None:
    """Add the required role to the description of each request, or that an open request needs no token."""
    for route in every_route(app.routes):
        for method in {name.lower() for name in route.methods} & set(paths.get(route.path, {})):
            role = role_of(route)
            paths[route.path][method]["security"] = [{name: [role]} for name in SECURITY_SCHEMES] if role else []


def _problem_doc(status: int) -> dict[str, Any]:
    code, meaning, detail = PROBLEMS[status]
    content = {"schema": PROBLEM_SCHEMA, "example": problem(status, code, detail)}
    return {"description": meaning, "content": {PROBLEM_TYPE: content}}


COMMON = problem_docs(400, 401, 403, 422, 429, 503)
"""Problems that any request may answer."""


def _list_of(item: type[Any]) -> Any:
    """Return the type of one page of a list, named after its items with the suffix `List`."""
    fields = {"items": list[item], "next": str | None}  # type: ignore[valid-type]
    page = TypedDict(f"{item.__name__}List", fields)  # type: ignore[misc]
    page.__doc__ = "One page of a list. `next` is the cursor of the next page, null on the last page."
    return page
