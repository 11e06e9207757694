"""Tables as text: what pages, terminals, documents and the API show of the same numbers."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a table's column; numbers are set right."""

    text: str
    unit: str = ""
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers as text under their heads, a row a case."""

    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
