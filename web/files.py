"""Tables as files: CSV for programs, Markdown and LaTeX for papers."""

import re
from collections.abc import Callable, Sequence

from tabulate import tabulate

from gpu_engine.findings.tables import Head, Table
from gpu_engine.findings.units import MISSING, THIN
from server.responses import to_csv
from web.parts import TitledTable

TEX = str.maketrans(
    {
        THIN: r"\,",
        "×": r"$\times$",
        "·": r"$\cdot$",
        "−": "$-$",
        "–": "--",
        "µ": r"\textmu{}",
        "σ": r"$\sigma$",
        "ε": r"$\varepsilon$",
        "γ": r"$\gamma$",
        "≤": r"$\le$",
        "≥": r"$\ge$",
        "‖": r"$\|$",
        "₁": r"$_1$",
    }
)
"""Characters of our tables that pdflatex has no glyphs for."""


def _csv(tables: Sequence[TitledTable]) -> str:
    """One block a table with an empty line between; numbers as programs read them, a missing one empty."""
    return "\n".join(_csv_block(each.table) for each in tables)


def _csv_block(table: Table) -> str:
    names = [_name(head) for head in table.heads]
    # Heads may repeat; the columns of a CSV do not.
    unique = [name if names.index(name) == place else f"{name} {place + 1}" for place, name in enumerate(names)]
    rows = [dict(zip(unique, map(_plain, row), strict=True)) for row in table.rows]
    return to_csv(rows, unique)


def _plain(cell: str) -> str:
    digits = re.sub(rf"(?<=\d){THIN}(?=\d)", "", cell)
    return "" if cell == MISSING else digits.replace(THIN, " ").replace("−", "-")


def _markdown(tables: Sequence[TitledTable]) -> str:
    blocks = (f"**{each.heading}**\n\n{_written(_without_bars(each.table), 'github')}" for each in tables)
    return "\n\n".join(blocks) + "\n"


def _without_bars(table: Table) -> Table:
    """The same with the bars escaped that would begin a cell."""
    return Table(table.heads, tuple(tuple(cell.replace("|", r"\|") for cell in row) for row in table.rows))


def _latex(tables: Sequence[TitledTable]) -> str:
    blocks = (f"% {each.heading}\n{_written(each.table, 'latex_booktabs')}" for each in tables)
    return "\n\n".join(blocks).translate(TEX) + "\n"


def _written(table: Table, form: str) -> str:
    align = ["right" if head.numeric else "left" for head in table.heads]
    heads = [_name(head) for head in table.heads]
    written: str = tabulate(
        table.rows, heads, tablefmt=form, disable_numparse=True, colalign=align if table.rows else None
    )
    return written


def _name(head: Head) -> str:
    return f"{head.text} ({head.unit})" if head.unit else head.text


WRITERS: dict[str, Callable[[Sequence[TitledTable]], str]] = {".csv": _csv, ".md": _markdown, ".tex": _latex}
"""Ending → what writes tables so."""
