"""Selection: what a page or figure shows, exactly as its URL says it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from gpu_engine.errors import ParameterError, quote
from gpu_engine.records import CACHES, OPS
from web import sorting

VALUES_MAX = 100
"""Most values of one parameter."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen values of each parameter, in the order of the URL; empty means: the page's own choice.

    set                 of saved matrices, in place of `matrix`; one value
    op, reproducible    SpMVs of A or of AT alone; `true`: bitwise reproducible kernels alone; one value each
    kernels             a preset of them where `kernel` names none: `best`, `paper`, `libraries` or `all`; one value
    sort                the order of the matrices where they are rows under kernels: a key of web/sorting.py or a
                        kernel, with a minus descending; one value
    study               of the cases whose history is shown; one value
    own                 (name, values) of the parameters that only some study's page has
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
    study: tuple[str, ...] = ()
    own: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def with_(self, **changes: Any) -> "Selection":
        """The same selection with some parameters replaced, each by one value or a tuple of them.

        Other matrices are no longer those of a set. What is no parameter of all pages is one of a study's own.
        """
        changes = ({"set": ()} if "matrix" in changes else {}) | changes
        values = {name: (v,) if isinstance(v, str) else tuple(v) for name, v in changes.items()}
        own = dict(self.own) | {name: values.pop(name) for name in [*values] if name not in NAMES}
        return replace(self, own=tuple((name, given) for name, given in own.items() if given), **values)

    @property
    def query(self) -> str:
        """The URL's query, without the question mark; `parse_selection` reads it back, a set for its matrices."""
        return urlencode(self.pairs)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What the query says, in its order."""
        names = (name for name in NAMES if not (self.set and name == "matrix"))
        common = [(name, value) for name in names for value in getattr(self, name)]
        return common + [(name, value) for name, values in self.own for value in values]


NAMES = tuple(field.name for field in fields(Selection) if field.name != "own")
"""The parameters that all pages of studies have."""


@dataclass(frozen=True, slots=True)
class PageParameter:
    """A parameter of the address that only the page of one study has.

    check  raises ParameterError for a value that cannot be chosen
    many   whether it may be given several times
    """

    name: str
    check: Callable[[str], object] = str
    many: bool = False


def one_of(name: str, known: Sequence[str]) -> PageParameter:
    """Return a parameter of few values."""
    return PageParameter(name, partial(_check_known, name, known))


def whole_number(name: str, most: int, unit: str) -> PageParameter:
    """Return a parameter that is a number of something, from 1 to `most`."""

    def check(value: str) -> None:
        if not (value.isascii() and value.isdecimal() and value[0] != "0" and len(value) <= len(str(most))):
            raise ParameterError(f"{name} is {quote(value)}; expected a number of {unit} from 1 to {most:,}.")

    return PageParameter(name, check)


ONCE = ("set", "kernels", "sort", "op", "reproducible", "study")
"""Given once at most, as a page's own parameters are."""

KERNELS_OF = ("best", "paper", "libraries", "all")
"""The kernels that a page shows where the address names none."""

REPRODUCIBLE = "true"
"""Shows bitwise reproducible kernels alone."""

ONE_OF = {
    "cache": CACHES,
    "kernels": KERNELS_OF,
    "op": OPS,
    "reproducible": (REPRODUCIBLE,),
}
"""The values of parameters that have few."""


def parse_selection(
    query: Iterable[tuple[str, str]], names: tuple[str, ...] = NAMES, own: Mapping[str, PageParameter] | None = None
) -> Selection:
    """The selection of (name, value) pairs, repeats kept once; raises ParameterError on what cannot be chosen.

    names  that may be given; own: the studies' parameters that may be given too, by name
    """
    own = own or {}
    given: dict[str, list[str]] = {name: [] for name in (*NAMES, *own)}
    for name, value in query:
        _known(name, (*names, *own))
        given[name].append(value)
    for name, values in given.items():
        if len(values) > VALUES_MAX:
            raise ParameterError(f"{name} is given {len(values)} times; at most {VALUES_MAX} are shown at once.")
        values[:] = filter(None, values)
        once = name in ONCE if name in NAMES else not own[name].many
        if once and len(set(values)) > 1:
            raise ParameterError(f"{name} is given {len(values)} times; give it once.")
    selection = Selection().with_(**{name: tuple(dict.fromkeys(values)) for name, values in given.items() if values})
    if selection.set and selection.matrix:
        raise ParameterError("set and matrix are given; a set stands for its matrices: give one of them.")
    for name, known in ONE_OF.items():
        for value in getattr(selection, name):
            _check_known(name, known, value)
    for name, chosen in selection.own:
        for value in chosen:
            own[name].check(value)
    for sort in selection.sort:
        sorting.check(sort)
    return selection


def parse_options(query: Iterable[tuple[str, str]], names: tuple[str, ...]) -> dict[str, str]:
    """The parameters of a list page, absent ones empty; raises ParameterError on unknown or repeated names."""
    options: dict[str, str] = dict.fromkeys(names, "")
    given: set[str] = set()
    for name, value in query:
        _known(name, names)
        if name in given:
            raise ParameterError(f"{name} is given twice; give it once.")
        given.add(name)
        options[name] = value
    return options


def _check_known(name: str, known: Sequence[str], value: str) -> None:
    if value not in known:
        raise ParameterError(f"{name} is {quote(value)}; it must be one of {', '.join(known)}.")


def _known(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        known = f"known ones are {', '.join(names)}" if names else "this page takes none"
        raise ParameterError(f"There is no parameter {quote(name)} here; {known}.")


def study_url(study: str, selection: Selection) -> str:
    """The page of a study with a selection."""
    return f"/{study}?{selection.query}" if selection.query else f"/{study}"
