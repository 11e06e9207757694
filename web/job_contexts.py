"""One dataclass a page of jobs: before one is queued, the queue, and one of them; see contexts.py."""

from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.forms import MeasureForm
from web.interim import InterimBars
from web.parts import Chart, Choice, FindingLine, FoldedTable, JobLine, Link, LinkSwitch


@dataclass(frozen=True, slots=True)
class MeasurePage:
    """`/measure`: a job before it is queued; again: the job whose settings it has; notes: what of it cannot be."""

    title: str
    topics: str
    form: MeasureForm
    again: Link | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class JobsPage:
    """`/jobs`: the queue and its history; files: the same as data."""

    title: str
    topics: str
    states: tuple[Link, ...]
    studies: tuple[Link, ...]
    tags: tuple[Link, ...]
    jobs: tuple[JobLine, ...]
    files: tuple[Link, ...]
    first: str
    next: str


@dataclass(frozen=True, slots=True)
class JobPage:
    """`/jobs/{id}`: where a job stands and what it has found so far.

    can_stop  whether it can be stopped after its round
    settings  every parameter; again: the form with them
    error     why the job has failed, or why nothing runs it now
    counts    how many cases have a time; why: reasons of those that have none
    interim   what the rounds say so far, and what was predicted; None where the job is over or nothing is known
    page      that of the study with these results; earlier: jobs that it can be compared with
    """

    title: str
    topics: str
    job: JobLine
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
    findings: tuple[FindingLine, ...]
    page: Link | None
    earlier: tuple[Choice, ...]
    downloads: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class ChangedCase:
    """A case of two jobs; place: cache state and axes; ratio: before over after; busy: the machine was in one."""

    matrix: Link
    kernel: str
    place: str
    word: str
    ratio: str
    before: str
    after: str
    reason: str
    busy: bool


@dataclass(frozen=True, slots=True)
class ComparePage:
    """`/jobs/{id}/compare`: the older of two jobs beside the newer; changed: settings and environment that differ."""

    title: str
    topics: str
    before: JobLine
    after: JobLine
    sentence: str
    notes: tuple[str, ...]
    show: LinkSwitch
    cases: tuple[ChangedCase, ...]
    changed: Table
