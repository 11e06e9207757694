"""Parameters: frozen dataclasses whose field metadata holds their bounds, filled from what a caller sent."""

import dataclasses
import json
import math
import re
from collections.abc import Mapping
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from gpu_engine.errors import ParameterError, quote
from gpu_engine.former_names import PRESENT

T = TypeVar("T")

LIST_MAX = 100
"""Maximum number of values of a list parameter."""

NEXT_NAME = re.compile(r",(?=\s*\w+\s*=)")


def parameter(default: Any, description: str, **bounds: Any) -> Any:
    """Return a dataclass field with a description and bounds: `ge`, `le`, or `min_length`, `max_length` of a tuple.

    pydantic reads the same metadata, so a TypeAdapter of the class gives the JSON Schema. A tuple has at
    most LIST_MAX items unless `max_length` says otherwise.
    """
    if isinstance(default, tuple):
        bounds = {"max_length": LIST_MAX, **bounds}
    return dataclasses.field(default=default, metadata={"description": description, **bounds})


def find_by_name(kind: str, name: str, choices: Mapping[str, T], listed: str) -> T:
    """Return the choice of a name; raises ParameterError that lists all: `There is no kind 'name'; listed: …`."""
    if name not in choices:
        raise ParameterError(f"There is no {kind} {quote(name)}; {listed}: {', '.join(choices)}.")
    return choices[name]


def parse_params(cls: type[T], values: Mapping[str, Any], **types: Any) -> T:
    """Return an instance of the dataclass from plain (JSON) values; absent fields get their defaults.

    types  types of fields whose annotation does not determine them

    Types understood: bool, int, float, str, Literal, Any, dataclasses, and `X | None`, `tuple[X, ...]` and
    `Mapping[str, X]` of these. A value that is given twice in a tuple of a `parameter` is there once; tuples of other
    fields, such as those of records, stay as they are.
    Former names are accepted. Raises ParameterError for an unknown name, a missing or ill-typed value, and one out of
    bounds.
    """
    fields = {field.name: field for field in dataclasses.fields(cls)}  # type: ignore[arg-type]
    values = PRESENT.settings(values, fields)
    for name in values:
        if name not in fields:
            raise ParameterError(f"There is no parameter {quote(name)}; known: {', '.join(fields) or 'none'}.")
    hints = get_type_hints(cls) | types
    parsed = {name: _parse(name, value, hints[name], fields[name].metadata) for name, value in values.items()}
    for name, field in fields.items():
        if name not in parsed and field.default is field.default_factory is dataclasses.MISSING:
            raise ParameterError(
                f"The parameter {name!r} is missing; expected {_expected(hints[name], field.metadata)}."
            )
    return cls(**parsed)


def assignments(cls: type[Any], text: str) -> dict[str, Any]:
    """Return the plain values of a text `name=value,name=value`, for `parse_params` of the dataclass.

    A comma before a name and `=` ends a value, any other is part of a list: `kernels=csr/scalar,csr/vector,rounds=9`.
    Values may be JSON too, `kernels=["csr/scalar"]`. Raises ParameterError for other text, and for a name that
    comes twice; names that the dataclass lacks are left to `parse_params`.
    """
    hints, values = get_type_hints(cls), dict[str, Any]()
    for part in filter(None, map(str.strip, NEXT_NAME.split(text))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        name = PRESENT.parameter(name, hints)
        if not name or not equals:
            raise ParameterError(f"{quote(part)} is not of the form name=value.")
        if name in values:
            raise ParameterError(f"The parameter {quote(name)} is given twice; give it once.")
        values[name] = plain_value(value, hints.get(name, str))
    return values


def plain_value(text: str, hint: Any) -> Any:
    """Return the plain (JSON) value of a text for a parameter of this type; the text itself if it is not JSON."""
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    item = next((get_args(option)[0] for option in options if get_origin(option) is tuple), None)
    if item is not None and not text.startswith("["):
        return [plain_value(part.strip(), item) for part in text.split(",") if part.strip()]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    # A parameter of type text takes 1 and true as texts.
    return text if any(map(_takes_text, options)) and not isinstance(value, str | None) else value


def _takes_text(hint: Any) -> bool:
    return hint is str or (get_origin(hint) is Literal and all(isinstance(choice, str) for choice in get_args(hint)))


def _parse(name: str, value: Any, hint: Any, bounds: Mapping[str, Any]) -> Any:
    """Return the value as the type of the hint, within its bounds."""
    if get_origin(hint) in (Union, UnionType):
        if value is None and type(None) in get_args(hint):
            return None
        hint = next(option for option in get_args(hint) if option is not type(None))
    if get_origin(hint) is tuple and isinstance(value, list | tuple):
        if bounds.get("min_length", 0) <= len(value) <= bounds.get("max_length", math.inf):
            items = tuple(_parse(f"{name}[{i}]", item, get_args(hint)[0], bounds) for i, item in enumerate(value))
            return tuple(dict.fromkeys(items)) if "max_length" in bounds else items
    elif get_origin(hint) is Mapping and isinstance(value, Mapping):
        return {key: _parse(f"{name}.{key}", entry, get_args(hint)[1], {}) for key, entry in value.items()}
    elif dataclasses.is_dataclass(hint) and isinstance(hint, type):
        if isinstance(value, Mapping):
            return parse_params(hint, value)
        if isinstance(value, hint):
            return value
    elif hint is Any or (_is_of(value, hint) and _within(value, bounds)):
        return float(value) if hint is float else value
    raise ParameterError(f"{name} is {quote(value)}; expected {_expected(hint, bounds)}.")


def _is_of(value: Any, hint: Any) -> bool:
    if get_origin(hint) is Literal:
        return any(type(value) is type(choice) and value == choice for choice in get_args(hint))
    if hint is float:
        # float(10**400) overflows; comparing an int with a float bound is exact.
        return type(value) in (int, float) and abs(value) < 1e308
    return type(value) is hint


def _within(value: Any, bounds: Mapping[str, Any]) -> bool:
    if type(value) not in (int, float):
        return True
    return bool(bounds.get("ge", -math.inf) <= value <= bounds.get("le", math.inf))


def _expected(hint: Any, bounds: Mapping[str, Any]) -> str:
    """Return the type and its bounds in words."""
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(str(choice) for choice in get_args(hint))
    if get_origin(hint) is tuple:
        lengths = _range("of length", bounds.get("min_length"), bounds.get("max_length"))
        return f"a list{lengths}, each item {_expected(get_args(hint)[0], bounds)}"
    if hint in (int, float):
        noun = "a whole number" if hint is int else "a finite number"
        return noun + _range("", bounds.get("ge"), bounds.get("le"))
    if get_origin(hint) is Mapping or dataclasses.is_dataclass(hint):
        return "an object"
    return {bool: "true or false", str: "text"}.get(hint, str(hint))


def _range(prefix: str, low: Any, high: Any) -> str:
    """Return ` of length from 1 to 9`, ` at least 1`, or nothing where there are no bounds."""
    lead = f" {prefix}" if prefix else ""
    if low is not None and high is not None:
        return f"{lead} from {low} to {high}"
    if low is not None:
        return f"{lead} at least {low}"
    return f"{lead} at most {high}" if high is not None else ""
