"""`/docs`, `/docs/{name}`, `/glossary` and `/reference`: the documents of the product, and its API."""

from collections.abc import Mapping
from typing import Any

from web import documents, reference
from web.contexts import DocumentPage, DocumentsPage, ReferencePage
from web.parts import Link


def index() -> DocumentsPage:
    """Every document."""
    return DocumentsPage("Documents", "", tuple(map(documents.head, documents.names())))


def page(name: str) -> DocumentPage:
    """One document; raises NotFoundError."""
    shown = documents.document(name)
    others = tuple(
        Link(documents.head(other).title, documents.href(other), other == name) for other in documents.names()
    )
    return DocumentPage(shown.title, "", shown, others)


def reference_page(openapi: Mapping[str, Any]) -> ReferencePage:
    """The API as its OpenAPI description has it."""
    return ReferencePage("REST API", "", reference.groups(openapi), reference.shapes(openapi))
