"""Markdown tables of a recording."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gpu_engine.findings import comparisons
from gpu_engine.findings.comparisons import Comparison
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a table, and the sentences below it."""

    title: str
    table: Table
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BenchmarkData:
    """A recording and its benchmark matrices."""

    subjects: Sequence[Subject]
    recording: Recording

    @cached_property
    def groups(self) -> dict[str, str]:
        """Group of each matrix, by its name, which is its id, and by the name of its stand-in."""
        return {name: subject.group for subject in self.subjects for name in subject.names}

    @cached_property
    def study(self) -> StudyData:
        """The records as data of findings."""
        recording = self.recording
        matrices = {matrix.id: MatrixFeatures.of(matrix) for matrix in recording.matrices}
        traces = {(recording.device.id, trace.case): trace for trace in recording.traces}
        return StudyData(recording.measurements, matrices, traces=traces)

    def only(self, selects: Callable[[Measurement], bool]) -> StudyData:
        """Return the study data of some of the measurements."""
        return replace(self.study, measurements=[m for m in self.recording.measurements if selects(m)])


Sections = Callable[[BenchmarkData], Iterable[Section]]

Tables = Mapping[str, Sections]
"""Tables of a study, by name."""


def table_section(title: str, table: Callable[[StudyData], Table]) -> Sections:
    """Return a function that yields the section of one table of findings."""
    return lambda data: [Section(title, table(data.study))]


def comparison_sections(title: str, cases: Sequence[Comparison], names: Sequence[Head], what: str) -> Iterator[Section]:
    """Yield the section of geometric means over all comparisons, then the tables of the comparisons."""
    yield Section(title, comparisons.summary(cases, what))
    yield from (Section(of, table) for of, table in comparisons.tables(cases, names).items())


def finding_sections(findings: Iterable[Finding]) -> Iterator[Section]:
    """Yield the section of each finding: its table, and its sentences below."""
    for finding in findings:
        yield Section(f"{finding.title}, {finding.cache}", finding.table, finding.sentences)


def render(sections: Iterable[Section]) -> str:
    """Return the sections as Markdown."""
    return "\n".join("\n".join(_lines(each)) for each in sections if each.table.rows)


def report(data: BenchmarkData, tables: Tables) -> str:
    """Return all tables of a study as Markdown."""
    recording = data.recording
    sections = (section for table in tables.values() for section in table(data))
    return f"# {recording.study}, {recording.device.name}, {recording.created_at}\n\n{render(sections)}"


def _lines(section: Section) -> Iterator[str]:
    yield from (f"## {section.title}", "", *table_lines(section.table))
    for note in section.notes:
        yield from ("", note)
    yield ""


def table_lines(table: Table) -> Iterator[str]:
    """Yield the lines of a table in Markdown."""
    yield _row(f"{head.text} {head.unit}".rstrip() for head in table.heads)
    yield _row("---:" if head.numeric else "---" for head in table.heads)
    yield from map(_row, table.rows)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
