"""The REST API as a page: the calls and documents of the OpenAPI description, as parts that a template shows."""

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
    """A parameter of a call, or a field of a document; kind and meaning are HTML, documents are links."""

    name: str
    place: str
    kind: Markup
    required: bool
    meaning: Markup


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call answers with a status; example is JSON, empty where there is none."""

    status: str
    meaning: Markup
    kind: Markup
    example: str


@dataclass(frozen=True, slots=True)
class Call:
    """A call: the address and method, what it takes and what it answers."""

    id: str
    method: str
    path: str
    meaning: Markup
    body: Markup
    takes: tuple[Value, ...]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """The calls of a tag."""

    name: str
    meaning: Markup
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class Shape:
    """A document that calls take or answer."""

    name: str
    meaning: Markup
    fields: tuple[Value, ...]


def groups(openapi: Schema) -> tuple[Group, ...]:
    """The calls of an OpenAPI description, tag by tag."""
    found: dict[str, list[Call]] = {tag["name"]: [] for tag in openapi["tags"]}
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            found[operation["tags"][0]].append(_call(method, path, operation))
    meanings = {tag["name"]: _words(tag["description"]) for tag in openapi["tags"]}
    return tuple(Group(name, meanings[name], tuple(calls)) for name, calls in found.items() if calls)


def shapes(openapi: Schema) -> tuple[Shape, ...]:
    """The documents of an OpenAPI description by name."""
    return tuple(
        Shape(name, _meaning(schema), _fields(schema))
        for name, schema in sorted(openapi["components"]["schemas"].items())
    )


def _call(method: str, path: str, operation: Schema) -> Call:
    taken = [
        Value(p["name"], p["in"], kind_of(p.get("schema", {})), bool(p.get("required")), _meaning(p))
        for p in operation.get("parameters", ())
    ]
    content = operation.get("requestBody", {}).get("content", {})
    body: Schema = next((content[kind].get("schema", {}) for kind in BODY if kind in content), {})
    answers = (_answer(status, answer) for status, answer in sorted(operation["responses"].items()))
    meaning = operation.get("description", operation.get("summary", ""))
    own = () if "$ref" in body else _fields(body)
    return Call(
        operation["operationId"],
        method.upper(),
        path,
        _words(meaning),
        kind_of(body) if "$ref" in body else Markup(),
        (*taken, *own),
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
    """Text in which names between backquotes are code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def kind_of(schema: Schema) -> Markup:
    """What a schema allows, in words; documents are links to where they stand."""
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
