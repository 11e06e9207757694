"""How a context becomes a page: its template, and what all templates share."""

from dataclasses import fields
from typing import Any

from fastapi import Request, Response
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, PackageLoader, StrictUndefined

from gpu_engine.text import units
from server import import_recordings
from server.roles import LOCAL
from web import assets
from web.documents import href, linked
from web.hints import HINTS
from web.names import as_code, breakable, in_code, labels
from web.snippets import archive_of, snippet
from web.studies import PAGES, page_of
from web.words import explained, named, said

NAVIGATION = (
    *((page.link, f"/{page.name}") for page in PAGES),
    ("Papers", "/papers"),
    ("Matrices", "/matrices"),
    ("Jobs", "/jobs"),
    ("Devices", "/devices"),
    ("Documents", "/docs"),
)


def _templates() -> Jinja2Templates:
    environment = Environment(
        loader=PackageLoader("web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {
        "asset": assets.url,
        "percent": units.percent,
        "HINTS": HINTS,
        "times": units.times,
        "said": said,
        "swatch": lambda m: page_of(m.study).swatch(m),
        "NAVIGATION": NAVIGATION,
        "document_href": href,
        "reads_recordings": import_recordings.is_running,
    }
    environment.filters |= {
        f.__name__: f for f in (archive_of, as_code, breakable, explained, in_code, labels, linked, named, snippet)
    }
    return Jinja2Templates(env=environment)


TEMPLATES = _templates()


def render(request: Request, template: str, page: Any, status: int = 200) -> Response:
    """The template filled with the fields of its context, and nothing else."""
    context = {field.name: getattr(page, field.name) for field in fields(page)}
    caller = getattr(request.state, "caller", LOCAL)
    context |= {"path": request.url.path, "event": getattr(request.state, "event", "")}
    context |= {"signed_in": caller if caller.session else None}
    return TEMPLATES.TemplateResponse(request, template, context, status_code=status)
