"""Contexts: one dataclass per page with the values of its template. Numbers are text with units."""

from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from gpu_engine.text.tables import Table
from web.components import (
    AnswerSection,
    Chart,
    Choice,
    Choices,
    Column,
    FigureSection,
    FindingRowView,
    KernelChooser,
    Link,
    LinkSwitch,
    NumberChip,
    TableSection,
    TitledTable,
)
from web.documents import Document, Head
from web.explore import Drawer, ExploreAnswer
from web.papers.base import Paper
from web.papers.components import ExhibitPart, OutlookRow, Scoreboard, TrialForm
from web.papers.summary import PaperSummary
from web.plots.dots import Dots
from web.provenance import Provenance
from web.reference import Group, Shape


@dataclass(frozen=True, slots=True)
class StudyPage:
    """`/formats`, `/pagerank` …: the results of a study; the address contains every choice.

    study           name of the study; query: query of the address
    lead            first paragraph; invitation: what to do if there are no results
    elsewhere       links to other studies with results of the chosen matrices, if this one has none
    explore         answer to the question of the page; drawer: that on the open matrix; close: address without it
    answers         overall rankings; overview: more sentences on all findings; caveat: limits of the timings
    summary         one sentence about the figures, for screen readers
    kernels         choice of kernels, None if there is only one
    views           links that open a part of the page; view: name of the open one, or empty
    switches        groups of links, the devices first; selects, numbers: fields of forms
    hidden          parameters of the address
    all_matrices    link to all measured matrices; empty without a choice of matrices
    matrix_count    number of matrices, as text
    conclusions     statements of a paper; None if there are none
    figures         the open figure; all of them for a report
    hidden_figures  sentence about the figures that need more matrices
    cases_note      note above the tables of the findings
    structure       pictures of the first matrices; features: table of the matrices
    jobs            jobs of the results
    provenance      origin of the results; None without results
    number_note     why a number is not that of the address, or empty
    """

    title: str
    topics: str
    study: str
    query: str
    lead: str
    invitation: str
    elsewhere: tuple[Link, ...]
    explore: ExploreAnswer | None
    drawer: Drawer | None
    close: str
    answers: tuple[AnswerSection, ...]
    summary: str
    kernels: KernelChooser | None
    views: tuple[LinkSwitch, ...]
    view: str
    overview: tuple[str, ...]
    caveat: str
    findings: tuple[FindingRowView, ...]
    switches: tuple[LinkSwitch, ...]
    selects: tuple[Choices, ...]
    numbers: tuple[NumberChip, ...]
    matrices: tuple[Choice, ...]
    all_matrices: tuple[Link, ...]
    matrix_count: str
    hidden: tuple[tuple[str, str], ...]
    conclusions: TableSection | None
    figures: tuple[FigureSection, ...]
    hidden_figures: str
    cases_note: str
    sections: tuple[TableSection, ...]
    structure: tuple[Chart, ...]
    features: TableSection
    jobs: tuple[Link, ...]
    provenance: Provenance | None
    number_note: str = ""


@dataclass(frozen=True, slots=True)
class ReportPage:
    """`/formats.html` …: the page of a study as a file.

    address  address of the page; written: time of the report; query: query of the address
    figures  name → drawing; tables: kernels by matrices; cases: findings with a table of their cases
    values   address that contains the file of all values; style: text of app.css
    """

    title: str
    address: str
    written: str
    study: StudyPage
    query: str
    figures: Mapping[str, Markup]
    tables: tuple[TitledTable, ...]
    cases: tuple[FindingRowView, ...]
    provenance: Provenance
    bibtex: str
    values: str
    style: str


@dataclass(frozen=True, slots=True)
class TablePage:
    """`/formats/tables/{name}` …: tables of a study.

    row      finding of a table of cases; columns: sortable columns by head; files: links to the tables as files
    """

    title: str
    topics: str
    back: Link
    name: str
    row: FindingRowView | None
    notes: tuple[str, ...]
    tables: tuple[TitledTable, ...]
    prose: bool
    columns: Mapping[str, Column]
    files: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class DevicePairPage:
    """`/devices/compare`: comparison of two devices.

    sides      the fields that choose them
    sentences  the first one is the answer
    dots       speedup of each kernel; None without a common matrix
    """

    title: str
    topics: str
    sides: tuple[Choices, ...]
    cache: str
    caches: LinkSwitch
    swap: Link
    sentences: tuple[str, ...]
    kernels: Table
    matrices: Table
    dots: Dots | None


@dataclass(frozen=True, slots=True)
class HistoryPage:
    """`/history`: cases over time; the first sentence is the main statement.

    matrix   None without results; selects: fields of the form; hidden: other parameters of the address
    kernels  kernels of the form
    points, environment_changes, measurements  tables of change points, environment changes, and values
    note     note about an incomplete table; data: address of the JSON
    """

    title: str
    topics: str
    matrix: Link | None
    sentences: tuple[str, ...]
    labels: tuple[str, ...]
    selects: tuple[Choices, ...]
    hidden: tuple[tuple[str, str], ...]
    caches: LinkSwitch
    kernels: tuple[Choice, ...]
    chart: Chart
    points: Table
    environment_changes: Table
    measurements: Table
    note: str
    data: str


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """`/docs/{name}` and `/glossary`: a document; others: links to all documents."""

    title: str
    topics: str
    document: Document
    others: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class ReferencePage:
    """`/reference`: all endpoints of the API and the documents of their requests and responses."""

    title: str
    topics: str
    groups: tuple[Group, ...]
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class SignInPage:
    """`/sign-in`: form for a token; next: path after signing in; error: problem with the previous token.

    is_open  whether the server has no tokens, so that nobody needs one
    """

    title: str
    topics: str
    next: str
    error: str
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """An error page with the message of the problem document.

    rest     address without the refused part, or empty
    choices  links to the same page with values that are possible, or to the page on which the reader goes on
    """

    title: str
    topics: str
    status: int
    detail: str
    rest: str
    choices: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class PaperCard:
    """A paper on the page of the library.

    counts  (verdict, number) of its statements, empty without a checked one; links: see PaperPage.verdict_links
    """

    paper: Paper
    sentence: str
    counts: tuple[tuple[str, int], ...]
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class LibraryPage:
    """`/library`: all papers, and all documents with their first sentences, by group."""

    title: str
    topics: str
    papers: tuple[PaperCard, ...]
    documents: Mapping[str, tuple[Head, ...]]


@dataclass(frozen=True, slots=True)
class PaperPage:
    """`/papers/{name}`: statements of a paper with measured results.

    devices        links, one of them current
    summary        all statements on that device, or those with one verdict
    verdict        the chosen verdict, empty for all; verdict_links: links that choose one, with its count
    board_links    a link per count of the scoreboard, by row; an empty address has no page
    notes          sentences about devices whose results lack something
    kernels        names of kernels, which the page sets as code
    """

    title: str
    topics: str
    paper: Paper
    devices: tuple[Link, ...]
    summary: PaperSummary
    verdict: str
    verdict_links: tuple[Link, ...]
    scoreboard: Scoreboard
    board_links: tuple[tuple[Link, ...], ...]
    notes: tuple[str, ...]
    kernels: frozenset[str]
    exhibits: tuple[ExhibitPart, ...]
    outlook: tuple[OutlookRow, ...]
    trial: TrialForm
