"""`/{study}/tables/{name}`: a table of a study as a separate page, and as CSV, Markdown, or LaTeX."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sqlalchemy.orm import Session

from gpu_engine.errors import NotFoundError, quote
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.overall_ranking import OverallRanking
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.text.tables import Table
from gpu_engine.text.words import capital
from web import contexts, device_labels, kernels
from web.components import Column, FindingRowView, Link, TitledTable
from web.files import WRITERS
from web.kernel_matrix_table import DEFAULT, kernel_matrix_tables
from web.results import CACHE_DEFAULT, Results, results_of, with_traces
from web.selection import Selection, study_url
from web.share import ANSWERS
from web.sorting import KEYS, in_words
from web.studies.base import Section, StudyPage
from web.views.list_rows import finding_rows


@dataclass(frozen=True, slots=True)
class NamedTables:
    """The tables of one name; row: the finding of a table of cases."""

    heading: str
    tables: tuple[TitledTable, ...]
    row: FindingRowView | None = None
    notes: tuple[str, ...] = ()
    prose: bool = False


def features(study: StudyPage, results: Results) -> TitledTable:
    """Return the table of the matrices."""
    return TitledTable(study.features.heading, study.features.table(results))


def page(session: Session, study: StudyPage, selection: Selection, name: str, top: int = 0) -> contexts.TablePage:
    """Return the page of the tables of that name; raises NotFoundError if the selection has none.

    top  number of rows above the summary rows; 0: all
    """
    named = find(session, study, selection, name, top)
    return contexts.TablePage(
        title=named.heading,
        topics="",
        back=Link(study.title, study_url(study.name, selection)),
        name=name,
        row=named.row,
        notes=named.notes,
        tables=named.tables,
        prose=named.prose,
        columns=_columns(study, selection, name, named),
        files=tuple(Link(label, address(study.name, name + ending, selection, top)) for ending, label in LABELS),
    )


PIVOT = "pivot"
LARGEST_FIRST = "-best"
"""Order of the matrices by their speedup."""

SORTABLE = (PIVOT, "side-by-side-numbers")
"""Names of the kernel–matrix tables."""


def _columns(study: StudyPage, selection: Selection, name: str, named: NamedTables) -> dict[str, Column]:
    """Return the sort links by column head; the current column gets the opposite direction."""
    if name not in SORTABLE:
        return {}
    keys = {text: key for key, text in KEYS.items()}
    heads = dict.fromkeys(head.text for each in named.tables for head in each.table.heads)
    (sort,) = selection.sort or ("",)
    return {
        text: Column(
            text,
            address(study.name, name, selection.with_(sort=f"-{key}" if sort == key else key)),
            {key: "ascending", f"-{key}": "descending"}.get(sort, ""),
            numeric=True,
        )
        for text in heads
        if "/" in (key := keys.get(text, text)) or text in keys
    }


BUSY = " · too noisy, not counted"
"""Addition to the heading of noisy cases, which their files repeat."""

STRUCTURE = "structure"
"""Name of the table of the matrices and of its section."""

LABELS = ((".csv", "CSV"), (".md", "Markdown"), (".tex", "LaTeX"))
"""Endings of table files and their labels."""


def text(session: Session, study: StudyPage, selection: Selection, name: str, ending: str, top: int = 0) -> str:
    """Return the tables of that name as a file; raises NotFoundError for an unknown ending."""
    if ending not in WRITERS:
        raise NotFoundError(f"Unknown table format {quote(ending)}. Endings: {', '.join(WRITERS)}.")
    return WRITERS[ending](find(session, study, selection, name, top).tables)


def address(study: str, name: str, selection: Selection, top: int = 0) -> str:
    """Return the address of the tables of that name."""
    query = "&".join(filter(None, (selection.query, f"top={top}" if top else "")))
    return f"/{study}/tables/{name}" + (f"?{query}" if query else "")


def find(session: Session, study: StudyPage, selection: Selection, name: str, top: int = 0) -> NamedTables:
    """Return the tables of that name; raises NotFoundError if the selection has none."""
    results = results_of(session, study.name, selection)
    data = with_traces(session, results) if study.with_traces else results.data
    named = next((tables for known, tables in _tables(study, results, data, name) if known == name), None)
    if named is None:
        raise NotFoundError(f"This selection has no table {quote(name)}. Open the tables from the page of the study.")
    several = len(named.tables) > 1
    tables = (
        replace(
            _first(each, top, _order(selection, name)),
            label=_label(each, study.name, name) + (f"-{number}" if several else ""),
        )
        for number, each in enumerate(named.tables, start=1)
    )
    return replace(named, tables=tuple(tables))


def _order(selection: Selection, name: str) -> str:
    """Return which rows the first ones of a table are, as part of its heading."""
    (sort,) = selection.sort or ("",)
    if name == ANSWERS or sort == LARGEST_FIRST:
        return "with the largest speedups"
    return f"sorted by {in_words(sort or DEFAULT)}" if name in SORTABLE else ""


def _first(each: TitledTable, top: int, order: str) -> TitledTable:
    """Return a table with its first rows and its summary rows, which are those of all rows; order: which rows."""
    rows, number = each.table.rows, len(each.table.rows) - each.means
    if not top or top >= number:
        return each
    shorter = Table(each.table.heads, (*rows[:top], *rows[number:]))
    text = f"the {top} of {number} {order}" if order else f"first {top} of {number}"
    # Summary rows have no fastest cells.
    leading = frozenset((row, column) for row, column in each.leading if row < top)
    return replace(each, heading=f"{each.heading} · {text}", table=shorter, leading=leading)


def _label(each: TitledTable, study: str, name: str) -> str:
    """Return the name of a table in files: `formats-h200`, `formats-h200-cold`, `formats-roofline-numbers`."""
    keys = dict(each.keys)
    cache = keys.get("cache", CACHE_DEFAULT)
    device = device_labels.short(keys.get("device", ""))
    parts = (study, "" if name == PIVOT else name, device, "" if cache == CACHE_DEFAULT else cache)
    return re.sub(r"[^a-z0-9]+", "-", "-".join(filter(None, parts)).lower()).strip("-")


def _tables(study: StudyPage, results: Results, data: StudyData, name: str) -> Iterator[tuple[str, NamedTables]]:
    """Yield all tables by name; tables of figures only if their name is requested, because they are expensive."""
    for row in finding_rows(study, results):
        finding = row.finding
        title = f"{finding.title} · {finding.device} · {finding.cache}{BUSY if finding.busy else ''}"
        busy = "yes" if finding.busy else "no"
        keys = ("matrix", finding.title), ("device", finding.device), ("cache", finding.cache), ("busy", busy)
        yield f"cases-{row.id}", NamedTables(title, (TitledTable(title, finding.table, keys=keys),), row)
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
    if name == ANSWERS and (answers := study.answer_tables(results)):
        yield name, NamedTables("Answers", answers)
    if name == PIVOT:
        yield name, NamedTables("Kernel–matrix table", kernel_matrix(study, results, data, study.answers(results.data)))
    for section in (*study.sections, *([study.conclusions] if study.conclusions else [])):
        yield from _of_section(section, data)


def kernel_matrix(
    study: StudyPage, results: Results, data: StudyData, answers: Iterable[OverallRanking]
) -> tuple[TitledTable, ...]:
    """Return the tables of kernels by matrices, with the kernels that the page shows; answers: its rankings."""
    columns = [(each, kernels.labels(study, each, results.selection)) for each in answers]
    return kernel_matrix_tables(study.findings(data), data, columns)


def _of_figure(title: str, table: Table, findings: Iterable[Finding]) -> NamedTables:
    """Return the values of a figure; heading and note name the noisy ones."""
    busy = [f"{finding.title} · {finding.device} · {finding.cache}" for finding in findings if finding.busy]
    note = f"too noisy, not counted: {join(busy, NAMED)}" if busy else ""
    heading = " · ".join(filter(None, (title, note)))
    keys = (("busy", join(busy)),) if busy else ()
    notes = (f"{capital(note)}.",) if note else ()
    return NamedTables(title, (TitledTable(heading, table, keys=keys),), notes=notes)


def _of_section(section: Section, data: StudyData) -> Iterator[tuple[str, NamedTables]]:
    """Yield all tables of a section together, and each one by its number."""
    tables = tuple(each for each in section.tables(data) if each.table.rows)
    heading = section.heading or (tables[0].heading if tables else "")
    yield section.id, NamedTables(heading, tables, notes=section.notes, prose=section.prose)
    for number, each in enumerate(tables, start=1):
        yield f"{section.id}-{number}", NamedTables(each.heading, (each,), prose=section.prose)
