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
class StudyPage:
    """What the pages of all studies have; every choice is in the address.

    figures    in the order of the page
    every      the same page of every matrix measured, empty where all are shown
    kept       what the address says beside the choices of the form
    downloads  what is shown, as files; jobs: those that measured it
    """

    title: str
    topics: str
    figures: tuple[StudyFigure, ...]
    devices: tuple[Link, ...]
    matrices: tuple[Choice, ...]
    every: tuple[Link, ...]
    kept: tuple[tuple[str, str], ...]
    downloads: tuple[Link, ...]
    jobs: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class FormatsPage(StudyPage):
    """`/formats`: kernels compared.

    overview   sentences on all matrices together
    few        a sentence on the figures that need more matrices than are chosen
    structure  spy pictures; features: what is known of each matrix
    """

    overview: tuple[str, ...]
    findings: tuple[Finding, ...]
    few: str
    structure: tuple[Chart, ...]
    features: Table
    caches: tuple[Link, ...]
    baselines: tuple[Choice, ...]
    pair: tuple[Choices, ...]


@dataclass(frozen=True, slots=True)
class PageRankPage(StudyPage):
    """`/pagerank`: runs of PageRank compared.

    caveat     what times on a CPU say, empty on a GPU
    runs       every run in numbers; top: the highest ranks; graphs: what is known of each matrix
    paper      the paper's own rows, and remarks on them
    structure  row lengths of the first matrices
    what_if    fields of the schedule that is replayed; replays: the kernels whose trace it can be
    kept       what the address says beside the choice of matrices; what_if_kept: beside that of the schedule
    """

    findings: tuple[RunFinding, ...]
    caveat: str
    runs: Table
    top: Table
    paper: Table
    remarks: tuple[str, ...]
    graphs: Table
    structure: tuple[Chart, ...]
    what_if: tuple[Field, ...]
    replays: tuple[Choice, ...]
    what_if_kept: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class BatchedPage(StudyPage):
    """`/batched`: batches of small matrices.

    overview     sentences on all batches together
    caveat       what times on a CPU say, empty on a GPU
    conclusions  the paper's, each beside what the shown batches say
    kernels      every kernel of the shown batches in numbers
    sizes        problems of the batches measured
    """

    overview: tuple[str, ...]
    findings: tuple[GroupFinding, ...]
    caveat: str
    conclusions: Table
    kernels: Table
    features: Table
    caches: tuple[Link, ...]
    operations: tuple[Link, ...]
    sizes: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class ScalingPage(StudyPage):
    """`/scaling`: one matrix shared by several devices.

    overview     sentences on all matrices together, one a work
    caveat       what the times of virtual devices say; empty where there are none
    conclusions  the paper's, each beside what the shown work says
    balance      how evenly the works were cut whose parts stand in a table of their own
    cases        every case in numbers, a table a work
    phases       times or shares
    numbers      how many devices the sentences are about
    """

    overview: tuple[str, ...]
    findings: tuple[GroupFinding, ...]
    caveat: str
    conclusions: Table
    balance: tuple[WorkCases, ...]
    cases: tuple[WorkCases, ...]
    features: Table
    phases: tuple[Link, ...]
    numbers: tuple[Choice, ...]


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
