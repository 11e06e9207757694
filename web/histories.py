"""Histories: the times of the cases of a matrix on a device, and of its kernels from job to job."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError
from gpu_engine.findings.data import op_of
from gpu_engine.findings.history.change_points import LOOKED_FROM, History
from gpu_engine.findings.history.records import HistoryPoint
from gpu_engine.records import CACHES, TRANSPOSED
from gpu_engine.studies import study as find_study
from server import catalogue, histories, recorded_results
from server.jobs import queue
from web.figures.history import Panel, Visit, panel
from web.results import CACHE_DEFAULT, device_names
from web.selection import Selection
from web.studies.formats import FORMATS

NAMES = ("study", "matrix", "device", "cache", "kernel")
"""Parameters of the address of a history; each is given once at most, except `kernel`."""

DRAWN_MAX = 4
"""Maximum number of histories that are drawn if no kernel is chosen."""

JOBS_MAX = 50
"""Maximum number of jobs in a history, the newest ones with results."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The subject of a history: a study of a matrix on a device."""

    study: str
    matrix_id: str
    device: str


@dataclass(frozen=True)
class HistoryView:
    """The histories of a selection; `subject` has defaults for open parameters.

    recorded  whether these are reference results, which belong to no job
    device    name of the device
    busy      noisy measurements, see `server.histories.busy`
    """

    selection: Selection
    subject: Subject
    cache: str
    matrix: str
    device: str
    recorded: bool
    kernels: tuple[str, ...]
    histories: tuple[History, ...]
    busy: Sequence[HistoryPoint]

    @cached_property
    def drawn_histories(self) -> tuple[History, ...]:
        """Histories of the chosen kernels; by default a few: newest change points first, then fastest kernels."""
        return self.histories if self.selection.kernel else self._ranked[:DRAWN_MAX]

    @property
    def _ranked(self) -> tuple[History, ...]:
        def key(history: History) -> tuple[float, bool, float]:
            newest = max((point.first.measured_at for point in history.points), default=0.0)
            return -newest, len(history.timeline) < LOOKED_FROM, history.timeline[-1].median_s

        return tuple(sorted(self.histories, key=key))


def history_view(session: Session, selection: Selection) -> HistoryView:
    """Return the histories of a selection.

    Raises ParameterError for several matrices, devices, or cache states and for an unknown study, NotFoundError for an
    unknown matrix.
    """
    for name in ("matrix", "device", "cache"):
        if len(getattr(selection, name)) > 1:
            raise ParameterError(
                f"{name} is given {len(getattr(selection, name))} times. A history has one; give it once."
            )
    subject = _subject(session, selection)
    cache = selection.cache[0] if selection.cache else CACHE_DEFAULT
    points = histories.read(session, subject.study, subject.matrix_id, [cache], subject.device)
    matrix = catalogue.get_matrix(session, subject.matrix_id).name if subject.matrix_id else ""
    return HistoryView(
        selection.with_(study=subject.study, matrix=subject.matrix_id, device=subject.device, cache=cache),
        subject,
        cache,
        matrix,
        device_names(session).get(subject.device, subject.device),
        _is_recorded(session, subject),
        tuple(sorted({each.measurement.kernel for each in points})),
        tuple(histories.histories(points, selection.kernel)),
        histories.busy(points),
    )


def _subject(session: Session, selection: Selection) -> Subject:
    """Return the subject of a selection; open parameters are those of the newest job that matches."""
    study, matrix, device = ("".join(getattr(selection, name)) for name in ("study", "matrix", "device"))
    if study:
        find_study(study)
    jobs = queue.list_jobs(session, study=study or None, matrix_id=matrix or None, measured=True).items
    job = next((job for job in jobs if device in ("", job.device)), None)
    newest = (job.study, job.matrix_ids[0], job.device) if job else (FORMATS.name, "", "")
    return Subject(*(given or default for given, default in zip((study, matrix, device), newest, strict=True)))


def _is_recorded(session: Session, subject: Subject) -> bool:
    known = recorded_results.device_ids(session, subject.study, subject.matrix_id) if subject.matrix_id else ()
    return subject.device in known or (not subject.device and bool(known))


def other_caches(view: HistoryView) -> tuple[tuple[str, Selection], ...]:
    """Return each cache state with the selection of the same history in it."""
    return tuple((cache, view.selection.with_(cache=cache)) for cache in CACHES)


def over_jobs(session: Session, matrix_id: str, selection: Selection) -> tuple[Panel, ...]:
    """Return the panels of a matrix: devices and cache states in which at least two formats jobs have timings.

    selection  kernels, cache states, and devices
    """
    newest = queue.list_jobs(session, study=FORMATS.name, matrix_id=matrix_id, limit=JOBS_MAX, measured=True).items
    jobs = [job for job in reversed(newest) if not selection.device or job.device in selection.device]
    caches = selection.cache or (CACHE_DEFAULT,)
    every = histories.read(session, FORMATS.name, matrix_id, caches, job_ids=[job.id for job in jobs])
    doubtful = {each.key for each in histories.busy(every)}
    groups: dict[tuple[str, str], dict[str, HistoryPoint]] = {}
    for each in every:
        if op_of(each.measurement) != TRANSPOSED:
            groups.setdefault((each.job_id, each.measurement.cache), {})[each.measurement.kernel] = each
    names, visits = device_names(session), dict[tuple[str, str], list[Visit]]()
    for job, cache in product(jobs, caches):
        if points := groups.get((job.id, cache)):
            is_busy = any(each.key in doubtful for each in points.values())
            setting = names.get(job.device, job.device), cache
            visits.setdefault(setting, []).append(Visit(job.created_at, points, is_busy))
    return tuple(panel(setting, group, selection.kernel) for setting, group in visits.items() if len(group) > 1)
