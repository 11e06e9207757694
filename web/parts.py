"""What pages are made of: links, choices, lines of lists, findings, figures. Numbers are text with their units."""

from dataclasses import dataclass

from web.comparison import Comparison
from web.figures.base import Table


@dataclass(frozen=True, slots=True)
class Link:
    """A choice that is an address: of a switch, a filter, a sortable column or the next page."""

    text: str
    href: str
    current: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """An option of a form field."""

    value: str
    text: str
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Choices:
    """A field with options."""

    id: str
    label: str
    options: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A sortable column; `order` is `ascending`, `descending` or empty."""

    text: str
    href: str
    order: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class Finding:
    """A comparison, what it is of, and where it is shown in full."""

    comparison: Comparison
    matrix: str
    href: str


@dataclass(frozen=True, slots=True)
class RunFinding:
    """What is said of the runs of PageRank on a matrix and device, and where they are shown in full."""

    matrix_id: str
    matrix: str
    device: str
    sentences: tuple[str, ...]
    href: str


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job in a list. share 0 … 1; note: queue position, remaining time, message or error in words."""

    id: str
    study: str
    state: str
    device: str
    matrices: tuple[Link, ...]
    share: float
    note: str
    created: str


@dataclass(frozen=True, slots=True)
class DeviceLine:
    """A device and its measured bandwidth; points: (footprint, copy rate, read rate).

    state  `alive` or `silent` as its worker is, `recorded` where the device is elsewhere
    """

    id: str
    name: str
    state: str
    memory: str
    cache: str
    rate: str
    points: tuple[tuple[str, str, str], ...]
    measured_at: str
    details: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class MatrixLine:
    """A matrix in a list."""

    id: str
    name: str
    state: str
    n_rows: str
    n_cols: str
    nnz: str
    ave: str
    sigma: str
    longest: str
    created: str


@dataclass(frozen=True, slots=True)
class Field:
    """A form field made from the JSON Schema of a parameter; kind: `number`, `boolean`, `text` or `choice`."""

    name: str
    kind: str
    value: str
    help: str
    least: str
    most: str
    step: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Family:
    """A generator family and its fields."""

    name: str
    summary: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure on a page; version changes when its records do, and `0` (no records) hides it."""

    id: str
    url: str
    version: str
    summary: str


@dataclass(frozen=True, slots=True)
class StudyFigure:
    """A figure of a study under its heading, and its numbers; note: the sentence instead of an empty chart."""

    name: str
    heading: str
    note: str
    chart: Chart
    table: Table | None


@dataclass(frozen=True, slots=True)
class Origin:
    """How a recorded matrix gets its values here; each empty where it does not apply.

    generate    the JSON body of the call that generates it
    collection  its name in the SuiteSparse Matrix Collection
    twins       matrices here that equal it
    """

    generate: str
    collection: str
    twins: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class GroupFinding:
    """What is said of a batch, or of a work that devices share, and where it is shown; title: what it is made of."""

    matrix_id: str
    title: str
    sentences: tuple[str, ...]
    href: str


@dataclass(frozen=True, slots=True)
class WorkCases:
    """Cases of one work: works are never in one table."""

    work: str
    heading: str
    table: Table


@dataclass(frozen=True, slots=True)
class JobResults:
    """What a job has found so far.

    findings    of the formats study; runs: of the pagerank study, batches: of the batched study; both with every case
                in the table
    works       of the scaling study, with every case in tables of their own
    comparison  the page of the study with these results; None while there are none
    """

    chart: Chart
    findings: tuple[Finding, ...]
    runs: tuple[RunFinding, ...]
    batches: tuple[GroupFinding, ...]
    works: tuple[GroupFinding, ...]
    cases: Table | None
    work_cases: tuple[WorkCases, ...]
    comparison: Link | None
    downloads: tuple[Link, ...]
