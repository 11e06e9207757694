"""Contexts of the pages about jobs: form, list, job, and comparison; see contexts.py."""

from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.components import Choice, FindingRowView, FoldedTable, JobRowView, Link, LinkSwitch, StatePill
from web.forms import MeasureForm
from web.plots.dots import Dots
from web.race import Race


@dataclass(frozen=True, slots=True)
class MeasurePage:
    """`/measure`: form of a job.

    again          job whose settings it has; notes: matrices that cannot be measured
    starts_worker  whether this server starts a worker
    """

    title: str
    topics: str
    form: MeasureForm
    again: Link | None
    notes: tuple[str, ...]
    starts_worker: bool


@dataclass(frozen=True, slots=True)
class JobsPage:
    """`/jobs`: all jobs; sentence: how many run and wait; files: links to the list as data; has_jobs: any at all."""

    title: str
    topics: str
    sentence: str
    states: tuple[Link, ...]
    studies: tuple[Link, ...]
    tags: tuple[Link, ...]
    jobs: tuple[JobRowView, ...]
    has_jobs: bool
    files: tuple[Link, ...]
    first: str
    next: str


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of the measurement of one matrix; share: 0 … 1 of it is done; note: how far it is."""

    name: str
    share: float
    note: str


@dataclass(frozen=True, slots=True)
class LiveJob:
    """What a job does now.

    matrix_id, matrix  its current matrix; the name has its number if there are several
    stage              what it does, for the label of its state
    waiting            names of the matrices that it has not begun with
    """

    matrix_id: str
    matrix: str
    stage: str
    sentence: str
    phases: tuple[Phase, ...]
    race: Race
    waiting: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """A comparison group of a job; kind: `clear`, `tied`, `undecided`, or `noisy`."""

    row: FindingRowView
    kind: str
    race: Race


@dataclass(frozen=True, slots=True)
class JobPage:
    """`/jobs/{id}`: status and results of a job.

    can_stop  whether it can be stopped after its round
    sentence  the answer, or what the job does; under: the time left, or how many cases have times
    problem   reason for the failure, or for waiting
    foot      its id, attempt, and times
    settings  all parameters; again: address of the form with them
    why       reasons for missing timings
    live      what it does now; None if it is over
    groups    results in the first cache state; others: in the other one
    page      link to the study page with these results; query: of its address; earlier: jobs for a comparison
    """

    title: str
    topics: str
    job: JobRowView
    over: bool
    can_stop: bool
    pill: StatePill
    sentence: str
    under: tuple[str, ...]
    problem: str
    foot: tuple[str, ...]
    settings: FoldedTable
    again: str
    retry_of: str
    tags: tuple[Link, ...]
    note: str
    note_max: int
    why: tuple[str, ...]
    live: LiveJob | None
    groups: tuple[ResultGroup, ...]
    others: tuple[ResultGroup, ...]
    page: Link | None
    earlier: tuple[Choice, ...]
    query: str


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """A case of two jobs; setting: cache state and parameters; ratio: before / after; busy: one of the two is noisy."""

    matrix: Link
    kernel: str
    setting: str
    word: str
    ratio: str
    before: str
    after: str
    reason: str
    busy: bool


@dataclass(frozen=True, slots=True)
class ComparePage:
    """`/jobs/{id}/compare`: comparison of two jobs; changed: differences in settings and environment.

    under    sentences below the answer; picture: the largest changes, None without two times
    folded   cases that the reader opens
    """

    title: str
    topics: str
    before: JobRowView
    after: JobRowView
    sentence: str
    under: tuple[str, ...]
    notes: tuple[str, ...]
    picture: Dots | None
    show: LinkSwitch
    cases: tuple[ChangedCase, ...]
    folded: tuple[ChangedCase, ...]
    changed: Table
