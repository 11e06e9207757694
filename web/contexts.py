"""One dataclass a page: exactly what its template may use. Numbers are text already, with their units."""

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
class HomePage:
    """`/`: the newest findings, what runs, what can be measured, how to start; recorded: comparisons from elsewhere."""

    title: str
    topics: str
    findings: tuple[Finding, ...]
    runs: tuple[RunFinding, ...]
    recorded: tuple[Link, ...]
    jobs: tuple[JobLine, ...]
    devices: tuple[DeviceLine, ...]


@dataclass(frozen=True, slots=True)
class MatricesPage:
    """`/matrices`: the catalogue, upload and generators."""

    title: str
    topics: str
    q: str
    sort: str
    columns: tuple[Column, ...]
    matrices: tuple[MatrixLine, ...]
    first: str
    next: str
    families: tuple[Family, ...]


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
class MatrixPage:
    """`/matrices/{id}`: features, advice, pictures, results so far, the button that measures; origin of a recorded one.

    advice   predicted times by kernel and GPU, and the reason; None where nothing can be predicted
    studies  that can be made of it; devices: with the time that each study takes there
    """

    title: str
    topics: str
    matrix: MatrixLine
    source: str
    error: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    advice: Table | None
    charts: tuple[Chart, ...]
    histogram: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    runs: tuple[RunFinding, ...]
    jobs: tuple[JobLine, ...]
    studies: tuple[Choice, ...]
    devices: tuple[Choice, ...]
    origin: Origin | None


@dataclass(frozen=True, slots=True)
class FormatsPage:
    """`/formats`: kernels compared; every choice is in the address.

    overview   sentences on all matrices together
    few        a sentence on the figures that need more matrices than are chosen
    structure  spy pictures; features: what is known of each matrix
    every      the same page of every matrix measured, empty where all are shown
    """

    title: str
    topics: str
    overview: tuple[str, ...]
    findings: tuple[Finding, ...]
    figures: tuple[StudyFigure, ...]
    few: str
    structure: tuple[Chart, ...]
    features: Table
    devices: tuple[Link, ...]
    caches: tuple[Link, ...]
    matrices: tuple[Choice, ...]
    every: tuple[Link, ...]
    baselines: tuple[Choice, ...]
    pair: tuple[Choices, ...]
    kept: tuple[tuple[str, str], ...]
    downloads: tuple[Link, ...]
    jobs: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class PageRankPage:
    """`/pagerank`: runs of PageRank compared; every choice is in the address.

    caveat     what times on a CPU say, empty on a GPU
    runs       every run in numbers; top: the highest ranks; graphs: what is known of each matrix
    paper      the paper's own rows, and remarks on them
    structure  row lengths of the first matrices
    what_if    fields of the schedule that is replayed; replays: the kernels whose trace it can be
    kept       what the address says beside the choice of matrices; what_if_kept: beside that of the schedule
    every      the same page of every matrix measured, empty where all are shown
    """

    title: str
    topics: str
    findings: tuple[RunFinding, ...]
    caveat: str
    figures: tuple[StudyFigure, ...]
    runs: Table
    top: Table
    paper: Table
    remarks: tuple[str, ...]
    graphs: Table
    structure: tuple[Chart, ...]
    devices: tuple[Link, ...]
    matrices: tuple[Choice, ...]
    every: tuple[Link, ...]
    what_if: tuple[Field, ...]
    replays: tuple[Choice, ...]
    kept: tuple[tuple[str, str], ...]
    what_if_kept: tuple[tuple[str, str], ...]
    downloads: tuple[Link, ...]
    jobs: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class BatchFinding:
    """What is said of the kernels on a batch, and where it is shown; title: what the batch is made of."""

    matrix_id: str
    title: str
    sentences: tuple[str, ...]
    href: str


@dataclass(frozen=True, slots=True)
class BatchedPage:
    """`/batched`: batches of small matrices; every choice is in the address.

    overview     sentences on all batches together
    caveat       what times on a CPU say, empty on a GPU
    conclusions  the paper's, each beside what the shown batches say
    kernels      every kernel of the shown batches in numbers
    every        the same page of every matrix measured, empty where all are shown
    sizes        problems of the batches measured
    """

    title: str
    topics: str
    overview: tuple[str, ...]
    findings: tuple[BatchFinding, ...]
    caveat: str
    figures: tuple[StudyFigure, ...]
    conclusions: Table
    kernels: Table
    features: Table
    devices: tuple[Link, ...]
    caches: tuple[Link, ...]
    operations: tuple[Link, ...]
    matrices: tuple[Choice, ...]
    every: tuple[Link, ...]
    sizes: tuple[Choice, ...]
    kept: tuple[tuple[str, str], ...]
    downloads: tuple[Link, ...]
    jobs: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class JobsPage:
    """`/jobs`: the queue and its history."""

    title: str
    topics: str
    states: tuple[Link, ...]
    studies: tuple[Link, ...]
    jobs: tuple[JobLine, ...]
    first: str
    next: str


@dataclass(frozen=True, slots=True)
class JobResults:
    """What a job has found so far.

    findings    of the formats study; runs: of the pagerank study, batches: of the batched study; both with every case
                in the table
    comparison  the page of the study with these results; None while there are none
    """

    chart: Chart
    findings: tuple[Finding, ...]
    runs: tuple[RunFinding, ...]
    batches: tuple[BatchFinding, ...]
    cases: Table | None
    comparison: Link | None
    downloads: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class JobPage:
    """`/jobs/{id}`: where a job stands and what it has found so far."""

    title: str
    topics: str
    job: JobLine
    over: bool
    status: str
    facts: tuple[tuple[str, str], ...]
    error: str
    retry_of: str
    counts: str
    results: JobResults


@dataclass(frozen=True, slots=True)
class DevicesPage:
    """`/devices`: what can be measured on, and how fast its memory is."""

    title: str
    topics: str
    devices: tuple[DeviceLine, ...]


@dataclass(frozen=True, slots=True)
class ErrorPage:
    """Any error, for a browser: the same words as the problem document."""

    title: str
    topics: str
    status: int
    detail: str
