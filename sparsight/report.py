"""Results in a terminal: for each finding its title, its sentences, and a table made for its study."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from gpu_engine.verdicts.verdict import factor
from sparsight.terminal import Column, print_table, say

if TYPE_CHECKING:
    # What stands behind a finding takes seconds to import.
    from gpu_engine.findings.finding import Finding, Row
    from gpu_engine.text.tables import Head

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def duration(seconds: float | None) -> str:
    """A time in the unit that leaves one to three digits before the point; empty for None."""
    if seconds is None:
        return ""
    size, unit = next((entry for entry in UNITS if seconds >= entry[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def times(ratio: float | None) -> str:
    """A ratio of times as it stands beside a verdict, at least 1; empty for None."""
    return "" if ratio is None else f"{factor(ratio):.2f} ×"


def print_findings(console: Console, findings: Iterable["Finding"]) -> list[str]:
    """Prints each with its table, and below that why cases have no time; returns the headings left out."""
    left_out: dict[str, None] = {}
    for finding in findings:
        axes = "".join(f", {name}={value}" for name, value in finding.axes.items())
        say(f"{finding.title} on {finding.device}, {finding.cache}{axes}", console, "italic")
        for sentence in finding.sentences:
            say(sentence, console)
        rows = finding.table.rows
        left_out |= dict.fromkeys(print_table(console, _columns(finding.table.heads), rows))
        for note, labels in _notes(finding.rows).items():
            say(f"{', '.join(labels)}: {note}", console)
        console.print()
    return list(left_out)


def _columns(heads: Sequence["Head"]) -> list[Column[tuple[str, ...]]]:
    """What matters most is first: a narrow terminal has no room for the last ones."""
    return [
        Column(f"{head.text} {head.unit}".strip(), lambda row, place=place: row[place], right=head.numeric)  # type: ignore[misc]
        for place, head in enumerate(heads)
    ]


def _notes(rows: Iterable["Row"]) -> dict[str, list[str]]:
    """Why there is no time → the cases of which that is said."""
    notes: dict[str, list[str]] = {}
    for row in rows:
        if row.measurement.median_s is None:
            notes.setdefault(row.reason, []).append(row.label)
    return notes
