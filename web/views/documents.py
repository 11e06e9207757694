"""`/docs/{name}`, `/glossary`, and `/reference`: documentation and API reference."""

from collections.abc import Mapping
from typing import Any

from web import documents, reference
from web.components import Link
from web.contexts import DocumentPage, ReferencePage
from web.document_groups import grouped


def page(name: str) -> DocumentPage:
    """Return the page of a document; raises NotFoundError."""
    content = documents.document(name)
    names = (other for group in grouped(documents.names()).values() for other in group)
    others = tuple(Link(documents.head(other).title, documents.href(other), other == name) for other in names)
    return DocumentPage(content.title, "", content, others)


def reference_page(openapi: Mapping[str, Any]) -> ReferencePage:
    """Return the API reference of an OpenAPI description."""
    return ReferencePage("REST API reference", "", reference.groups(openapi), reference.shapes(openapi))
