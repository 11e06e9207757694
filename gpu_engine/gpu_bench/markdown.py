"""Tables in Markdown: the one renderer of what findings say of a recording."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from gpu_engine.findings import comparisons
from gpu_engine.findings.comparisons import Comparison
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table


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

    def only(self, wanted: Callable[[Measurement], bool]) -> StudyData:
        """Return the study data of some of the measurements."""
        return replace(self.study, measurements=[m for m in self.recording.measurements if wanted(m)])


Sections = Callable[[BenchmarkData], Iterable[Section]]

Tables = Mapping[str, Sections]
"""The tables of a study by name."""


def tabled(title: str, table: Callable[[StudyData], Table]) -> Sections:
    """Return what makes the section of one table of findings."""
    return lambda data: [Section(title, table(data.study))]


def compared(title: str, cases: Sequence[Comparison], names: Sequence[Head], what: str) -> Iterator[Section]:
    """Yield what comes out of comparisons over all cases, under that title, then the tables of the cases."""
    yield Section(title, comparisons.summary(cases, what))
    yield from (Section(of, table) for of, table in comparisons.tables(cases, names).items())


def found(findings: Iterable[Finding]) -> Iterator[Section]:
    """Yield what findings say: the table of each, and its sentences below."""
    for finding in findings:
        yield Section(f"{finding.title}, {finding.cache}", finding.table, finding.sentences)


def render(sections: Iterable[Section]) -> str:
    """The sections as Markdown, an empty line between what is not of one table."""
    return "\n".join("\n".join(_lines(each)) for each in sections if each.table.rows)


def report(data: BenchmarkData, tables: Tables) -> str:
    """All tables of a study."""
    recording = data.recording
    sections = (section for table in tables.values() for section in table(data))
    return f"# {recording.study}, {recording.device.name}, {recording.created_at}\n\n{render(sections)}"


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
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
