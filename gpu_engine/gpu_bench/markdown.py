"""Tables in Markdown: what the tables of a benchmark are made of, and how they are written."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import geometric_mean

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import MISSING

NUMBER = re.compile(rf"[-+−]?\d[\d.,\u202f ]*(?!\w).*|{MISSING}?")
"""A cell that is set right: it begins with a number, or there is none."""


@dataclass(frozen=True, slots=True)
class Section:
    """A table under its heading, and the sentences below it."""

    title: str
    table: Table
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchmarkData:
    """A recording, and the subjects that it is of."""

    subjects: Sequence[Subject]
    recording: Recording

    @cached_property
    def groups(self) -> dict[str, str]:
        """The group of a subject by its name, which is the id of its matrix, and by that of its stand-in."""
        return {name: subject.group for subject in self.subjects for name in subject.names}

    @cached_property
    def study(self) -> StudyData:
        """The records as findings see them."""
        recording = self.recording
        matrices = {matrix.id: MatrixFeatures.of(matrix) for matrix in recording.matrices}
        traces = {(recording.device.id, trace.case): trace for trace in recording.traces}
        return StudyData(recording.measurements, matrices, traces=traces)

    def name(self, matrix_id: str) -> str:
        """What a matrix is called."""
        return self.study.matrix(matrix_id).name


Tables = Mapping[str, Callable[[BenchmarkData], Iterable[Section]]]
"""The tables of a study by name."""


def section(title: str, heads: str, rows: Iterable[Iterable[str]], *notes: str) -> Iterator[Section]:
    """The table of these rows; none where there are none. `heads` has ` | ` between its cells."""
    found = tuple(map(tuple, rows))
    if found:
        columns = tuple(
            Head(head, numeric=all(map(NUMBER.fullmatch, cells)))
            for head, cells in zip(heads.split(" | "), zip(*found, strict=True), strict=True)
        )
        yield Section(title, Table(columns, found), tuple(filter(None, notes)))


def render(sections: Iterable[Section]) -> str:
    """The sections as Markdown, an empty line between what is not of one table."""
    return "\n".join("\n".join(_lines(each)) for each in sections)


def report(data: BenchmarkData, tables: Tables) -> str:
    """All tables of a study."""
    recording = data.recording
    sections = (section for table in tables.values() for section in table(data))
    return f"# {recording.study}, {recording.device.name}, {recording.created_at}\n\n{render(sections)}"


def number(value: float | None, decimals: int = 2) -> str:
    """With so many decimals; a dash where there is none."""
    return MISSING if value is None else f"{value:.{decimals}f}"


def us(seconds: float | None) -> str:
    """In microseconds, without the unit."""
    return MISSING if seconds is None else f"{seconds * 1e6:.1f}"


def ms(seconds: float | None) -> str:
    """In milliseconds, without the unit."""
    return MISSING if seconds is None else f"{seconds * 1e3:.3f}"


def mean(values: Iterable[float | None]) -> str:
    """The geometric mean of those that there are."""
    found = [value for value in values if value]
    return number(geometric_mean(found) if found else None)


def lowest(ratios: Iterable[float | None], what: str = "") -> str:
    """`geometric mean 1.24, lowest 1.02, of 9 graphs`; empty without a ratio."""
    found = [ratio for ratio in ratios if ratio]
    counted = f"{len(found)} {what}".rstrip()
    return f"geometric mean {mean(found)}, lowest {min(found):.2f}, of {counted}" if found else ""


def fastest(timed: Iterable[Measurement], may: Callable[[str], bool]) -> Measurement | None:
    """The first kernel that may take part, of measurements of which the fastest is the first."""
    return next((m for m in timed if m.median_s and may(m.kernel)), None)


def _lines(section: Section) -> Iterator[str]:
    yield from (f"## {section.title}", "", *table_lines(section.table))
    for note in section.notes:
        yield from ("", note)
    yield ""


def table_lines(table: Table) -> Iterator[str]:
    """A table as the lines of one in Markdown."""
    yield _row(f"{head.text} {head.unit}".rstrip() for head in table.heads)
    yield _row("---:" if head.numeric else "---" for head in table.heads)
    yield from map(_row, table.rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
