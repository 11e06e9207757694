"""Tables as files: CSV for programs, Markdown and LaTeX for papers."""

import re
from collections.abc import Callable, Sequence

from tabulate import LATEX_ESCAPE_RULES, tabulate

from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING, THIN
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

OPENING, CLOSING = "\ue000", "\ue001"
"""Around a cell that leads: what escapes the others leaves them as they are."""

LEADING = "Bold: the fastest, and what is the same by its verdict."


def _csv(tables: Sequence[TitledTable]) -> str:
    """One block a table with an empty line between; numbers as programs read them, a missing one empty.

    What holds for all rows of a table, such as the device, comes first; of several tables before that their heading.
    """
    return "\n".join(_csv_block(_keyed(each, several=len(tables) > 1)) for each in tables)


def _keyed(each: TitledTable, several: bool) -> Table:
    """The same with what holds for all of its rows as columns."""
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
    digits = re.sub(rf"(?<=\d){THIN}(?=\d)", "", cell)
    return "" if cell == MISSING else digits.replace(THIN, " ").replace("−", "-")


def _markdown(tables: Sequence[TitledTable]) -> str:
    blocks = (f"**{each.heading}**{_note(each)}\n\n{_written(_without_bars(each), 'github')}" for each in tables)
    return re.sub(f"[{OPENING}{CLOSING}]", "**", "\n\n".join(blocks)) + "\n"


def _without_bars(each: TitledTable) -> TitledTable:
    """The same with the bars escaped that would begin a cell."""
    rows = tuple(tuple(cell.replace("|", r"\|") for cell in row) for row in each.table.rows)
    return TitledTable(each.heading, Table(each.table.heads, rows), each.leading)


def _latex(tables: Sequence[TitledTable]) -> str:
    """A float a table, with its caption; the package booktabs draws its rules."""
    text = "\n\n".join(map(_float, tables)).translate(TEX)
    return text.replace(OPENING, r"\textbf{").replace(CLOSING, "}") + "\n"


def _float(each: TitledTable) -> str:
    caption = "".join(LATEX_ESCAPE_RULES.get(sign, sign) for sign in f"{each.heading}{_note(each)}")
    label = re.sub(r"[^a-z0-9]+", "-", each.heading.lower()).strip("-")
    head = f"% \\usepackage{{booktabs}}\n\\begin{{table}}\n\\centering\n\\caption{{{caption}}}\n\\label{{tab:{label}}}"
    lines = _written(each, "latex_booktabs").splitlines()
    if each.means:
        # The last two lines end the table.
        lines.insert(-2 - each.means, r"\midrule")
    return "\n".join((head, *lines, r"\end{table}"))


def _note(each: TitledTable) -> str:
    return f". {LEADING}" if each.leading else ""


def _written(each: TitledTable, form: str) -> str:
    align = ["right" if head.numeric else "left" for head in each.table.heads]
    heads = [_name(head) for head in each.table.heads]
    rows = [
        [f"{OPENING}{cell}{CLOSING}" if (row, column) in each.leading else cell for column, cell in enumerate(cells)]
        for row, cells in enumerate(each.table.rows)
    ]
    written: str = tabulate(rows, heads, tablefmt=form, disable_numparse=True, colalign=align if rows else None)
    return written


def _name(head: Head) -> str:
    return f"{head.text} ({head.unit})" if head.unit else head.text


WRITERS: dict[str, Callable[[Sequence[TitledTable]], str]] = {".csv": _csv, ".md": _markdown, ".tex": _latex}
"""Ending → what writes tables so."""
