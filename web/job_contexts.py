"""Contexts of the pages about jobs: form, list, job, and comparison; see contexts.py."""

from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.components import Chart, Choice, FindingRowView, FoldedTable, JobRowView, Link, LinkSwitch
from web.forms import MeasureForm
from web.live_bars import InterimBars


@dataclass(frozen=True, slots=True)
class MeasurePage:
    """`/measure`: form of a job; again: the job whose settings it has; notes: matrices that cannot be measured."""

    title: str
    topics: str
    form: MeasureForm
    again: Link | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobsPage:
    """`/jobs`: all jobs; files: links to the list as data."""

    title: str
    topics: str
    states: tuple[Link, ...]
    studies: tuple[Link, ...]
    tags: tuple[Link, ...]
    jobs: tuple[JobRowView, ...]
    files: tuple[Link, ...]
    first: str
    next: str


@dataclass(frozen=True, slots=True)
class JobPage:
    """`/jobs/{id}`: status and results of a job.

    can_stop  whether it can be stopped after its round
    settings  all parameters; again: address of the form with them
    error     reason for the failure, or for waiting
    counts    number of cases with timings; why: reasons for missing timings
    interim   provisional and predicted times; None if the job is over or there are none
    page      link to the study page with these results; earlier: jobs for a comparison
    """

    title: str
    topics: str
    job: JobRowView
    over: bool
    can_stop: bool
    status: str
    facts: tuple[tuple[str, str], ...]
    settings: FoldedTable
    again: str
    error: str
    retry_of: str
    tags: tuple[Link, ...]
    note: str
    note_max: int
    counts: str
    why: tuple[str, ...]
    interim: InterimBars | None
    chart: Chart
    findings: tuple[FindingRowView, ...]
    page: Link | None
    earlier: tuple[Choice, ...]
    downloads: tuple[Link, ...]


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
    """`/jobs/{id}/compare`: comparison of two jobs; changed: differences in settings and environment."""

    title: str
    topics: str
    before: JobRowView
    after: JobRowView
    sentence: str
    notes: tuple[str, ...]
    show: LinkSwitch
    cases: tuple[ChangedCase, ...]
    changed: Table
