"""`/{study}/tables/{name}`: a table of a study's page on a page of its own, and as CSV, Markdown or LaTeX."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError, quote
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text.tables import Table
from web import contexts, kernels
from web.files import WRITERS
from web.parts import Column, FindingLine, Link, TitledTable
from web.pivot import pivots
from web.results import Results, results_of, with_traces
from web.selection import Selection, study_url
from web.sorting import KEYS
from web.studies.base import Section, StudyPage
from web.views.lines import finding_lines


@dataclass(frozen=True, slots=True)
class NamedTables:
    """What stands under one name; line: the finding whose cases they are."""

    heading: str
    tables: tuple[TitledTable, ...]
    line: FindingLine | None = None
    notes: tuple[str, ...] = ()
    prose: bool = False


def features(study: StudyPage, results: Results) -> TitledTable:
    """The table of the matrices."""
    return TitledTable(study.features.heading, study.features.table(results))


def page(session: Session, study: StudyPage, asked: Selection, name: str) -> contexts.TablePage:
    """The page of the tables of that name; raises NotFoundError where the selection has none."""
    found = find(session, study, asked, name)
    return contexts.TablePage(
        title=found.heading,
        topics="",
        back=Link(study.title, study_url(study.name, asked)),
        name=name,
        line=found.line,
        notes=found.notes,
        tables=found.tables,
        prose=found.prose,
        columns=_columns(study, asked, name, found),
        files=tuple(Link(label, address(study.name, name + ending, asked)) for ending, label in LABELS),
    )


SORTABLE = ("pivot", "side-by-side-numbers")
"""Tables of kernels by matrices."""


def _columns(study: StudyPage, asked: Selection, name: str, found: NamedTables) -> dict[str, Column]:
    """Head of a column → the same tables sorted by it; by the one they are sorted by in the other direction."""
    if name not in SORTABLE:
        return {}
    keys = {text: key for key, text in KEYS.items()}
    heads = dict.fromkeys(head.text for each in found.tables for head in each.table.heads)
    (sort,) = asked.sort or ("",)
    return {
        text: Column(
            text,
            address(study.name, name, asked.with_(sort=f"-{key}" if sort == key else key)),
            {key: "ascending", f"-{key}": "descending"}.get(sort, ""),
            numeric=True,
        )
        for text in heads
        if "/" in (key := keys.get(text, text)) or text in keys
    }


BUSY = " · the machine was busy: these times do not count"
"""Added to the heading of such cases, which their files repeat."""

STRUCTURE = "structure"
"""The name of the table of the matrices, and of its section."""

LABELS = ((".csv", "CSV"), (".md", "Markdown"), (".tex", "LaTeX"))
"""Endings of the files of a table, and what they are called."""


def text(session: Session, study: StudyPage, asked: Selection, name: str, ending: str) -> str:
    """The tables of that name as a file; raises NotFoundError for an ending that no writer has."""
    if ending not in WRITERS:
        raise NotFoundError(f"Tables cannot be written as {quote(ending)}; known endings: {', '.join(WRITERS)}.")
    return WRITERS[ending](find(session, study, asked, name).tables)


def address(study: str, name: str, asked: Selection) -> str:
    """Where the tables of that name are."""
    return f"/{study}/tables/{name}" + (f"?{asked.query}" if asked.query else "")


def find(session: Session, study: StudyPage, asked: Selection, name: str) -> NamedTables:
    """The tables of that name."""
    results = results_of(session, study.name, asked)
    data = with_traces(session, results) if study.with_traces else results.data
    found = next((tables for known, tables in _tables(study, results, data, name) if known == name), None)
    if found is None:
        raise NotFoundError(f"There is no table {quote(name)} in what is chosen; open it on the page of the study.")
    return found


def _tables(study: StudyPage, results: Results, data: StudyData, name: str) -> Iterator[tuple[str, NamedTables]]:
    """Every table by its name, made as it is asked for: those of figures only where one is wanted."""
    for line in finding_lines(study, results):
        finding = line.finding
        title = f"{finding.title} · {finding.device} · {finding.cache}{BUSY if finding.busy else ''}"
        busy = "yes" if finding.busy else "no"
        keys = ("matrix", finding.title), ("device", finding.device), ("cache", finding.cache), ("busy", busy)
        yield f"cases-{line.id}", NamedTables(title, (TitledTable(title, finding.table, keys=keys),), line)
    for figure in study.figures:
        if figure.table and name == f"{figure.name}-numbers":
            table = figure.table(figure.info(data))
            yield name, _of_figure(figure.title, table, study.study.findings(results.data))
    yield (
        STRUCTURE,
        NamedTables(
            study.features.heading,
            (features(study, results),),
            notes=(study.features.note,) if study.features.note else (),
        ),
    )
    if name == "pivot":
        columns = [(each, kernels.labels(study, each, results.selection)) for each in study.answers(results.data)]
        yield name, NamedTables("Kernels by matrices", pivots(study.findings(data), data, columns))
    for section in (*study.sections, *([study.conclusions] if study.conclusions else [])):
        yield from _of_section(section, data)


def _of_figure(title: str, table: Table, findings: Iterable[Finding]) -> NamedTables:
    """Return the numbers of a figure; where some do not count, heading and note say which."""
    busy = [f"{finding.title} · {finding.device} · {finding.cache}" for finding in findings if finding.busy]
    note = f"machine busy, does not count: {join(busy, NAMED)}" if busy else ""
    heading = " · ".join(filter(None, (title, note)))
    keys = (("busy", join(busy)),) if busy else ()
    notes = (f"{note[:1].upper()}{note[1:]}.",) if note else ()
    return NamedTables(title, (TitledTable(heading, table, keys=keys),), notes=notes)


def _of_section(section: Section, data: StudyData) -> Iterator[tuple[str, NamedTables]]:
    """All tables of a section, and each by its number."""
    tables = tuple(each for each in section.tables(data) if each.table.rows)
    heading = section.heading or (tables[0].heading if tables else "")
    yield section.id, NamedTables(heading, tables, notes=section.notes, prose=section.prose)
    for number, each in enumerate(tables, start=1):
        yield f"{section.id}-{number}", NamedTables(each.heading, (each,), prose=section.prose)
