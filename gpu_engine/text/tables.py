"""Tables as text, for pages, terminals, documents, and the API."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Head:
    """Head of a column with its unit or qualifier; numeric columns are right-aligned."""

    text: str
    unit: str = ""
    numeric: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of texts under their heads."""

    heads: tuple[Head, ...]
    rows: tuple[tuple[str, ...], ...]
