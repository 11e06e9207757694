"""Results as tables for a terminal: one table per matrix, device and cache state, the fastest kernel first."""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from rich.console import Console

from gpu_engine.noise import noise
from gpu_engine.records import Measurement
from gpu_engine.verdict import compare, factor
from sparsight.terminal import Column, print_table, say

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


class Line(NamedTuple):
    """A measurement beside the fastest of its table: the verdict, or its state where it has no time."""

    m: Measurement
    verdict: str
    ratio: float | None


def duration(seconds: float | None) -> str:
    """A time in the unit that leaves one to three digits before the point; empty for None."""
    if seconds is None:
        return ""
    size, unit = next((entry for entry in UNITS if seconds >= entry[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def times(ratio: float | None) -> str:
    """A ratio of times as it stands beside a verdict, at least 1; empty for None."""
    return "" if ratio is None else f"{factor(ratio):.2f} ×"


def share(part: float | None, whole: float | None) -> str:
    """part / whole in percent; empty where one is missing."""
    return f"{part / whole:.0%}" if part is not None and whole else ""


COLUMNS: tuple[Column[Line], ...] = (
    Column("kernel", lambda line: line.m.kernel),
    Column("verdict", lambda line: line.verdict),
    Column("ratio", lambda line: times(line.ratio), right=True),
    Column("time", lambda line: duration(line.m.median_s), right=True),
    Column("GFLOP/s", lambda line: "" if line.m.gflops is None else f"{line.m.gflops:.3g}", right=True),
    Column("of floor", lambda line: share(line.m.floor_s, line.m.median_s), right=True),
    Column("95 % interval", lambda line: _interval(line.m), right=True),
    Column("error", lambda line: "" if line.m.max_error is None else f"{line.m.max_error:.1f} ε", right=True),
    Column(
        "memory",
        lambda line: "" if line.m.stored_bytes is None else f"{line.m.stored_bytes / 2**20:.1f} MiB",
        right=True,
    ),
)
"""What matters most is first: a narrow terminal has no room for the last ones."""


def print_results(console: Console, measurements: Sequence[Measurement], names: Mapping[str, str]) -> list[str]:
    """Prints the tables of a job's measurements, and below each why kernels have no time; the headings left out.

    names  of matrices, by id
    """

    def place(m: Measurement) -> tuple[str, str, str]:
        return m.matrix_id, m.device, m.cache

    left_out: set[str] = set()
    for (matrix_id, device, cache), group in groupby(sorted(measurements, key=place), key=place):
        lines = _ranked(group)
        say(f"{names.get(matrix_id, matrix_id)} on {device}, {cache}", console, "italic")
        if busy := noise([line.m for line in lines]):
            say(busy, console)
        left_out.update(print_table(console, COLUMNS, lines))
        for note, without in _notes(lines).items():
            say(f"{', '.join(without)}: {note}", console)
        console.print()
    return [column.heading for column in COLUMNS if column.heading in left_out]


def _ranked(group: Iterable[Measurement]) -> list[Line]:
    """The measurements of a table, the fastest first, those without a time last; on a busy machine nothing leads."""
    ranked = sorted(group, key=lambda m: math.inf if m.median_s is None else m.median_s)
    first = "ambiguous" if noise(ranked) else "fastest"
    return [_line(m, ranked[0], first) for m in ranked]


def _line(m: Measurement, fastest: Measurement, first: str) -> Line:
    if m.median_s is None:
        return Line(m, m.state, None)
    if m is fastest:
        return Line(m, first, None)
    verdict = compare(fastest, m)
    return Line(m, verdict.kind, 1 / verdict.ratio if verdict.ratio else None)


def _notes(lines: Iterable[Line]) -> dict[str, list[str]]:
    """Why there is no time → the kernels of which that is said."""
    said: dict[str, list[str]] = {}
    for m, *_ in lines:
        if m.median_s is None and m.note:
            said.setdefault(m.note, []).append(m.kernel)
    return said


def _interval(m: Measurement) -> str:
    return "" if m.ci_low_s is None else f"{duration(m.ci_low_s)} … {duration(m.ci_high_s)}"
