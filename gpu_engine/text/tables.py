"""Tables as text, for pages, terminals, documents, and the API."""

from dataclasses import dataclass

from gpu_engine.text.units import MISSING


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

    def without_empty(self, text: str) -> "Table":
        """Return the table without the columns of a head in which no row has a value."""
        empty = {
            place
            for place, head in enumerate(self.heads)
            if head.text == text and self.rows and all(row[place] in ("", MISSING) for row in self.rows)
        }
        heads = (head for place, head in enumerate(self.heads) if place not in empty)
        rows = (tuple(cell for place, cell in enumerate(row) if place not in empty) for row in self.rows)
        return Table(tuple(heads), tuple(rows)) if empty else self
