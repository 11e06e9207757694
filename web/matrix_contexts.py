"""Contexts of the pages about matrices: list and matrix; see contexts.py."""

from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.components import (
    Chart,
    Choices,
    Column,
    Field,
    FindingRowView,
    JobRowView,
    Link,
    LinkSwitch,
    MatrixRowView,
    StatePill,
)
from web.job_contexts import LiveJob
from web.plots.dots import Dots
from web.plots.lines import Lines
from web.share import Share


@dataclass(frozen=True, slots=True)
class CatalogueRowView:
    """A matrix in the list of all matrices; spy: address of its thumbnail, or empty.

    best      fastest kernel, or empty; mark: color and form of its mark; measured_on: names of devices
    """

    matrix: MatrixRowView
    spy: str
    best: str
    mark: tuple[str, str]
    measured_on: str


@dataclass(frozen=True, slots=True)
class GeneratorForm:
    """A generator and its fields; expectation: size of the default matrix; chosen: whether its fields are visible."""

    name: str
    summary: str
    fields: tuple[Field, ...]
    expectation: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class MatrixSet:
    """A saved selection: its matrices, links to their results, and the number of deleted matrices."""

    id: str
    name: str
    matrix_ids: tuple[str, ...]
    pages: tuple[Link, ...]
    deleted: int


@dataclass(frozen=True, slots=True)
class MatricesPage:
    """`/matrices`: all matrices, and ways to add one.

    counts    sentence about all matrices; generator: the one in the address, or empty
    sources   links for mine, recorded, and all; source: value in the address; filtered: whether filters are active
    sets      newest saved selections; set: the current one, None: all matrices
    elsewhere where else the same filters match, if they match nothing
    """

    title: str
    topics: str
    q: str
    sort: str
    sources: LinkSwitch
    source: str
    facets: tuple[Choices, ...]
    filtered: bool
    columns: tuple[Column, ...]
    matrices: tuple[CatalogueRowView, ...]
    first: str
    next: str
    generator: str
    generators: tuple[GeneratorForm, ...]
    sets: tuple[Link, ...]
    set: MatrixSet | None
    counts: str
    elsewhere: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class AnswerCard:
    """The answer on a matrix for a device and a number of SpMVs.

    state     the label of the state; when: origin of the numbers
    sentence  the answer in at most 25 words; under: what it costs
    kernel    kernel of the answer; empty without one
    """

    state: StatePill
    when: str
    sentence: str
    under: tuple[str, ...] = ()
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class SolveCard:
    """The answer on a square matrix for a device and one solve.

    state     the label of the state; when: origin of the numbers
    sentence  the answer in at most 25 words; under: range, share of the SpMVs, break-even, and error of the model
    kernel    kernel of the answer; link: its results, or the form that measures it, None without values
    """

    state: StatePill
    when: str
    sentence: str
    under: tuple[str, ...]
    kernel: str
    link: Link | None


@dataclass(frozen=True, slots=True)
class KernelRow:
    """A kernel on the chosen device; all numbers as text.

    color, form   classes of its mark
    total         time for n SpMVs; spread: the 95 % CI of one SpMV, or its rounds
    pays          break-even against CSR; a dash if one SpMV is not significantly faster or slower
    verdict       id of the verdict on one SpMV against CSR; empty: none; reason: its explanation
    reproducible  `yes`, `no`, or a dash
    is_choice     whether it is the answer
    """

    kernel: str
    color: str
    form: str
    total: str
    spmv: str
    spread: str
    convert: str
    pays: str
    stored: str
    verdict: str
    reason: str
    reproducible: str
    is_choice: bool


@dataclass(frozen=True, slots=True)
class KernelTable:
    """The measured kernels, the least time for n SpMVs first.

    n         number of SpMVs as text; baseline: kernel of the verdicts
    folded    the rows beyond the first ones, if there are many more
    notes     kernels without a time
    """

    n: str
    baseline: str
    spread_head: str
    rows: tuple[KernelRow, ...]
    folded: tuple[KernelRow, ...]
    notes: tuple[str, ...]

    @property
    def is_judged(self) -> bool:
        """Whether there are verdicts and break-even points: noisy timings have none."""
        return any(row.verdict for row in (*self.rows, *self.folded))


@dataclass(frozen=True, slots=True)
class Use:
    """How to use the kernel of the answer; archive: kernel that can be exported as a zip, or empty.

    note  what to do if Sparsight does not have the kernel
    """

    kernel: str
    code: str
    archive: str
    note: str


@dataclass(frozen=True, slots=True)
class MeasureButton:
    """The button that measures the matrix with the default settings on a device; other: link to the form."""

    device: str
    text: str
    other: str


@dataclass(frozen=True, slots=True)
class Origin:
    """Ways to get the values of a reference matrix; a field is empty if it does not apply.

    generate    fields of the form that generates it
    collection  name in the SuiteSparse Matrix Collection; file: name of its file
    twins       equal matrices with values
    """

    generate: tuple[tuple[str, str], ...]
    collection: str
    file: str
    twins: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class MatrixActions:
    """What the reader can do; None or empty: nothing.

    use, measure  the kernel of the answer; the button
    share         files of the answer
    is_idle       whether it is not measured, and no worker can measure it
    fetch         name in the collection if the server can download it
    origin        ways to get the values of a reference matrix; None for others
    """

    use: Use | None
    measure: MeasureButton | None
    share: Share
    is_idle: bool
    fetch: str
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class MatrixPictures:
    """The picture of the answer: a race while a job runs, lines of measured kernels, or dots of predicted ones."""

    live: LiveJob | None
    lines: Lines | None
    dots: Dots | None


@dataclass(frozen=True, slots=True)
class MatrixStructure:
    """Structure of a matrix; spy: address of its picture, or empty.

    histogram  (row lengths, rows as text, share of the longest bar)
    """

    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    spy: str
    histogram: tuple[tuple[str, str, float], ...]


@dataclass(frozen=True, slots=True)
class History:
    """Times of a matrix over the jobs that measured it."""

    chart: Chart
    table: Table


@dataclass(frozen=True, slots=True)
class MatrixPage:
    """`/matrices/{id}`: the answers for n SpMVs and for a solve on a device, the kernels, the structure, the history.

    n, iterations, device, cache  values in the address; n_max, iterations_max: the largest ones
    n_note            why a number is not that of the address, or empty
    has_system        whether the matrix is a system that can be solved; solve: the answer for it, None without one
    devices           choice of the device; caches: other cache states with results
    running           links to jobs that have not ended
    kernels           measured kernels; advice: predicted times by kernel and GPU with reasons, None without any
    regret            measured slowdown of the predicted kernel
    history           None unless a device has measured the matrix in two jobs
    others            results of other studies
    """

    title: str
    topics: str
    matrix: MatrixRowView
    eyebrow: str
    n: int
    n_max: int
    iterations: int
    iterations_max: int
    n_note: str
    device: str
    cache: str
    devices: tuple[Link, ...]
    caches: tuple[Link, ...]
    card: AnswerCard
    has_system: bool
    solve: SolveCard | None
    actions: MatrixActions
    pictures: MatrixPictures
    running: tuple[Link, ...]
    kernels: KernelTable | None
    advice: Table | None
    regret: tuple[str, ...]
    structure: MatrixStructure
    jobs: tuple[JobRowView, ...]
    history: History | None
    others: tuple[FindingRowView, ...]
