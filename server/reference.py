"""/docs and /redoc: the API in Swagger UI and ReDoc, whose files come from the installed fastapi-offline wheel.

No inline script and no other server: the policy of every page holds here too, but for ReDoc's search, a blob worker.
"""

import mimetypes
from functools import cache
from importlib import metadata, resources

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse

from gpu_engine.errors import NotFoundError, quote
from server.guard import HEADERS

router = APIRouter(include_in_schema=False)

SPEC = "/api/v1/openapi.json"
VERSION = metadata.version("fastapi-offline")
FILES = ("swagger-ui-bundle.js", "swagger-ui.css", "redoc.standalone.js")
START = "start.js"
START_JS = f"""SwaggerUIBundle({{
  url: "{SPEC}", dom_id: "#reference", deepLinking: true, validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis, SwaggerUIBundle.SwaggerUIStandalonePreset],
}});
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Sparsight: REST API</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">{head}</head>
<body>{body}</body></html>
"""
REDOC_LOGO = b"https://cdn.redoc.ly/redoc/logo-mini.svg"
NO_LOGO = b"data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E"
"""ReDoc would load its logo from elsewhere."""


@router.get("/docs")
def show_docs() -> Response:
    """Swagger UI: the calls, to try out."""
    head = f'<link rel="stylesheet" href="{_url("swagger-ui.css")}">'
    scripts = f'<script src="{_url("swagger-ui-bundle.js")}"></script><script src="{_url(START)}"></script>'
    return HTMLResponse(PAGE.format(head=head, body=f'<div id="reference"></div>{scripts}'))


@router.get("/redoc")
def show_redoc() -> Response:
    """ReDoc: the calls, to read."""
    body = f'<redoc spec-url="{SPEC}"></redoc><script src="{_url("redoc.standalone.js")}"></script>'
    policy = f"{HEADERS['Content-Security-Policy']}; worker-src 'self' blob:"
    return HTMLResponse(PAGE.format(head="", body=body), headers={"Content-Security-Policy": policy})


@router.get("/docs/{version}/{name}")
def get_file(version: str, name: str) -> Response:
    """A file of the two pages; 404 for another version."""
    if version != VERSION or name not in (*FILES, START):
        raise NotFoundError(f"There is no file {quote(name)} of version {quote(version)}; reload the page.")
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    caching = "no-cache" if name == START else "public, max-age=31536000, immutable"
    return Response(_content(name), media_type=media_type, headers={"Cache-Control": caching})


def _url(name: str) -> str:
    return f"/docs/{VERSION}/{name}"


@cache
def _content(name: str) -> bytes:
    if name == START:
        return START_JS.encode()
    return resources.files("fastapi_offline").joinpath("static", name).read_bytes().replace(REDOC_LOGO, NO_LOGO)
