"""What pages are made of: links, choices, lines of lists, findings, figures. Numbers are text with their units."""

import re
from dataclasses import dataclass

from gpu_engine.findings.finding import Finding
from gpu_engine.text.tables import Table
from web.strips import Strips


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
    """A field with options; `name` is that of the parameter."""

    id: str
    name: str
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
class FindingLine:
    """A finding, where it is shown in full, and what that page is called; again: to the form that measures longer.

    again is None where nothing is inconclusive, or what was measured is not here.

    history  where its cases are followed over time; empty where they were recorded elsewhere
    """

    finding: Finding
    href: str
    page: str
    again: Link | None = None
    history: str = ""

    @property
    def id(self) -> str:
        """Of an element that shows it, none but letters, digits and dashes: readers open it, and it stays open."""
        of = self.finding
        return re.sub(r"\W+", "-", "-".join((of.study, of.matrix_id, of.device, of.cache, *of.axes.values())))

    @property
    def table(self) -> str:
        """Where the table of its cases has a page of its own."""
        return f"/{self.finding.study}/tables/cases-{self.id}?{self.href.partition('?')[2]}"


@dataclass(frozen=True, slots=True)
class TitledTable:
    """A table and its heading.

    leading  (row, column) of cells that are the fastest, or the same by their verdict
    keys     (column, value) that hold for all rows, which a file of rows has as columns of its own
    means    how many rows at the end sum up the others
    """

    heading: str
    table: Table
    leading: frozenset[tuple[int, int]] = frozenset()
    keys: tuple[tuple[str, str], ...] = ()
    means: int = 0


@dataclass(frozen=True, slots=True)
class JobLine:
    """A job in a list. share 0 … 1; note: queue position, remaining time, message or error in words.

    title    what it is: the study, of which matrices, and where
    outcome  its state, or that it has ended without a single time
    """

    id: str
    title: str
    study: str
    state: str
    outcome: str
    device: str
    matrices: tuple[Link, ...]
    share: float
    note: str
    created: str


@dataclass(frozen=True, slots=True)
class DeviceLine:
    """A device and its measured bandwidth; points: (footprint, copy rate, read rate), drawn in the chart.

    state  `alive`, `faulty` or `silent` as its worker is, `recorded` where the device is elsewhere
    """

    id: str
    name: str
    state: str
    memory: str
    cache: str
    rate: str
    points: tuple[tuple[str, str, str], ...]
    chart: "Chart | None"
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
class Group:
    """Options of which several may be chosen; backend: the one that has them, empty: all."""

    backend: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A form field made from a parameter.

    kind     `number`, `boolean`, `text` or `choice`; of a list `numbers`, `texts` or `choices`
    choices  of which one is taken; groups: of which several are
    """

    name: str
    kind: str
    value: str
    help: str
    least: str
    most: str
    step: str
    choices: tuple[Choice, ...]
    groups: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure on a page; version changes when its records do, `0` hides it; summary: as web/figures/base.py has it."""

    id: str
    url: str
    version: str
    summary: str


@dataclass(frozen=True, slots=True)
class Headline:
    """The headline of what was recorded on a device, and its numbers."""

    device: str
    chart: Chart
    table: Table


@dataclass(frozen=True, slots=True)
class LinkSwitch:
    """Links of which one is current, under a label."""

    label: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class FigureForm:
    """A form below the heading of a figure; hidden: what the address says beside it."""

    fields: tuple[Field, ...]
    hidden: tuple[tuple[str, str], ...]
    button: str


@dataclass(frozen=True, slots=True)
class TableSection:
    """Tables under a heading."""

    id: str
    heading: str
    notes: tuple[str, ...]
    tables: tuple[TitledTable, ...]
    prose: bool


@dataclass(frozen=True, slots=True)
class FoldedTable:
    """A table that the reader opens; summary: what is in it."""

    summary: str
    table: Table


@dataclass(frozen=True, slots=True)
class AnswerSection:
    """What all matrices, batches or graphs of one place say together.

    short    the same in a line, among several
    labels   of all its kernels, whose names are set as code
    table    of the kernels that are not folded; None where nothing has a time
    picture  None of a lone contest, and where nothing leads
    note     how the numbers count
    """

    sentence: str
    short: str
    labels: tuple[str, ...]
    table: Table | None
    folded: tuple[FoldedTable, ...]
    picture: Strips | None
    note: str


@dataclass(frozen=True, slots=True)
class KernelChooser:
    """Presets of kernels, and every kernel; chosen: how many were named one by one."""

    presets: tuple[Link, ...]
    kernels: tuple[Choice, ...]
    chosen: int


@dataclass(frozen=True, slots=True)
class FigureSection:
    """A figure of a study under its heading, and its numbers; note: the sentence instead of an empty chart.

    links  to other pages on the same
    """

    name: str
    heading: str
    note: str
    chart: Chart
    table: Table | None
    switches: tuple[LinkSwitch, ...]
    forms: tuple[FigureForm, ...]
    sections: tuple[TableSection, ...]
    links: tuple[Link, ...]
