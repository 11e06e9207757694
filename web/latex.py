"""Tables as LaTeX: short ones as `tabular`, long ones as `longtable`, with numbers aligned by siunitx."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tabulate import LATEX_ESCAPE_RULES

from gpu_engine.text.tables import Head
from gpu_engine.text.units import MISSING, THIN
from web.components import TitledTable

PREAMBLE = r"% \usepackage{booktabs,graphicx,longtable,siunitx}"
"""What a document needs before its beginning."""

ROWS_MAX = 40
"""Number of rows up to which a table is one `tabular`, which also fits a class with two columns."""

SHORT = f"% A table: at most {ROWS_MAX} rows. It shrinks to the width of a column."
LONG = f"% A longtable: more than {ROWS_MAX} rows. It needs a page with one column; top={ROWS_MAX} gives a table."

SETTINGS = r"\footnotesize\setlength{\tabcolsep}{3pt}\sisetup{detect-weight = true, detect-inline-weight = math}"
"""Settings of a table: narrow enough for a page, and with bold numbers."""

TEX = str.maketrans(
    {
        THIN: r"\,",
        "×": r"$\times$",
        "·": r"$\cdot$",
        "−": "$-$",
        "–": "--",
        "\u2060": "",
        "µ": r"\textmu{}",
        "σ": r"$\sigma$",
        "ε": r"$\varepsilon$",
        "γ": r"$\gamma$",
        "δ": r"$\delta$",
        "≤": r"$\le$",
        "≥": r"$\ge$",
        "‖": r"$\|$",
        "→": r"$\to$",
        "…": r"\dots{}",
        "“": "``",
        "”": "''",
        "’": "'",
        "∞": r"$\infty$",
        "Σ": r"$\Sigma$",
        "α": r"$\alpha$",
        "β": r"$\beta$",
        "ᵀ": r"$^{\mathsf{T}}$",
    }
)
"""Characters of the tables that pdflatex cannot print, and their commands."""

RAISED, LOWERED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"), str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")

NUMBER = re.compile(rf"([−-]?\d[\d,]*(?:\.\d+)?)(?:{THIN}([^\d\s]\S*))?")
"""A number with or without a unit."""

BOLD = r"\bfseries "

LABEL_MAX = 40
"""Greatest length of a label made from a heading."""


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: its alignment, the unit that all its numbers have, and its cells."""

    align: str
    unit: str
    cells: tuple[str, ...]


def latex(tables: Sequence[TitledTable], note: str) -> str:
    """Return the tables with what a document needs for them; note: sentence about bold cells."""
    return "\n\n".join((PREAMBLE, *(_written(each, note) for each in tables))) + "\n"


def escaped(text: str) -> str:
    """Return a text as LaTeX prints it."""
    raised = re.sub("[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda match: f"\ue010{match[0].translate(RAISED)}\ue011", text)
    lowered = re.sub("[₀₁₂₃₄₅₆₇₈₉]+", lambda match: f"\ue012{match[0].translate(LOWERED)}\ue011", raised)
    safe = "".join(LATEX_ESCAPE_RULES.get(sign, sign) for sign in lowered).translate(TEX)
    return safe.replace("\ue010", "$^{").replace("\ue012", "$_{").replace("\ue011", "}$")


def _written(each: TitledTable, note: str) -> str:
    columns = [_column(each, place) for place in range(len(each.table.heads))]
    heads = (f"{{{_head(head, column.unit)}}}" for head, column in zip(each.table.heads, columns, strict=True))
    lines = [" & ".join(cells) + r" \\" for cells in zip(*(column.cells for column in columns), strict=True)]
    if each.means and lines:
        lines.insert(len(lines) - each.means, r"\midrule")
    caption = escaped(f"{each.heading}. {note}" if each.leading else each.heading)
    short = escaped(" · ".join(each.heading.split(" · ")[:2]))
    title = rf"\caption[{{{short}}}]{{{caption}}}\label{{tab:{each.label or _slug(each.heading)}}}"
    aligns = "".join(column.align for column in columns)
    head = "\n".join((r"\toprule", " & ".join(heads) + r" \\", r"\midrule"))
    is_short = len(each.table.rows) - each.means <= ROWS_MAX
    return _tabular(aligns, title, head, lines) if is_short else _longtable(aligns, title, head, lines, len(columns))


def _tabular(aligns: str, title: str, head: str, lines: Sequence[str]) -> str:
    """Return a floating table that is at most as wide as a column of text."""
    return "\n".join(
        (
            SHORT,
            r"\begin{table}[tbp]\centering" + SETTINGS,
            title,
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
            rf"\begin{{tabular}}{{{aligns}}}",
            head,
            *lines,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\end{table}",
        )
    )


def _longtable(aligns: str, title: str, head: str, lines: Sequence[str], columns: int) -> str:
    """Return a table that continues on the next page; columns: their number."""
    rest = rf"\midrule \multicolumn{{{columns}}}{{r}}{{continued}} \\"
    return "\n".join(
        (
            LONG,
            r"\begingroup" + SETTINGS,
            rf"\begin{{longtable}}{{{aligns}}}",
            rf"{title}\\",
            head,
            r"\endfirsthead",
            head,
            r"\endhead",
            rest,
            r"\endfoot",
            r"\bottomrule",
            r"\endlastfoot",
            *lines,
            r"\end{longtable}",
            r"\endgroup",
        )
    )


def _head(head: Head, unit: str) -> str:
    """Return the head of a column; that of numbers is broken after a slash and before its unit, to be narrow."""
    unit = " ".join(filter(None, (head.unit, unit)))
    lines = [*re.split(r"(?<=/)", head.text, maxsplit=1), *([f"({unit})"] if unit else [])]
    if not head.numeric or len(lines) == 1:
        return escaped(" ".join(lines) if unit else head.text)
    broken = r"\\".join(map(escaped, lines))
    return rf"\shortstack[r]{{{broken}}}"


def _slug(heading: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", heading.lower())[:LABEL_MAX].strip("-")


def _column(each: TitledTable, place: int) -> _Column:
    """Return a column: numbers if all its filled cells are numbers in one unit, text otherwise."""
    texts = [row[place] for row in each.table.rows]
    bold = [(row, place) in each.leading for row in range(len(texts))]
    matches = [NUMBER.fullmatch(text) for text in texts]
    filled = [match for match, text in zip(matches, texts, strict=True) if text not in ("", MISSING)]
    units = {match[2] or "" for match in filled if match}
    if not each.table.heads[place].numeric or not filled or None in filled or len(units) > 1:
        align = "r" if each.table.heads[place].numeric else "l"
        return _Column(align, "", tuple(_text(text, b) for text, b in zip(texts, bold, strict=True)))
    numbers = [_plain(match[1]) if match else None for match in matches]
    whole = max(len(number.lstrip("-").partition(".")[0]) for number in numbers if number)
    decimals = max(len(number.partition(".")[2]) for number in numbers if number)
    sign = "-" if any(number and number.startswith("-") for number in numbers) else ""
    cells = (
        f"{{{escaped(text)}}}" if number is None else (BOLD + number if b else number)
        for text, number, b in zip(texts, numbers, bold, strict=True)
    )
    return _Column(f"S[table-format={sign}{whole}.{decimals}]", units.pop(), tuple(cells))


def _plain(number: str) -> str:
    return number.replace(",", "").replace("−", "-")


def _text(text: str, is_bold: bool) -> str:
    return rf"\textbf{{{escaped(text)}}}" if is_bold else escaped(text)
