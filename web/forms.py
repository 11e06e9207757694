"""Forms: fields from the types, defaults, and bounds of parameter dataclasses, and the form of a job."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args, get_origin, get_type_hints

from gpu_engine.parameters import plain_value
from gpu_engine.text import units
from web.components import Choice, Field, Group
from web.setting_labels import label_of, value_label

Names = Mapping[str, Mapping[str, Sequence[str]]]
"""Backend → parameter → the names that it accepts."""


@dataclass(frozen=True, slots=True)
class Preset:
    """A choice of kernels in one step; none: all kernels."""

    text: str
    kernels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StudyForm:
    """A study and its parameters in the measure form.

    label    text of its option; question: what it answers
    main     fields for kernels and cache states; settings: the other ones
    changed  number of settings that differ from their defaults
    chosen   whether its fields are visible
    href     address of the form with this study chosen
    """

    name: str
    label: str
    question: str
    main: tuple[Field, ...]
    settings: tuple[Field, ...]
    presets: tuple[Preset, ...]
    changed: int
    chosen: bool
    href: str


@dataclass(frozen=True, slots=True)
class DeviceChoice:
    """A device that a form offers."""

    value: str
    text: str
    backend: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class MatrixChoice:
    """A matrix that a form offers, with its size."""

    value: str
    text: str
    size: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a job would be.

    sentence  what it measures and how long that takes, or what it lacks
    under     its settings
    facts     (name, value); notes: matrices that it leaves out
    """

    sentence: str
    under: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasureForm:
    """The form of a job.

    matrices  matrices with values, the chosen ones first; mixed_rows: most rows of a matrix in a mixed batch
    devices   available devices; elsewhere: names of devices with only reference results
    """

    studies: tuple[StudyForm, ...]
    matrices: tuple[MatrixChoice, ...]
    mixed_rows: str
    devices: tuple[DeviceChoice, ...]
    elsewhere: tuple[str, ...]
    estimate: Estimate


def form_fields(params: type[Any], values: Any = None, names: Names | None = None) -> tuple[Field, ...]:
    """Return the form fields of a parameter dataclass, from its types, defaults, and bounds.

    values  an instance with the values of the fields; None: the defaults
    names   names that parameters accept, by backend
    """
    hints = get_type_hints(params)
    return tuple(
        _field(entry, hints[entry.name], entry.default if values is None else getattr(values, entry.name), names or {})
        for entry in fields(params)
    )


def _field(entry: Any, hint: Any, value: Any, names: Names) -> Field:
    several = get_origin(hint) is tuple
    item = get_args(hint)[0] if several else hint
    groups = _groups(entry.name, item, value if several else (value,), names)
    bounds, numeric = entry.metadata, _is_numeric(item)
    return Field(
        name=entry.name,
        kind=_kind(item, several, bool(groups)),
        value=_text(value),
        help=_help(bounds),
        least=str(bounds.get("ge", "")),
        most=str(bounds.get("le", "")),
        step="number" if groups and numeric else ("1" if item is int else "any"),
        # A single choice offers the options of all backends.
        choices=()
        if several
        else tuple({choice.value: choice for group in groups for choice in group.choices}.values()),
        groups=groups if several else (),
        label=label_of(entry.name),
    )


def _help(bounds: Mapping[str, Any]) -> str:
    """Return the description of a parameter, with its bounds if it has both."""
    text = str(bounds.get("description", ""))
    if not {"ge", "le"} <= bounds.keys():
        return text
    least, most = (units.count(end) if end == int(end) else f"{end:g}" for end in (bounds["ge"], bounds["le"]))
    return f"{text} From {least} to {most}."


def _kind(item: Any, several: bool, known: bool) -> str:
    if known:
        return "choices" if several else "choice"
    if several:
        return "numbers" if _is_numeric(item) else "texts"
    return {bool: "boolean", int: "number", float: "number"}.get(item, "text")


def _groups(name: str, item: Any, chosen: Sequence[Any], names: Names) -> tuple[Group, ...]:
    """Return the options: the values of a Literal, or the names of each backend."""
    if get_origin(item) is Literal:
        options = get_args(item)
        return (Group("", tuple(Choice(str(v), value_label(name, str(v)), v in chosen) for v in options)),)
    known = {backend: tuple(of_backend.get(name, ())) for backend, of_backend in names.items()}
    if len(set(known.values())) == 1:
        known = {"": next(iter(known.values()))}
    return tuple(
        Group(backend, tuple(Choice(value, value, value in chosen) for value in values))
        for backend, values in known.items()
        if values
    )


def _is_numeric(item: Any) -> bool:
    options = get_args(item) if get_origin(item) is Literal else ()
    return item in (int, float) or (bool(options) and all(isinstance(option, int | float) for option in options))


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(_text, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def changed(params: Any) -> tuple[tuple[str, str], ...]:
    """Return (label, value) of the parameters that differ from their defaults."""
    return tuple(
        (label_of(entry.name), _text(value))
        for entry in fields(params)
        if (value := getattr(params, entry.name)) != entry.default
    )


def values_of(params: type[Any], given: Sequence[tuple[str, str]], but: Sequence[str] = ()) -> dict[str, Any]:
    """Return plain values of form fields for `parse_params` of the dataclass; a repeated field is a list.

    but  names of other fields, which are ignored
    """
    texts: dict[str, list[str]] = {}
    for name, text in given:
        if name not in but:
            texts.setdefault(name, []).append(text)
    hints = get_type_hints(params)
    # Browsers do not send unchecked boxes; a hidden field before the box sends false.
    whole = {name: every[-1] if hints.get(name) is bool else ",".join(every) for name, every in texts.items()}
    return {name: plain_value(text, hints.get(name, str)) for name, text in whole.items()}
