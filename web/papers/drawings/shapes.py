"""Shapes of the drawings: tables of matrices and arrays, and grids of cells as inline SVG."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

Cell = tuple[str, str]
"""Text and CSS classes of a table cell; classes: `alt` and `pad`, or empty."""

CELL = 10
"""Side of a cell of a grid in SVG units."""

SCROLL = Markup('<div class="scroll" role="group" tabindex="0" aria-label="{}">{}</div>')
TABLE = Markup('<table class="{}"><caption>{}</caption>{}{}</table>')
RECT = Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>')
SVG = Markup('<svg viewBox="0 0 {} {}" width="{}" height="{}" role="img" aria-label="{}">{}</svg>')


def join(parts: Iterable[Markup]) -> Markup:
    """Return the parts one after the other."""
    return Markup("").join(parts)


def sentence(text: str) -> Markup:
    """Return a paragraph."""
    return Markup("<p>{}</p>").format(text)


def table(caption: str, heads: Sequence[str], rows: Iterable[tuple[str, Sequence[Cell]]], kind: str = "") -> Markup:
    """Return a table in a scrolling frame.

    heads  text of each column, the first one that of the row heads; empty: no head
    rows   pairs of (head, cells)
    kind   `words` for cells with text, which wraps; empty: numbers
    """
    head = join(Markup('<th scope="col">{}</th>').format(text) if text else Markup("<td></td>") for text in heads)
    body = join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(text, join(_cell(*cell) for cell in cells))
        for text, cells in rows
    )
    whole = Markup("<thead><tr>{}</tr></thead>").format(head) if heads else Markup("")
    return SCROLL.format(caption, TABLE.format(kind, caption, whole, Markup("<tbody>{}</tbody>").format(body)))


def matrix_table(caption: str, dense: Any) -> Markup:
    """Return a matrix with its row and column indices; zeros are empty. dense: array [rows, columns]."""
    rows = ((f"{row}", [(number(v) if v else "", "") for v in values]) for row, values in enumerate(dense.tolist()))
    return table(caption, ("", *map(str, range(dense.shape[1]))), rows)


def arrays_table(caption: str, arrays: Mapping[str, Any], pointers: Any) -> Markup:
    """Return arrays of nonzeros, one per row, with each second line shaded.

    arrays    name → array [nnz]
    pointers  first nonzero of each line (row or column), and the end of the last one
    """
    shades = shades_of(pointers)
    rows = [(name, cells(array, shades)) for name, array in arrays.items()]
    return table(caption, ("position", *map(str, range(len(shades)))), rows)


def shades_of(pointers: Any) -> tuple[str, ...]:
    """Return the class of each nonzero: `alt` in each second line."""
    lengths = (int(length) for length in pointers[1:] - pointers[:-1])
    return tuple("alt" if line % 2 else "" for line, length in enumerate(lengths) for _ in range(length))


def cells(array: Any, shades: Sequence[str] = ()) -> list[Cell]:
    """Return the elements of an array as cells; shades: their classes, or none."""
    texts = [number(value) for value in array.tolist()]
    return list(zip(texts, shades or [""] * len(texts), strict=True))


def slots_table(caption: str, array: Any, columns: Any, heads: Sequence[str]) -> Markup:
    """Return an array of ELLPACK with one table row per matrix row; padded slots are marked.

    array    [width, rows], as stored; columns: the column indices, −1 where padded
    heads    head of each row
    """
    padded = (columns == -1).T.tolist()
    rows = (
        (head, [(number(value), "pad" if pad else "") for value, pad in zip(values, pads, strict=True)])
        for head, values, pads in zip(heads, array.T.tolist(), padded, strict=True)
    )
    return table(caption, ("row", *(f"slot {slot}" for slot in range(array.shape[0]))), rows)


def number(value: float) -> str:
    """Return a number without needless digits and with a real minus sign."""
    return f"{value:g}".replace("-", "−")


def grid(label: str, columns: Sequence[Sequence[str]], gap: int = 0, every: int = 1) -> Markup:
    """Return columns of square cells from the top down as SVG.

    label    description for screen readers
    columns  classes of the cells of each column
    gap      cells between two groups of `every` columns
    """
    starts = [CELL * (place + gap * (place // every)) for place in range(len(columns))]
    side = CELL - 1
    rects = join(
        RECT.format(name, x, CELL * row, side, side)
        for x, column in zip(starts, columns, strict=True)
        for row, name in enumerate(column)
        if name
    )
    return svg(label, starts[-1] + CELL, CELL * max(map(len, columns)), rects)


def svg(label: str, width: int, height: int, shapes: Markup) -> Markup:
    """Return an inline SVG with a description for screen readers; it shrinks on narrow screens."""
    return SVG.format(width, height, 2 * width, 2 * height, label, shapes)


def legend(entries: Mapping[str, str]) -> Markup:
    """Return a legend: class → meaning."""
    items = (Markup('<span class="key {}"></span> {}').format(name, text) for name, text in entries.items())
    return Markup('<p class="small">{}</p>').format(Markup(" · ").join(items))


def _cell(text: str, name: str) -> Markup:
    return Markup('<td class="{}">{}</td>').format(name, text) if name else Markup("<td>{}</td>").format(text)
