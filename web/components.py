"""Components of pages: links, choices, table rows, findings, figures. Numbers are text with units."""

import re
from dataclasses import dataclass

from gpu_engine.findings.finding import Finding
from gpu_engine.text.tables import Table
from web.dot_plots import DotPlot


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a switch, a filter, a sortable column, or a pager."""

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
    """A form field with options; `name` is the parameter."""

    id: str
    name: str
    label: str
    options: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Column:
    """A sortable column; `order` is `ascending`, `descending`, or empty."""

    text: str
    href: str
    order: str
    numeric: bool


@dataclass(frozen=True, slots=True)
class FindingRowView:
    """A finding with the address and the name of the page that shows it in full.

    again    link to the form with more rounds; None if nothing is inconclusive or the job is not on this server
    history  address of the history of its cases; empty for reference results
    """

    finding: Finding
    href: str
    page: str
    again: Link | None = None
    history: str = ""

    @property
    def id(self) -> str:
        """Id of its element: letters, digits, and dashes; stable, so that an open element stays open."""
        of = self.finding
        return re.sub(r"\W+", "-", "-".join((of.study, of.matrix_id, of.device, of.cache, *of.axes.values())))

    @property
    def table(self) -> str:
        """Address of the page with the table of its cases."""
        return f"/{self.finding.study}/tables/cases-{self.id}?{self.href.partition('?')[2]}"


@dataclass(frozen=True, slots=True)
class TitledTable:
    """A table and its heading.

    leading  (row, column) of cells that are fastest or tied
    keys     (column, value) of all rows, which files have as additional columns
    means    number of summary rows at the end
    label    name of the table in files; empty: made from its heading
    """

    heading: str
    table: Table
    leading: frozenset[tuple[int, int]] = frozenset()
    keys: tuple[tuple[str, str], ...] = ()
    means: int = 0
    label: str = ""


@dataclass(frozen=True, slots=True)
class StatePill:
    """The label of a state; look: its class (`measured`, `running`, `predicted`, `busy`, `failed`, or empty)."""

    look: str
    text: str


@dataclass(frozen=True, slots=True)
class JobRowView:
    """A job in a list.

    title    study, matrices, and device; name: without the device
    outcome  its state, that it was stopped early, or that it has ended without a timing; pill: the label of it
    share    0 … 1 of its cases are complete
    note     queue position, remaining time, message, or error
    """

    id: str
    title: str
    name: str
    study: str
    state: str
    outcome: str
    pill: StatePill
    device: str
    matrices: tuple[Link, ...]
    share: float
    note: str
    created: str


@dataclass(frozen=True, slots=True)
class DeviceRowView:
    """A device and its measured bandwidth; points: (footprint, copy bandwidth, read bandwidth) of the chart.

    state  state of its worker, `alive`, `quiet`, `faulty`, or `silent`; `recorded` for a device with only reference
           results
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
class MatrixRowView:
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
    """Options of which several may be chosen; backend: the one that offers them, empty: all."""

    backend: str
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """A form field made from a parameter.

    label    what pages call it
    kind     `number`, `boolean`, `text`, or `choice`; for a list `numbers`, `texts`, or `choices`
    choices  options for one value; groups: options for several values
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
    label: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A figure on a page; version changes with its records, `0` hides it; summary: see web/figures/base.py."""

    id: str
    url: str
    version: str
    summary: str

    def svg(self, width: int = 0, *, paper: bool = False) -> str:
        """Return the address of the drawing; paper: on white with its title and origin."""
        path, _, query = self.url.partition("?")
        options = [f"width={width}"] * bool(width) + ["paper=true"] * paper + [f"version={self.version}"]
        return f"/figures/{path.rpartition('/')[2]}.svg?{'&'.join(filter(None, (query, *options)))}"


@dataclass(frozen=True, slots=True)
class LinkSwitch:
    """A labeled group of links, one of them current."""

    label: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class NumberChip:
    """A field for a whole number in the row of controls; links: common values, one of them maybe current."""

    name: str
    label: str
    value: int
    text: str
    most: int
    help: str
    links: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class FigureForm:
    """A form below the heading of a figure; hidden: other parameters of the address."""

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
    """A table that the reader opens; summary: its description."""

    summary: str
    table: Table


@dataclass(frozen=True, slots=True)
class AnswerSection:
    """The overall ranking of a device and cache state over all matrices, batches, or graphs.

    short    the sentence in one line, for a page with several rankings
    labels   kernel labels, which the page sets as code
    table    kernels that are not folded; None if nothing was timed
    picture  None for a single comparison group, or without a clear winner
    note     explanation of the values
    """

    sentence: str
    short: str
    labels: tuple[str, ...]
    table: Table | None
    folded: tuple[FoldedTable, ...]
    picture: DotPlot | None
    note: str


@dataclass(frozen=True, slots=True)
class KernelChooser:
    """Kernel presets and all kernels; chosen: number of individually chosen kernels."""

    presets: tuple[Link, ...]
    kernels: tuple[Choice, ...]
    chosen: int


@dataclass(frozen=True, slots=True)
class FigureSection:
    """A figure of a study with its heading and values; note: the sentence that replaces an empty chart.

    links  related pages
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
