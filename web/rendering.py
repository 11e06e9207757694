"""Rendering of pages: templates and the values that all of them share."""

from dataclasses import fields
from typing import Any

from fastapi import Request, Response
from fastapi.templating import Jinja2Templates
from jinja2 import Environment, PackageLoader, StrictUndefined

from gpu_engine.text import units
from server import import_recordings
from server.roles import LOCAL
from server.worker_command import start_text
from web import assets, places
from web.device_labels import short
from web.documents import href, linked, names
from web.glossary_help import explained_terms, kernel_name, with_help
from web.kernel_markup import as_code, backticks, breakable, in_code, kernels_in_code, labels, with_links
from web.palette import mark_of
from web.problem_hints import HINTS
from web.share import share_of
from web.snippets import archive_of, snippet
from web.studies import page_of


def _templates() -> Jinja2Templates:
    environment = Environment(
        loader=PackageLoader("web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.globals |= {
        "asset": assets.url,
        "percent": units.percent,
        "HINTS": HINTS,
        "speedup": units.speedup,
        "explained_terms": explained_terms,
        "mark_of": mark_of,
        "swatch": lambda m: page_of(m.study).swatch(m),
        "study_link": lambda study: page_of(study).link,
        "PLACES": places.PLACES,
        "SERVICE": places.SERVICE,
        "explore_tabs": places.tabs,
        "library_tabs": places.library_tabs,
        "share_of": share_of,
        "document_href": href,
        "has_document": lambda name: name in names(),
        "reads_recordings": import_recordings.is_running,
    }
    environment.filters["short_device"] = short
    environment.filters |= {
        f.__name__: f
        for f in (
            *(archive_of, as_code, backticks, breakable, in_code, kernel_name, kernels_in_code, labels, linked),
            *(snippet, with_help, with_links),
        )
    }
    return Jinja2Templates(env=environment)


TEMPLATES = _templates()


def render(request: Request, template: str, page: Any, status: int = 200) -> Response:
    """Return a template rendered with the fields of its context and the values that all templates share."""
    context = {field.name: getattr(page, field.name) for field in fields(page)}
    caller = getattr(request.state, "caller", LOCAL)
    context |= {"path": request.url.path, "event": getattr(request.state, "event", "")}
    context |= {"signed_in": caller if caller.session else None}
    context |= {"start_worker": start_text(request.app.state.settings, caller)}
    return TEMPLATES.TemplateResponse(request, template, context, status_code=status)
