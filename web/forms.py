"""Form fields of parameters: from the types, defaults and bounds of their dataclass."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gpu_engine.parameters import plain_value
from web.parts import Choice, Field


def form_fields(params: type[Any]) -> tuple[Field, ...]:
    """The form fields of a parameter dataclass, from its types, defaults and bounds."""
    hints = get_type_hints(params)
    return tuple(_field(entry, hints[entry.name]) for entry in fields(params))


def _field(entry: Any, hint: Any) -> Field:
    value, bounds = entry.default, entry.metadata
    choices = get_args(hint) if get_origin(hint) is Literal else ()
    kind = "choice" if choices else {bool: "boolean", int: "number", float: "number"}.get(hint, "text")
    numeric = bool(choices) and all(isinstance(choice, int | float) for choice in choices)
    return Field(
        name=entry.name,
        kind=kind,
        value=str(value).lower() if isinstance(value, bool) else str(value),
        help=bounds.get("description", ""),
        least=str(bounds.get("ge", "")),
        most=str(bounds.get("le", "")),
        step="number" if numeric else ("1" if hint is int else "any"),
        choices=tuple(Choice(str(choice), str(choice), choice == value) for choice in choices),
    )


def values_of(params: type[Any], given: Sequence[tuple[str, str]], but: Sequence[str] = ()) -> dict[str, Any]:
    """Plain values of the fields of a form, for `parse_params` of the dataclass: a field that repeats is a list.

    but  names of other fields
    """
    texts: dict[str, list[str]] = {}
    for name, text in given:
        if name not in but:
            texts.setdefault(name, []).append(text)
    hints = get_type_hints(params)
    return {name: plain_value(",".join(every), hints.get(name, str)) for name, every in texts.items()}
