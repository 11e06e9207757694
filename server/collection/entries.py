"""Entry: what an index says of one matrix of the SuiteSparse Matrix Collection; no values."""

import re
from dataclasses import dataclass

PART = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}"
ID = re.compile(rf"{PART}/{PART}")
"""`GROUP/NAME`: nothing that can be more than one step of a path."""

BINARY_BYTES, VALUE_BYTES = 4, 8
"""Of an archive for each stored entry, about: indices alone, and with a value."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A matrix of the collection; None, and an empty kind, stand for what the index does not say.

    nnz        nonzeros, symmetric halves expanded, explicit zeros left out; entries: with those
    real       whether its values are real numbers; binary: whether each is 1
    spd        whether it is symmetric and positive definite; symmetric: whether it equals its transpose
    kind       of problem, in the words of the collection
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
        """As the collection calls it: `HB/bcsstk16`."""
        return f"{self.group}/{self.name}"

    @property
    def stored(self) -> int | None:
        """How many entries its file holds at most."""
        return None if self.nnz is None else max(self.nnz, self.entries or 0)

    @property
    def about_bytes(self) -> int | None:
        """About how large its archive is."""
        if self.stored is None:
            return None
        half = 2 if self.symmetric else 1
        return self.stored * (BINARY_BYTES if self.binary else VALUE_BYTES) // half
