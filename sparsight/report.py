"""Results as tables for a terminal: one table per matrix, device and cache state, the fastest kernel first."""

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from gpu_engine.records import Measurement
from gpu_engine.verdict import compare

UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def duration(seconds: float | None) -> str:
    """A time in the unit that leaves one to three digits before the point; empty for None."""
    if seconds is None:
        return ""
    size, unit = next((entry for entry in UNITS if seconds >= entry[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def share(part: float | None, whole: float | None) -> str:
    """part / whole in percent; empty where one is missing."""
    return f"{part / whole:.0%}" if part is not None and whole else ""


def tables(measurements: Sequence[Measurement], names: dict[str, str]) -> Iterator[Table]:
    """The tables of a job's measurements; `names` maps matrix ids to names."""

    def place(m: Measurement) -> tuple[str, str, str]:
        return m.matrix_id, m.device, m.cache

    for (matrix_id, device, cache), group in groupby(sorted(measurements, key=place), key=place):
        # Names are what strangers uploaded: Text keeps Rich from reading markup in them.
        yield _table(Text(f"{names.get(matrix_id, matrix_id)} on {device}, {cache}"), list(group))


def _table(title: Text, group: list[Measurement]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    table.add_column("kernel", no_wrap=True)
    for heading in ("time", "95 % interval", "GFLOP/s", "of floor", "error", "memory"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("against the fastest", overflow="fold")
    ranked = sorted(group, key=lambda m: math.inf if m.median_s is None else m.median_s)
    for m in ranked:
        table.add_row(*_row(m, ranked[0]))
    return table


def _row(m: Measurement, fastest: Measurement) -> tuple[str | Text, ...]:
    if m.median_s is None:
        return m.kernel, m.state, "", "", "", "", "", Text(m.note)
    verdict = compare(fastest, m)
    ratio = f"{verdict.kind}, {1 / verdict.ratio:.2f} ×" if verdict.ratio else verdict.kind
    return (
        m.kernel,
        duration(m.median_s),
        "" if m.ci_low_s is None else f"{duration(m.ci_low_s)} … {duration(m.ci_high_s)}",
        "" if m.gflops is None else f"{m.gflops:.3g}",
        share(m.floor_s, m.median_s),
        "" if m.max_error is None else f"{m.max_error:.1f} ε",
        "" if m.stored_bytes is None else f"{m.stored_bytes / 2**20:.1f} MiB",
        "fastest" if m is fastest else ratio,
    )
