"""One dataclass a page: exactly what its template may use. Numbers are text already, with their units."""

from collections.abc import Mapping
from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.documents import Document, Head
from web.papers.base import Paper
from web.papers.parts import ExhibitPart, TrialForm
from web.parts import (
    AnswerSection,
    Chart,
    Choice,
    Choices,
    Column,
    DeviceLine,
    FigureSection,
    FindingLine,
    Headline,
    JobLine,
    KernelChooser,
    Link,
    LinkSwitch,
    TableSection,
    TitledTable,
)
from web.provenance import Provenance
from web.reference import Group, Shape


@dataclass(frozen=True, slots=True)
class HomePage:
    """`/`: how to start, what was recorded elsewhere, the newest findings, what runs, what can be measured.

    headline   of the recorded formats, None where there are none
    recorded   comparisons from elsewhere; importing: more are being read in
    own        how many matrices are here with their values
    sample     what the first start does by itself
    beginning  whether the samples of the first start are being made
    """

    title: str
    topics: str
    headline: Headline | None
    recorded: tuple[Link, ...]
    importing: bool
    own: int
    sample: JobLine | None
    beginning: bool
    findings: tuple[FindingLine, ...]
    jobs: tuple[JobLine, ...]
    devices: tuple[DeviceLine, ...]


@dataclass(frozen=True, slots=True)
class StudyPage:
    """`/formats`, `/pagerank` …: the results of a study; every choice is in the address.

    study        its name; heading, lead: above all; invitation: where there are no results
    elsewhere    pages of other studies that have results of the chosen matrices, where this one has none
    query        what the address says
    answers      first of all; overview: more sentences on all findings together; caveat: what times there do not say
    says         what the figures show, in words
    kernels      the choice of them, None where there is none; contents: the parts of the page
    switches     links, selects: fields of the form beside the matrices; hidden: what else the address says
    every        the same page of every matrix measured, empty where the reader has chosen none
    shown        how many matrices are shown, in words
    conclusions  of a paper; None where there are none to show
    few          a sentence on the figures that need more matrices than are chosen
    cases_note   above the tables of the findings
    structure    pictures of the first matrices; features: what is known of each matrix
    downloads    what is shown, as files; jobs: those that measured it
    provenance   of what is shown; None where that is nothing
    """

    title: str
    topics: str
    study: str
    query: str
    lead: str
    invitation: str
    elsewhere: tuple[Link, ...]
    answers: tuple[AnswerSection, ...]
    says: str
    kernels: KernelChooser | None
    contents: tuple[Link, ...]
    overview: tuple[str, ...]
    caveat: str
    findings: tuple[FindingLine, ...]
    switches: tuple[LinkSwitch, ...]
    selects: tuple[Choices, ...]
    matrices: tuple[Choice, ...]
    every: tuple[Link, ...]
    shown: str
    hidden: tuple[tuple[str, str], ...]
    conclusions: TableSection | None
    figures: tuple[FigureSection, ...]
    few: str
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

    address  of the page; written: when the report was
    query    what the address says
    figures  name → Plotly JSON; data: the document of results as JSON
    style, paint, plotly  the text of our styles, of what paints figures, and of plotly.js
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
    """`/formats/tables/{name}` …: tables of a study alone.

    line     the finding whose cases they are; columns: by their heads, those that sort; files: the same tables
    """

    title: str
    topics: str
    back: Link
    name: str
    line: FindingLine | None
    notes: tuple[str, ...]
    tables: tuple[TitledTable, ...]
    prose: bool
    columns: Mapping[str, Column]
    files: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class DevicesPage:
    """`/devices`: what can be measured on, and how fast its memory is; faults: why workers cannot run jobs."""

    title: str
    topics: str
    faults: tuple[str, ...]
    devices: tuple[DeviceLine, ...]


@dataclass(frozen=True, slots=True)
class DevicePairPage:
    """`/devices/compare`: two devices side by side; sides: the fields that choose them."""

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
    """`/history`: cases over time; the first sentence is the answer.

    matrix   empty where nothing has been measured; selects: the fields of the form; hidden: what else the address says
    kernels  that can be followed
    points, underneath, measurements  change points, changes of the environment, and the numbers of the figure
    note     on what a table leaves out; data: the same as JSON
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
    underneath: Table
    measurements: Table
    note: str
    data: str


@dataclass(frozen=True, slots=True)
class DocumentsPage:
    """`/docs`: every document with its first paragraph."""

    title: str
    topics: str
    documents: tuple[Head, ...]


@dataclass(frozen=True, slots=True)
class DocumentPage:
    """`/docs/{name}` and `/glossary`: one document; others: links to all."""

    title: str
    topics: str
    document: Document
    others: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class ReferencePage:
    """`/reference`: every call of the API and every document that it takes or answers."""

    title: str
    topics: str
    groups: tuple[Group, ...]
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class SignInPage:
    """`/sign-in`: asks for a token; next: the path to go on with; error: what was wrong with the one before."""

    title: str
    topics: str
    next: str
    error: str


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """Any error, for a browser: the same words as the problem document."""

    title: str
    topics: str
    status: int
    detail: str


@dataclass(frozen=True, slots=True)
class PapersPage:
    """`/papers`: the papers, and every figure and table of them."""

    title: str
    topics: str
    papers: tuple[Paper, ...]


@dataclass(frozen=True, slots=True)
class PaperPage:
    """`/papers/{name}`: what a paper printed beside what was measured; devices: links, of which one is current."""

    title: str
    topics: str
    paper: Paper
    devices: tuple[Link, ...]
    exhibits: tuple[ExhibitPart, ...]
    trial: TrialForm
