"""API reference: endpoints and documents of the OpenAPI description, as components of a page."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup, escape

Schema = Mapping[str, Any]
BODY = ("application/json", "multipart/form-data")


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter of an endpoint, or a field of a document; kind and meaning are HTML, documents are links."""

    name: str
    place: str
    kind: Markup
    required: bool
    meaning: Markup


@dataclass(frozen=True, slots=True)
class Answer:
    """A response of an endpoint; example is JSON, or empty."""

    status: str
    meaning: Markup
    kind: Markup
    example: str


@dataclass(frozen=True, slots=True)
class Call:
    """An endpoint: address and method, parameters, and responses."""

    id: str
    method: str
    path: str
    meaning: Markup
    body: Markup
    takes: tuple[Value, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The endpoints of a tag."""

    name: str
    meaning: Markup
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A document of requests or responses."""

    name: str
    meaning: Markup
    fields: tuple[Value, ...]


def groups(openapi: Schema) -> tuple[Group, ...]:
    """Return the endpoints of an OpenAPI description by tag."""
    calls_by_tag: dict[str, list[Call]] = {tag["name"]: [] for tag in openapi["tags"]}
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            calls_by_tag[operation["tags"][0]].append(_call(method, path, operation))
    meanings = {tag["name"]: _words(tag["description"]) for tag in openapi["tags"]}
    return tuple(Group(name, meanings[name], tuple(calls)) for name, calls in calls_by_tag.items() if calls)


def shapes(openapi: Schema) -> tuple[Shape, ...]:
    """Return the documents of an OpenAPI description, sorted by name."""
    return tuple(
        Shape(name, _meaning(schema), _fields(schema))
        for name, schema in sorted(openapi["components"]["schemas"].items())
    )


def _call(method: str, path: str, operation: Schema) -> Call:
    parameters = [
        Value(p["name"], p["in"], kind_of(p.get("schema", {})), bool(p.get("required")), _meaning(p))
        for p in operation.get("parameters", ())
    ]
    content = operation.get("requestBody", {}).get("content", {})
    body: Schema = next((content[kind].get("schema", {}) for kind in BODY if kind in content), {})
    answers = (_answer(status, answer) for status, answer in sorted(operation["responses"].items()))
    meaning = operation.get("description", operation.get("summary", ""))
    body_fields = () if "$ref" in body else _fields(body)
    return Call(
        operation["operationId"],
        method.upper(),
        path,
        _words(meaning),
        kind_of(body) if "$ref" in body else Markup(),
        (*parameters, *body_fields),
        tuple(answers),
    )


def _answer(status: str, answer: Schema) -> Answer:
    content: Schema = next(iter(answer.get("content", {}).values()), {})
    example = content.get("example")
    text = json.dumps(example, indent=2, ensure_ascii=False) if example is not None else ""
    meaning = "" if answer["description"] == "Successful Response" else answer["description"]
    return Answer(status, _words(meaning), kind_of(content.get("schema", {})), text)


def _fields(schema: Schema) -> tuple[Value, ...]:
    required = schema.get("required", ())
    return tuple(
        Value(name, "body", kind_of(entry), name in required, _meaning(entry))
        for name, entry in schema.get("properties", {}).items()
    )


def _meaning(entry: Schema) -> Markup:
    return _words(entry.get("description", ""))


def _words(text: str) -> Markup:
    """Return text as HTML in which names between backquotes are code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def kind_of(schema: Schema) -> Markup:
    """Return the type of a schema as HTML; documents are links."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return Markup('<a href="#document-{0}">{0}</a>').format(name)
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return Markup(" or ").join(dict.fromkeys(filter(None, map(kind_of, choices))))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return Markup(", ").join(Markup("<code>{}</code>").format(value) for value in values)
    if schema.get("type") == "array":
        return Markup("list of {}").format(kind_of(schema.get("items", {})) or "anything")
    bounds = [f"{word} {schema[key]:g}" for key, word in (("minimum", "from"), ("maximum", "to")) if key in schema]
    return escape(" ".join([str(schema.get("type", "")), *bounds]))
