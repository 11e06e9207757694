"""Contexts: one dataclass per page with the values of its template. Numbers are text with units."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.components import (
    AnswerSection,
    Chart,
    Choice,
    Choices,
    Column,
    DeviceRowView,
    FigureSection,
    FindingRowView,
    Headline,
    JobRowView,
    KernelChooser,
    Link,
    LinkSwitch,
    TableSection,
    TitledTable,
)
from web.documents import Document, Head
from web.papers.base import Paper
from web.papers.components import ExhibitPart, OutlookRow, Scoreboard, TrialForm
from web.provenance import Provenance
from web.reference import Group, Shape


@dataclass(frozen=True, slots=True)
class HomePage:
    """`/`: upload, reference results, newest results, jobs, and devices.

    headline      chart of the reference results; None if there are none
    recorded      links to reference results; importing: whether an import is running
    matrix_count  number of matrices with values
    sample        job of the first start
    beginning     whether the sample matrices of the first start are being generated
    """

    title: str
    topics: str
    headline: Headline | None
    recorded: tuple[Link, ...]
    importing: bool
    matrix_count: int
    sample: JobRowView | None
    beginning: bool
    findings: tuple[FindingRowView, ...]
    jobs: tuple[JobRowView, ...]
    devices: tuple[DeviceRowView, ...]


@dataclass(frozen=True, slots=True)
class StudyPage:
    """`/formats`, `/pagerank` …: the results of a study; the address contains every choice.

    study           name of the study; query: query of the address
    lead            first paragraph; invitation: what to do if there are no results
    elsewhere       links to other studies with results of the chosen matrices, if this one has none
    answers         overall rankings; overview: more sentences on all findings; caveat: limits of the timings
    summary         one sentence about the figures, for screen readers
    kernels         choice of kernels, None if there is only one; contents: links to the sections
    switches        groups of links; selects: fields of the form; hidden: other parameters of the address
    all_matrices    link to all measured matrices; empty without a choice of matrices
    matrix_count    number of matrices, as text
    conclusions     statements of a paper; None if there are none
    hidden_figures  sentence about the figures that need more matrices
    cases_note      note above the tables of the findings
    structure       pictures of the first matrices; features: table of the matrices
    downloads       links to files; jobs: jobs of the results
    provenance      origin of the results; None without results
    """

    title: str
    topics: str
    study: str
    query: str
    lead: str
    invitation: str
    elsewhere: tuple[Link, ...]
    answers: tuple[AnswerSection, ...]
    summary: str
    kernels: KernelChooser | None
    contents: tuple[Link, ...]
    overview: tuple[str, ...]
    caveat: str
    findings: tuple[FindingRowView, ...]
    switches: tuple[LinkSwitch, ...]
    selects: tuple[Choices, ...]
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
    downloads: tuple[Link, ...]
    jobs: tuple[Link, ...]
    provenance: Provenance | None


@dataclass(frozen=True, slots=True)
class ReportPage:
    """`/formats.html` …: the page of a study as a file.

    address  address of the page; written: time of the report; query: query of the address
    figures  name → Plotly JSON; data: the results document as JSON
    style, paint, plotly  text of app.css, paint.js, and plotly.js
    """

    title: str
    address: str
    written: str
    study: StudyPage
    query: str
    figures: Mapping[str, str]
    provenance: Provenance
    bibtex: str
    data: str
    style: str
    paint: str
    plotly: str


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
class DevicesPage:
    """`/devices`: all devices with their memory bandwidth; faults: reasons why workers cannot run jobs."""

    title: str
    topics: str
    faults: tuple[str, ...]
    devices: tuple[DeviceRowView, ...]


@dataclass(frozen=True, slots=True)
class DevicePairPage:
    """`/devices/compare`: comparison of two devices; sides: the fields that choose them."""

    title: str
    topics: str
    sides: tuple[Choices, ...]
    cache: str
    caches: LinkSwitch
    swap: Link
    sentences: tuple[str, ...]
    kernels: Table
    matrices: Table


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
class DocumentsPage:
    """`/docs`: all documents with their first sentences."""

    title: str
    topics: str
    documents: tuple[Head, ...]


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
    """`/sign-in`: form for a token; next: path after signing in; error: problem with the previous token."""

    title: str
    topics: str
    next: str
    error: str


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """An error page with the message of the problem document."""

    title: str
    topics: str
    status: int
    detail: str


@dataclass(frozen=True, slots=True)
class PapersPage:
    """`/papers`: all papers with their figures and tables."""

    title: str
    topics: str
    papers: tuple[Paper, ...]


@dataclass(frozen=True, slots=True)
class PaperPage:
    """`/papers/{name}`: statements of a paper with measured results.

    devices  links, one of them current
    notes    sentences about devices whose results lack something
    """

    title: str
    topics: str
    paper: Paper
    devices: tuple[Link, ...]
    scoreboard: Scoreboard
    notes: tuple[str, ...]
    exhibits: tuple[ExhibitPart, ...]
    outlook: tuple[OutlookRow, ...]
    trial: TrialForm
