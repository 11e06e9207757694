"""Entry: metadata of one matrix of the SuiteSparse Matrix Collection, without values."""

import re
from dataclasses import dataclass

PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"
ID = re.compile(rf"{PART}/{PART}")
"""Pattern of `GROUP/NAME`; neither part can contain path separators."""

BINARY_BYTES, VALUE_BYTES = 4, 8
"""Approximate bytes of an archive per stored entry, without and with a value."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Matrix of the collection. None, and an empty kind, stand for unknown values.

    nnz        nonzeros with symmetric halves expanded, without explicit zeros; entries: with those
    real       whether its values are real numbers; binary: whether each value is 1
    spd        whether it is symmetric and positive definite; symmetric: whether it equals its transpose
    kind       kind of problem, in the terms of the collection
    """

    group: str
    name: str
    rows: int | None = None
    cols: int | None = None
    nnz: int | None = None
    entries: int | None = None
    real: bool | None = None
    binary: bool | None = None
    spd: bool | None = None
    symmetric: bool | None = None
    kind: str = ""

    @property
    def id(self) -> str:
        """Return the id in the collection, such as `HB/bcsstk16`."""
        return f"{self.group}/{self.name}"

    @property
    def stored(self) -> int | None:
        """Return the maximum number of entries in its file."""
        return None if self.nnz is None else max(self.nnz, self.entries or 0)

    @property
    def about_bytes(self) -> int | None:
        """Return the approximate size of its archive in bytes."""
        if self.stored is None:
            return None
        half = 2 if self.symmetric else 1
        return self.stored * (BINARY_BYTES if self.binary else VALUE_BYTES) // half
