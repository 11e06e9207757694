"""Contexts of the page of the service."""

from dataclasses import dataclass

from server.service_check import Concern
from web.components import DeviceRowView, JobRowView, Link
from web.plots.bars import Bars


@dataclass(frozen=True, slots=True)
class Tile:
    """A number of the service.

    series   series of `/metrics` with this number; number: its value; value: the value as text
    bars     how it came about; meter: share of a limit, 0 … 1; None without one
    is_bad   whether the value needs attention
    """

    id: str
    label: str
    series: str
    number: float
    value: str
    note: str
    bars: Bars | None = None
    meter: float | None = None
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class ServiceJob:
    """A running, queued, or ended job; note: why it waits, how far it is, or why it failed."""

    row: JobRowView
    waited: str
    ran: str
    queued: str
    note: str


@dataclass(frozen=True, slots=True)
class Failure:
    """A reason for which jobs failed in the last day; more: number of jobs beyond the links."""

    reason: str
    jobs: tuple[Link, ...]
    more: int


@dataclass(frozen=True, slots=True)
class ServiceDevice:
    """A device; busy: share of the period with a running job; note: why it runs no jobs."""

    row: DeviceRowView
    busy: str
    note: str


@dataclass(frozen=True, slots=True)
class RouteTimes:
    """Response times of a route; half, most: bounds within which 50 % and 95 % of its responses began."""

    route: str
    requests: str
    half: str
    most: str
    bars: Bars


@dataclass(frozen=True, slots=True)
class TokenView:
    """A token in the list for administrators."""

    name: str
    role: str
    state: str
    expires: str


@dataclass(frozen=True, slots=True)
class AuditView:
    """An entry of the audit log."""

    at: str
    who: str
    action: str
    target: str
    status: str


@dataclass(frozen=True, slots=True)
class Access:
    """Who may do what: only for administrators; is_open: no token exists, so that everybody is one."""

    is_open: bool
    tokens: tuple[TokenView, ...]
    audit: tuple[AuditView, ...]


@dataclass(frozen=True, slots=True)
class ServicePage:
    """`/service`: whether all is well, and what the server, its queue, and its devices do.

    state       `measured` if all is well, `busy` with a concern, `failed` if jobs cannot run; state_text: its text
    under       sentence under the answer if all is well; concerns: what needs attention
    idle        why nothing runs; empty while a job runs, and if a concern says it
    job_count   number of stored jobs, as text
    period      time of which the devices' busy share is, as text: 24 h, or since the start of the server
    crashes     sentence about crashed processes; empty if there are none
    facts       versions and sizes; locations: where the files of the server are, only for administrators
    access      None for readers who are not administrators
    """

    title: str
    topics: str
    eyebrow: str
    state: str
    state_text: str
    sentence: str
    under: str
    concerns: tuple[Concern, ...]
    tiles: tuple[Tile, ...]
    idle: str
    jobs: tuple[ServiceJob, ...]
    job_count: str
    failures: tuple[Failure, ...]
    crashes: str
    devices: tuple[ServiceDevice, ...]
    period: str
    routes: tuple[RouteTimes, ...]
    facts: tuple[tuple[str, str], ...]
    locations: tuple[tuple[str, str], ...]
    access: Access | None
