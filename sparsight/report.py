"""Results in a terminal: for each finding a title, sentences, and the table of its study."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from gpu_engine.verdicts.verdict import factor
from sparsight.terminal import Column, print_status, print_table

if TYPE_CHECKING:
    # These modules take seconds to import.
    from gpu_engine.findings.finding import Finding, Row
    from gpu_engine.text.tables import Head

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def format_duration(seconds: float | None) -> str:
    """Return a time with three significant digits in s, ms, µs, or ns; empty for None."""
    if seconds is None:
        return ""
    size, unit = next((entry for entry in UNITS if seconds >= entry[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def format_ratio(ratio: float | None) -> str:
    """Return a ratio of two times as a factor of at least 1; empty for None. The verdict gives the direction."""
    return "" if ratio is None else f"{factor(ratio):.2f} ×"


def print_findings(console: Console, findings: Iterable["Finding"]) -> list[str]:
    """Print each finding with its table and the reasons for missing times; return the headings of hidden columns."""
    hidden: dict[str, None] = {}
    for finding in findings:
        axes = "".join(f", {name}={value}" for name, value in finding.axes.items())
        print_status(f"{finding.title} on {finding.device}, {finding.cache}{axes}", console, "italic")
        for sentence in finding.sentences:
            print_status(sentence, console)
        rows = finding.table.rows
        hidden |= dict.fromkeys(print_table(console, _columns(finding.table.heads), rows))
        for note, labels in _notes(finding.rows).items():
            print_status(f"{', '.join(labels)}: {note}", console)
        console.print()
    return list(hidden)


def _columns(heads: Sequence["Head"]) -> list[Column[tuple[str, ...]]]:
    """Return the columns in the order of their importance, because a narrow terminal hides the last ones."""
    return [
        Column(f"{head.text} {head.unit}".strip(), lambda row, index=index: row[index], right=head.numeric)  # type: ignore[misc]
        for index, head in enumerate(heads)
    ]


def _notes(rows: Iterable["Row"]) -> dict[str, list[str]]:
    """Return reason for a missing time → labels of the cases."""
    notes: dict[str, list[str]] = {}
    for row in rows:
        if row.measurement.median_s is None:
            notes.setdefault(row.reason, []).append(row.label)
    return notes
