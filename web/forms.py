"""Form fields of parameters: from the types, defaults and bounds of their dataclass."""

from dataclasses import fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

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
