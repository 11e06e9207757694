"""One dataclass a page: exactly what its template may use. Numbers are text already, with their units."""

from dataclasses import dataclass

from web.figures.base import Table
from web.parts import (
    Chart,
    Choice,
    Choices,
    Column,
    DeviceLine,
    Family,
    Field,
    Finding,
    GroupFinding,
    JobLine,
    JobResults,
    Link,
    MatrixLine,
    Origin,
    RunFinding,
    StudyFigure,
    WorkCases,
)


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
    findings: tuple[GroupFinding, ...]
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
class ScalingPage:
    """`/scaling`: one matrix shared by several devices; every choice is in the address.

    overview     sentences on all matrices together, one a work
    caveat       what the times of virtual devices say; empty where there are none
    conclusions  the paper's, each beside what the shown work says
    balance      how evenly the works were cut whose parts stand in a table of their own
    cases        every case in numbers, a table a work
    phases       times or shares
    numbers      how many devices the sentences are about
    every        the same page of every matrix measured, empty where all are shown
    """

    title: str
    topics: str
    overview: tuple[str, ...]
    findings: tuple[GroupFinding, ...]
    caveat: str
    figures: tuple[StudyFigure, ...]
    conclusions: Table
    balance: tuple[WorkCases, ...]
    cases: tuple[WorkCases, ...]
    features: Table
    devices: tuple[Link, ...]
    phases: tuple[Link, ...]
    matrices: tuple[Choice, ...]
    every: tuple[Link, ...]
    numbers: tuple[Choice, ...]
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
