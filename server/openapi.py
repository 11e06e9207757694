"""OpenAPI: what each call answers, with an example of every document and every problem.

A route says `responses=response_docs(documents.Job, 404)`; `describe` gives the application its description.
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
"""A file of any kind, by the type that generators of clients know."""

PROBLEM_TYPE = "application/problem+json"
PROBLEM_SCHEMA = {"$ref": "#/components/schemas/Problem"}

PROBLEMS: Mapping[int, tuple[str, str, str]] = {
    400: ("unknown_host", "The host name is not one of the service's.", "This host name is not one of the service's."),
    401: ("unauthorized", "A token is needed.", "This service asks for a token."),
    403: (
        "forbidden",
        "The role of the token is too low, or a page of another site makes the call.",
        "This call needs the role submit; the token 'ci' has the role read. …",
    ),
    404: ("not_found", "There is no such resource.", "There is no job '5f0'."),
    409: ("conflict", "The state of the resource forbids it.", "The job has succeeded; only a queued or running one …"),
    413: ("too_large", "Over a limit of size or count.", "The upload is larger than the 2 GiB that are allowed."),
    422: ("invalid_parameter", "What was sent is wrong.", "rounds is 3; it must be at least 9."),
    429: (
        "limit_reached",
        "A quota or the rate of calls is used up; try again after `Retry-After` seconds.",
        "The token's 100 uploads of today are used.",
    ),
    507: ("disk_full", "The disk of the server is full.", "The server's disk is full. Delete matrices …"),
    503: (
        "unavailable",
        "Try again after `Retry-After` seconds.",
        "The database does not answer now. Try again shortly.",
    ),
}
"""Status → code, meaning, detail of its example."""

SECURITY_SCHEMES: dict[str, dict[str, str]] = {
    "bearer": {"type": "http", "scheme": "bearer", "description": "A token, where the server has one."},
    "cookie": {"type": "apiKey", "in": "cookie", "description": "Of a browser that has signed in."},
}
"""How a caller shows the token; a call asks for either of them where the server has one."""

JSON_BOUNDS = {"ge": "minimum", "le": "maximum", "minLength": "minItems", "maxLength": "maxItems"}

TAGS = {
    "matrices": "What is measured: upload, generate, list, delete.",
    "jobs": "Queue a study, follow it, read its results.",
    "events": "What happens, as it happens.",
    "collection": "What can be fetched by name.",
    "devices": "What is measured on.",
    "studies": "The questions that a job can answer.",
    "formats": "Storage formats and their kernels.",
    "figures": "The charts of the pages.",
    "audit": "Who did what.",
    "health": "For whoever runs the service.",
}


def problem_docs(*statuses: int) -> Responses:
    """The problem documents that a call may answer."""
    return {status: _problem_doc(status) for status in statuses}


def response_docs(
    model: Any, *statuses: int, success: int = 200, also: Mapping[int, str] | None = None, example: Any = None
) -> Responses:
    """What a call answers: the document with its example, at further statuses too (status → meaning), and problems."""
    content = {"application/json": {"example": example or EXAMPLES[model]}}
    docs: Responses = {success: {"model": model, "content": content}}
    for status, meaning in (also or {}).items():
        docs[status] = {"model": model, "content": content, "description": meaning}
    return docs | problem_docs(*statuses)


def etag_response_docs(model: Any, *statuses: int, as_csv: bool = False, example: Any = None) -> Responses:
    """`response_docs` of a call that has an ETag; as_csv: that answers `Accept: text/csv` too."""
    docs = response_docs(model, *statuses, example=example) | {
        304: {"description": "Unchanged: `If-None-Match` names the current ETag."}
    }
    docs[200]["headers"] = {"ETag": {"description": "Changes with the answer.", "schema": {"type": "string"}}}
    if as_csv:
        docs[200]["content"] = docs[200]["content"] | {"text/csv": {"schema": {"type": "string"}}}
    return docs


def list_response_docs(item: Any, *statuses: int) -> Responses:
    """What a list answers: JSON, or CSV for `Accept: text/csv`; `Link: rel=next` while more follows."""
    docs = etag_response_docs(_list_of(item), *statuses, as_csv=True, example={"items": [EXAMPLES[item]], "next": None})
    link = {"description": '`<…>; rel="next"` while more follows.', "schema": {"type": "string"}}
    docs[200]["headers"] = docs[200]["headers"] | {"Link": link}
    return docs


_schemas: dict[type[Any], dict[str, Any]] = {}


def schema_of_params(params: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a dataclass of parameters (gpu_engine/parameters.py), made once: change nothing of it."""
    if params not in _schemas:
        _schemas[params] = _schema_of_params(params)
    return _schemas[params]


def _schema_of_params(params: type[Any]) -> dict[str, Any]:
    schema: dict[str, Any] = TypeAdapter(params).json_schema()
    for entry in schema["properties"].values():
        if entry["type"] == "array":
            # Pydantic has no name for bounds of a list whose numbers have bounds too.
            entry["items"] |= {JSON_BOUNDS[name]: entry.pop(name) for name in ("ge", "le") if name in entry}
            entry |= {JSON_BOUNDS[name]: entry.pop(name) for name in ("minLength", "maxLength") if name in entry}
    return schema


def schema_of_record(record: type[Any]) -> dict[str, Any]:
    """The JSON Schema of a record as `as_json` writes it: every field, samples only where they are asked for."""
    schema: dict[str, Any] = TypeAdapter(record).json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    schema["required"] = [name for name in schema["properties"] if name != "samples_s"]
    for name, entry in schema["properties"].items():
        entry |= {"format": "date-time"} if name.endswith("_at") else {}
    return schema


def operation_id(route: APIRoute) -> str:
    """The name of the route's function: verb_noun."""
    return route.name


def describe(app: FastAPI) -> None:
    """Has the application describe itself with tags, the problem schema and an example at each document."""

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
        summary="Where the time of a sparse matrix goes on a GPU.",
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
    """Says of each call which role it asks for, and of an open one that it asks for no token."""
    for route in every_route(app.routes):
        for method in {name.lower() for name in route.methods} & set(paths.get(route.path, {})):
            role = role_of(route)
            paths[route.path][method]["security"] = [{name: [role]} for name in SECURITY_SCHEMES] if role else []


def _problem_doc(status: int) -> dict[str, Any]:
    code, meaning, detail = PROBLEMS[status]
    content = {"schema": PROBLEM_SCHEMA, "example": problem(status, code, detail)}
    return {"description": meaning, "content": {PROBLEM_TYPE: content}}


COMMON = problem_docs(400, 401, 403, 422, 429, 503)
"""Any call may answer these."""


def _list_of(item: type[Any]) -> Any:
    """The type of one page of a list: its name is that of the items and `List`."""
    fields = {"items": list[item], "next": str | None}  # type: ignore[valid-type]
    page = TypedDict(f"{item.__name__}List", fields)  # type: ignore[misc]
    page.__doc__ = "One page of a list; `next` is the cursor of the page after it, null at the end."
    return page
