"""Products under watch: IndependentlyTimed has each call timed, ChangingInput change an element of x before each and poison one of y."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine.custom_kernels.examiner import Examiner, host_copy
from gpu_engine.errors import KernelError
from gpu_engine.verify import POISON

PLACES, VALUES = 16, 97
"""Elements that change in turn, and values in turn: without a common divisor, so that no place gets its own again."""


class IndependentlyTimed:
    """A product whose calls are timed by another clock than that of the rounds."""

    def __init__(self, product: Callable[[], None], clock: Callable[[], float]) -> None:
        self._product, self._clock = product, clock
        self._seconds: list[float] = []

    def __call__(self) -> None:
        """The product."""
        begin = self._clock()
        self._product()
        self._seconds.append(self._clock() - begin)

    def begin(self) -> None:
        """Begins a turn."""
        self._seconds = []

    def seconds(self, by_stopwatch: float) -> list[float]:
        """Those of the calls since `begin`; the stopwatch's where none was made, as of a graph that is replayed."""
        return self._seconds or [by_stopwatch]


class ChangingInput:
    """A product whose x is another one in each call.

    What changes lies in arrays of the device, so that a graph replays it; it is drawn anew for each turn.
    """

    def __init__(self, xp: Any, examiner: Examiner, product: Callable[[], None], x: Any, y: Any) -> None:
        self._examiner, self._product, self._x, self._y = examiner, product, x, y
        self._xp, self._values, self._poison = xp, xp.zeros(VALUES), xp.full(1, POISON)
        draw = np.random.default_rng(examiner.seed())
        self._columns = draw.choice(examiner.columns, PLACES)
        rows = draw.choice(examiner.rows, PLACES)
        places = itertools.cycle([(_at(column), _at(row)) for column, row in zip(self._columns, rows, strict=True)])
        self._steps = zip(places, itertools.cycle(map(_at, range(VALUES))), strict=False)
        self._base: Any = None

    def __call__(self) -> None:
        """The product, after the next change."""
        (column, row), value = next(self._steps)
        self._x[column] = self._values[value]
        self._y[row] = self._poison
        self._product()

    def begin(self, base: Any) -> None:
        """Begins a turn; base: the x on the host that was written last."""
        self._base = base
        self._values[...] = self._xp.asarray(self._examiner.numbers(VALUES))

    def end(self, when: str) -> Any:
        """The x of the last call, on the host; raises KernelError where something else has changed in it."""
        x, values = host_copy(self._x), host_copy(self._values)
        changed = np.flatnonzero(x != self._base)
        if not (np.isin(changed, self._columns).all() and np.isin(x[changed], values).all()):
            raise KernelError(f"refused: it changed x, {when}")
        return x


def _at(place: int) -> slice:
    """One element as a view: of an array on a GPU it needs no copy to the host."""
    return slice(int(place), int(place) + 1)
