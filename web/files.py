"""Table files: CSV for programs, Markdown and LaTeX for papers."""

import re
from collections.abc import Callable, Sequence

from tabulate import tabulate

from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, THIN
from server.responses import to_csv
from web.components import TitledTable
from web.latex import latex

WORD_JOINER = "\u2060"
"""Character after the dash of an interval, which keeps its ends on one line of a page."""

OPENING, CLOSING = "\ue000", "\ue001"
"""Marks around the fastest cells, which escaping leaves unchanged."""

LEADING = "Bold: fastest or tied."


def _csv(tables: Sequence[TitledTable]) -> str:
    """Return one CSV block per table, separated by an empty line; missing numbers are empty.

    The first columns are the keys of a table, such as the device; several tables also get a column with their heading.
    """
    return "\n".join(_csv_block(_keyed(each, several=len(tables) > 1)) for each in tables)


def _keyed(each: TitledTable, several: bool) -> Table:
    """Return the table with its keys as additional columns."""
    keys = ((("table", each.heading),) if several else ()) + each.keys
    heads = (*(Head(name, numeric=False) for name, _ in keys), *each.table.heads)
    return Table(heads, tuple((*(value for _, value in keys), *row) for row in each.table.rows))


def _csv_block(table: Table) -> str:
    names = [_name(head) for head in table.heads]
    # Heads may repeat; the columns of a CSV do not.
    unique = [name if names.index(name) == place else f"{name} {place + 1}" for place, name in enumerate(names)]
    rows = [dict(zip(unique, map(_plain, row), strict=True)) for row in table.rows]
    return to_csv(rows, unique)


def _plain(cell: str) -> str:
    digits = re.sub(r"(?<=\d),(?=\d{3})", "", cell)
    return "" if cell == MISSING else digits.replace(THIN, " ").replace("−", "-").replace(WORD_JOINER, "")


def _markdown(tables: Sequence[TitledTable]) -> str:
    blocks = (f"**{each.heading}**{_note(each)}\n\n{_written(_without_bars(each))}" for each in tables)
    return re.sub(f"[{OPENING}{CLOSING}]", "**", "\n\n".join(blocks)) + "\n"


def _without_bars(each: TitledTable) -> TitledTable:
    """Return the table with escaped vertical bars, which would begin a cell in Markdown."""
    rows = tuple(tuple(cell.replace("|", r"\|") for cell in row) for row in each.table.rows)
    return TitledTable(each.heading, Table(each.table.heads, rows), each.leading)


def _latex(tables: Sequence[TitledTable]) -> str:
    return latex(tables, LEADING)


def _note(each: TitledTable) -> str:
    return f". {LEADING}" if each.leading else ""


def _written(each: TitledTable) -> str:
    align = ["right" if head.numeric else "left" for head in each.table.heads]
    heads = [_name(head) for head in each.table.heads]
    rows = [
        [f"{OPENING}{cell}{CLOSING}" if (row, column) in each.leading else cell for column, cell in enumerate(cells)]
        for row, cells in enumerate(each.table.rows)
    ]
    written: str = tabulate(rows, heads, tablefmt="github", disable_numparse=True, colalign=align if rows else None)
    return written


def _name(head: Head) -> str:
    return f"{head.text} ({head.unit})" if head.unit else head.text


WRITERS: dict[str, Callable[[Sequence[TitledTable]], str]] = {".csv": _csv, ".md": _markdown, ".tex": _latex}
"""File ending → function that writes tables in that format."""
