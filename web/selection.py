"""Selection: what a page or figure shows, exactly as its URL says it."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import urlencode

from gpu_engine.errors import ParameterError, quote
from gpu_engine.records import CACHES, TRANSPOSED
from web import sorting

VALUES_MAX = 100
"""Most values of one parameter."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen values of each parameter, in the order of the URL; empty means: the page's own choice.

    set                 of saved matrices, in place of `matrix`; one value
    op, bits            of products: those of A or AT alone; those with the `same` bits in every run; one value each
    batch, operation    of the batches shown: how many problems, and y=Ax+y or y=Ax; one value each
    kernels             a preset of them where `kernel` names none: `best`, `paper`, `libraries` or `all`; one value
    series              the formats side by side: all, or those of a figure of the PELLR paper; one value
    sort                the order of the matrices where they are rows under kernels: a key of web/sorting.py or a
                        kernel, with a minus descending; one value
    devices, phases     of work shared by devices: how many they are, and whether its phases are times or shares; one
                        value each
    pair                formats: the first against each of the others; alone, against every other format measured
    study               of the cases whose history is shown; one value
    first, near, stall  of another schedule of PageRank's precisions, one value each; epsilon: where its runs end;
                        replay: the kernel whose trace is replayed under it
    """

    job: tuple[str, ...] = ()
    matrix: tuple[str, ...] = ()
    device: tuple[str, ...] = ()
    kernel: tuple[str, ...] = ()
    cache: tuple[str, ...] = ()
    set: tuple[str, ...] = ()
    baseline: tuple[str, ...] = ()
    pair: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    series: tuple[str, ...] = ()
    sort: tuple[str, ...] = ()
    op: tuple[str, ...] = ()
    bits: tuple[str, ...] = ()
    batch: tuple[str, ...] = ()
    operation: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    first: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    stall: tuple[str, ...] = ()
    epsilon: tuple[str, ...] = ()
    replay: tuple[str, ...] = ()
    study: tuple[str, ...] = ()

    def with_(self, **changes: Any) -> "Selection":
        """The same selection with some parameters replaced, each by one value or a tuple of them.

        Other matrices are no longer those of a set.
        """
        changes = ({"set": ()} if "matrix" in changes else {}) | changes
        return replace(self, **{name: (v,) if isinstance(v, str) else tuple(v) for name, v in changes.items()})

    @property
    def query(self) -> str:
        """The URL's query, without the question mark; `parse_selection` reads it back, a set for its matrices."""
        return urlencode(self.pairs)

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """What the query says, in its order."""
        names = (name for name in NAMES if not (self.set and name == "matrix"))
        return [(name, value) for name in names for value in getattr(self, name)]


NAMES = tuple(field.name for field in fields(Selection))

WHAT_IF = ("first", "near", "stall", "epsilon", "replay")
"""They are one schedule."""

ONCE = (*WHAT_IF, "set", "kernels", "series", "sort", "op", "bits", "batch", "operation", "devices", "phases", "study")
"""Given once at most."""

PHASES_AS = ("times", "shares")
"""How the phases of a product can be drawn."""

KERNELS_OF = ("best", "paper", "libraries", "all")
"""The kernels that a page shows where the address names none."""

OPS = ("A", TRANSPOSED)
"""What multiplies x."""

SAME_BITS = "same"
"""The kernels that gave the same bits in every run."""

SERIES_OF = ("all", "figure-11", "figure-12")
"""The formats that stand side by side."""

ONE_OF = {
    "cache": CACHES,
    "kernels": KERNELS_OF,
    "series": SERIES_OF,
    "op": OPS,
    "bits": (SAME_BITS,),
    "phases": PHASES_AS,
}
"""The values of parameters that have few."""


def parse_selection(query: Iterable[tuple[str, str]], names: tuple[str, ...] = NAMES) -> Selection:
    """The selection of (name, value) pairs, repeats kept once; raises ParameterError on what cannot be chosen.

    names  that may be given
    """
    given: dict[str, list[str]] = {name: [] for name in NAMES}
    for name, value in query:
        _known(name, names)
        given[name].append(value)
    for name, values in given.items():
        if len(values) > VALUES_MAX:
            raise ParameterError(f"{name} is given {len(values)} times; at most {VALUES_MAX} are shown at once.")
        values[:] = filter(None, values)
        if name in ONCE and len(set(values)) > 1:
            raise ParameterError(f"{name} is given {len(values)} times; give it once.")
    selection = Selection(**{name: tuple(dict.fromkeys(values)) for name, values in given.items()})
    if selection.set and selection.matrix:
        raise ParameterError("set and matrix are given; a set stands for its matrices: give one of them.")
    for name, known in ONE_OF.items():
        for value in getattr(selection, name):
            if value not in known:
                raise ParameterError(f"{name} is {quote(value)}; it must be one of {', '.join(known)}.")
    for batch in selection.batch:
        if not re.fullmatch("[1-9][0-9]{0,6}", batch):
            raise ParameterError(f"batch is {quote(batch)}; expected a number of problems from 1 to 9,999,999.")
    for devices in selection.devices:
        if not re.fullmatch("[1-9][0-9]{0,3}", devices):
            raise ParameterError(f"devices is {quote(devices)}; expected how many they are, from 1 to 9,999.")
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


def _known(name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        known = f"known ones are {', '.join(names)}" if names else "this page takes none"
        raise ParameterError(f"There is no parameter {quote(name)} here; {known}.")
