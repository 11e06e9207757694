"""Calls for the audits: IndependentlyTimed times each call, ChangingInput changes x and poisons y before each call."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine.custom_kernels.examiner import Examiner, host_copy
from gpu_engine.errors import KernelError
from gpu_engine.verify import POISON

ELEMENTS, VALUES = 16, 97
"""Numbers of changing elements and of their values: coprime, so that an element does not get its value again."""


class IndependentlyTimed:
    """An SpMV whose calls are timed by a clock that is independent of the clock of the rounds."""

    def __init__(self, product: Callable[[], None], clock: Callable[[], float]) -> None:
        self._product, self._clock = product, clock
        self._seconds: list[float] = []

    def __call__(self) -> None:
        """Run and time one SpMV."""
        begin = self._clock()
        self._product()
        self._seconds.append(self._clock() - begin)

    def begin(self) -> None:
        """Begin a turn."""
        self._seconds = []

    def seconds(self, by_stopwatch: float) -> list[float]:
        """Return the seconds of each call since `begin`, or [by_stopwatch] if a replayed CUDA graph made the calls."""
        return self._seconds or [by_stopwatch]


class ChangingInput:
    """An SpMV whose x differs in each call.

    The changes lie in arrays on the device, so that a CUDA graph replays them; each turn draws new ones.
    """

    def __init__(self, xp: Any, examiner: Examiner, product: Callable[[], None], x: Any, y: Any) -> None:
        self._examiner, self._product, self._x, self._y = examiner, product, x, y
        self._xp, self._values, self._poison = xp, xp.zeros(VALUES), xp.full(1, POISON)
        draw = np.random.default_rng(examiner.seed())
        self._columns = draw.choice(examiner.columns, ELEMENTS)
        rows = draw.choice(examiner.rows, ELEMENTS)
        elements = itertools.cycle([(_at(column), _at(row)) for column, row in zip(self._columns, rows, strict=True)])
        self._steps = zip(elements, itertools.cycle(map(_at, range(VALUES))), strict=False)
        self._base: Any = None

    def __call__(self) -> None:
        """Change one element of x, poison one of y, and run one SpMV."""
        (column, row), value = next(self._steps)
        self._x[column] = self._values[value]
        self._y[row] = self._poison
        self._product()

    def begin(self, base: Any) -> None:
        """Begin a turn; base: the last x that was written, on the host."""
        self._base = base
        self._values[...] = self._xp.asarray(self._examiner.numbers(VALUES))

    def end(self, when: str) -> Any:
        """Return the x of the last call, on the host; raise KernelError if another element of it has changed."""
        x, values = host_copy(self._x), host_copy(self._values)
        changed = np.flatnonzero(x != self._base)
        if not (np.isin(changed, self._columns).all() and np.isin(x[changed], values).all()):
            raise KernelError(f"rejected: it changed x, {when}")
        return x


def _at(index: int) -> slice:
    """Return the slice of one element; on a GPU it selects a view without a copy to the host."""
    return slice(int(index), int(index) + 1)
