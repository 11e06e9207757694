"""Selection: the parameters of a page or figure, exactly as in its URL."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from gpu_engine.errors import ParameterError, quote
from gpu_engine.records import CACHES, OPS
from web import sorting

VALUES_MAX = 100
"""Maximum number of values of a parameter."""


@dataclass(frozen=True, slots=True)
class ValidValues:
    """The values of a parameter of the address whose value is none of them.

    labels  value → its label on pages; empty: the value
    """

    name: str
    value: str
    labels: Mapping[str, str]


def choice_error(name: str, value: str, labels: Mapping[str, str]) -> ParameterError:
    """Return the error of a parameter that is none of its values; `choices_of` has them for pages."""
    way = f"Choose one of {', '.join(labels)}." if labels else "Nothing has results yet."
    error = ParameterError(f"{name} is {quote(value)}. {way}")
    vars(error)["choices"] = ValidValues(name, value, labels)
    return error


def choices_of(error: Exception) -> ValidValues | None:
    """Return the values of a `choice_error`; None for other errors."""
    choices: ValidValues | None = getattr(error, "choices", None)
    return choices


@dataclass(frozen=True, slots=True)
class Selection:
    """The values of each parameter in the order of the URL; empty means the default of the page.

    set           id of a saved selection, instead of `matrix`; one value
    op            only SpMVs with A or only with AT; one value
    reproducible  `true`: only bitwise reproducible kernels; one value
    kernels       a preset if `kernel` is empty: `best`, `paper`, `libraries`, or `all`; one value
    sort          order of the matrices in tables and heat maps: a key of web/sorting.py or a kernel, with a minus
                  descending; one value
    open          matrix whose drawer is open; one value
    view          part of a study page that is open; one value
    study         study of the cases of a history; one value
    study_values  (name, values) of parameters that only one study page has
    """

    job: tuple[str, ...] = ()
    matrix: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()
    cache: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    baseline: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    op: tuple[str, ...] = ()
    reproducible: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    view: tuple[str, ...] = ()
    study: tuple[str, ...] = ()
    study_values: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def with_(self, **changes: Any) -> "Selection":
        """Return a copy with some parameters replaced, each by one value or a tuple of values.

        New matrices remove the saved selection. Names outside NAMES are parameters of a study page.
        """
        changes = ({"set": ()} if "matrix" in changes else {}) | changes
        values = {name: (v,) if isinstance(v, str) else tuple(v) for name, v in changes.items()}
        own_values = dict(self.study_values) | {name: values.pop(name) for name in [*values] if name not in NAMES}
        return replace(self, study_values=tuple((name, v) for name, v in own_values.items() if v), **values)

    @property
    def data(self) -> "Selection":
        """Selection without what is open on the page: that of files and figures."""
        return self.with_(**dict.fromkeys(PAGE_ONLY, ()))

    @property
    def query(self) -> str:
        """Query of the URL without the question mark; `parse_selection` reads it back."""
        return urlencode(self.pairs)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """(name, value) pairs of the query, in its order."""
        names = (name for name in NAMES if not (self.set and name == "matrix"))
        common = [(name, value) for name in names for value in getattr(self, name)]
        return common + [(name, value) for name, values in self.study_values for value in values]


NAMES = tuple(field.name for field in fields(Selection) if field.name != "study_values")
"""Parameters of all study pages."""

PAGE_ONLY = ("open", "view", "verdict")
"""Parameters that change what is open on a page, but none of its data."""

DATA_NAMES = tuple(name for name in NAMES if name not in PAGE_ONLY)
"""Parameters of figures and files."""


@dataclass(frozen=True, slots=True)
class PageParameter:
    """A parameter of the address that only one study page has.

    check       raises ParameterError for an invalid value
    many        whether the parameter may have several values
    most, unit  largest value of a whole number, and its unit as a plural noun; 0 and empty for other parameters
    """

    name: str
    check: Callable[[str], object] = str
    many: bool = False
    most: int = 0
    unit: str = ""


def one_of(name: str, known: Sequence[str]) -> PageParameter:
    """Return a parameter with a fixed list of values."""
    return PageParameter(name, partial(_check_known, name, known))


def whole_number(name: str, most: int, unit: str) -> PageParameter:
    """Return a parameter that is a whole number from 1 to `most`; unit: plural noun for its error message."""

    def check(value: str) -> None:
        if not (value.isascii() and value.isdecimal() and value[0] != "0" and len(value) <= len(str(most))):
            raise ParameterError(_limits_text(name, value, most, unit))

    return PageParameter(name, check, most=most, unit=unit)


def clamped(name: str, text: str, most: int, default: int, unit: str) -> tuple[int, str]:
    """Return the nearest whole number from 1 to `most`, and a sentence if it is not that of the text.

    default  number of an empty text, and of one that is no number; unit: plural noun for the sentence
    """
    try:
        number = float(text or default)
    except ValueError:
        number = math.nan
    nearest = default if math.isnan(number) else int(min(max(number, 1), most))
    if nearest == number:
        return nearest, ""
    return nearest, f"{_limits_text(name, text, most, unit)} This answer is for {nearest:,}."


def with_nearest(
    query: Iterable[tuple[str, str]], parameters: Mapping[str, PageParameter]
) -> tuple[list[tuple[str, str]], str]:
    """Return a query with the nearest possible whole numbers, and a sentence for each number that it replaces.

    What is no number is left out, so that the page takes its default. Files and the API refuse such a number, because
    they have no place for the sentence.
    """
    pairs, notes = [], []
    for name, value in query:
        most, unit = (parameters[name].most, parameters[name].unit) if name in parameters else (0, "")
        number, note = clamped(name, value, most, 0, unit) if most and value else (0, "")
        if note:
            is_number = number > 0
            notes.append(note if is_number else f"{_limits_text(name, value, most, unit)} The page takes its default.")
            pairs += [(name, str(number))] if is_number else []
        else:
            pairs.append((name, str(number) if number else value))
    return pairs, " ".join(notes)


def _limits_text(name: str, value: str, most: int, unit: str) -> str:
    """Return the error of a whole number out of its range."""
    return f"{name} is {quote(value)}. Give a number of {unit} from 1 to {most:,}."


ONCE = ("set", "kernels", "sort", "op", "reproducible", "open", "view", "study")
"""Parameters with at most one value."""

KERNELS_OF = ("best", "paper", "libraries", "all")
"""Presets of kernels."""

REPRODUCIBLE = "true"
"""Value of `reproducible` that limits a page to bitwise reproducible kernels."""

ONE_OF = {
    "cache": CACHES,
    "kernels": KERNELS_OF,
    "op": OPS,
    "reproducible": (REPRODUCIBLE,),
}
"""Parameter → its possible values."""


def parse_selection(
    query: Iterable[tuple[str, str]],
    names: tuple[str, ...] = NAMES,
    parameters: Mapping[str, PageParameter] | None = None,
) -> Selection:
    """Return the selection of (name, value) pairs without repeats; raises ParameterError for invalid ones.

    names       parameters that the page accepts
    parameters  further parameters of study pages that it accepts, by name
    """
    study_parameters = parameters or {}
    given: dict[str, list[str]] = {name: [] for name in (*NAMES, *study_parameters)}
    for name, value in query:
        _check_name(name, (*names, *study_parameters))
        given[name].append(value)
    for name, values in given.items():
        if len(values) > VALUES_MAX:
            raise ParameterError(f"{name} is given {len(values)} times. Give at most {VALUES_MAX} values.")
        values[:] = filter(None, values)
        once = name in ONCE if name in NAMES else not study_parameters[name].many
        if once and len(set(values)) > 1:
            raise ParameterError(f"{name} is given {len(values)} times. Give it once.")
    selection = Selection().with_(**{name: tuple(dict.fromkeys(values)) for name, values in given.items() if values})
    if selection.set and selection.matrix:
        raise ParameterError("Both set and matrix are given. Give one of them.")
    for name, known in ONE_OF.items():
        for value in getattr(selection, name):
            _check_known(name, known, value)
    for name, chosen in selection.study_values:
        for value in chosen:
            study_parameters[name].check(value)
    for sort in selection.sort:
        sorting.check(sort)
    return selection


def parse_options(query: Iterable[tuple[str, str]], names: tuple[str, ...]) -> dict[str, str]:
    """Return the parameters of a list page, absent ones empty; raises ParameterError for unknown or repeated names."""
    options: dict[str, str] = dict.fromkeys(names, "")
    given: set[str] = set()
    for name, value in query:
        _check_name(name, names)
        if name in given:
            raise ParameterError(f"{name} is given twice. Give it once.")
        given.add(name)
        options[name] = value
    return options


def _check_known(name: str, known: Sequence[str], value: str) -> None:
    if value not in known:
        raise choice_error(name, value, dict.fromkeys(known, ""))


def _check_name(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        known = f"Known parameters: {', '.join(names)}." if names else "This page takes none."
        raise ParameterError(f"Unknown parameter {quote(name)}. {known}")


def study_url(study: str, selection: Selection) -> str:
    """Return the address of a study page with a selection."""
    return f"/{study}?{selection.query}" if selection.query else f"/{study}"
