"""What histories show: the cases of a study of one matrix in one place over time, and its kernels from job to job."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from sqlalchemy.orm import Session

from gpu_engine.errors import ParameterError
from gpu_engine.findings.data import op_of
from gpu_engine.findings.history.change_points import LOOKED_FROM, History
from gpu_engine.findings.history.records import Taken
from gpu_engine.records import CACHES, TRANSPOSED
from gpu_engine.studies import study as find_study
from server import catalogue, histories, recorded_results
from server.jobs import queue
from web.figures.emphasis import NAMED_MAX
from web.figures.history import Panel, Visit, panel
from web.results import CACHE_DEFAULT, device_names
from web.selection import Selection
from web.studies.formats import FORMATS

NAMES = ("study", "matrix", "device", "cache", "kernel")
"""What an address chooses of cases; all but kernels once."""

JOBS_MAX = 50
"""Of the newest jobs with results."""


@dataclass(frozen=True, slots=True)
class Place:
    """Whose cases are followed: a study of a matrix on a device."""

    study: str
    matrix_id: str
    device: str


@dataclass(frozen=True)
class Shown:
    """The histories of a selection; its place has the page's own choice where the selection leaves one open.

    recorded  whether the results came with a recording, so that no job took them
    device    by name
    busy      as `server.histories.busy` has it
    """

    selection: Selection
    place: Place
    cache: str
    matrix: str
    device: str
    recorded: bool
    kernels: tuple[str, ...]
    histories: tuple[History, ...]
    busy: Sequence[Taken]

    @cached_property
    def drawn(self) -> tuple[History, ...]:
        """Those of the chosen kernels; else those with change points, the newest first, then the fastest; a few."""
        return self.histories if self.selection.kernel else self._ranked[:NAMED_MAX]

    @property
    def _ranked(self) -> tuple[History, ...]:
        def key(history: History) -> tuple[float, bool, float]:
            newest = max((point.first.measured_at for point in history.points), default=0.0)
            return -newest, len(history.taken) < LOOKED_FROM, history.taken[-1].median_s

        return tuple(sorted(self.histories, key=key))


def shown(session: Session, selection: Selection) -> Shown:
    """The histories that a selection asks for.

    Raises ParameterError for two matrices, devices or cache states and for an unknown study, NotFoundError for an
    unknown matrix.
    """
    for name in ("matrix", "device", "cache"):
        if len(getattr(selection, name)) > 1:
            raise ParameterError(f"{name} is given {len(getattr(selection, name))} times; a history is of one.")
    place = _place(session, selection)
    cache = selection.cache[0] if selection.cache else CACHE_DEFAULT
    taken = histories.read(session, place.study, place.matrix_id, [cache], place.device)
    matrix = catalogue.get_matrix(session, place.matrix_id).name if place.matrix_id else ""
    return Shown(
        selection.with_(study=place.study, matrix=place.matrix_id, device=place.device, cache=cache),
        place,
        cache,
        matrix,
        device_names(session).get(place.device, place.device),
        _is_recorded(session, place),
        tuple(sorted({each.measurement.kernel for each in taken})),
        tuple(histories.histories(taken, selection.kernel)),
        histories.busy(taken),
    )


def _place(session: Session, selection: Selection) -> Place:
    """What the selection names, and for the rest that of the newest job which fits it."""
    study, matrix, device = ("".join(getattr(selection, name)) for name in ("study", "matrix", "device"))
    if study:
        find_study(study)
    jobs = queue.list_jobs(session, study=study or None, matrix_id=matrix or None, measured=True).items
    job = next((job for job in jobs if device in ("", job.device)), None)
    newest = (job.study, job.matrix_ids[0], job.device) if job else (FORMATS.name, "", "")
    return Place(*(given or own for given, own in zip((study, matrix, device), newest, strict=True)))


def _is_recorded(session: Session, place: Place) -> bool:
    known = recorded_results.device_ids(session, place.study, place.matrix_id) if place.matrix_id else ()
    return place.device in known or (not place.device and bool(known))


def other_caches(shown: Shown) -> tuple[tuple[str, Selection], ...]:
    """Each cache state with the same page in it."""
    return tuple((cache, shown.selection.with_(cache=cache)) for cache in CACHES)


def over_jobs(session: Session, matrix_id: str, selection: Selection) -> tuple[Panel, ...]:
    """The devices and cache states in which two jobs or more that compared the formats of a matrix have a time of it.

    selection  its kernels, cache states and devices
    """
    newest = queue.list_jobs(session, study=FORMATS.name, matrix_id=matrix_id, limit=JOBS_MAX, measured=True).items
    jobs = [job for job in reversed(newest) if not selection.device or job.device in selection.device]
    caches = selection.cache or (CACHE_DEFAULT,)
    every = histories.read(session, FORMATS.name, matrix_id, caches, job_ids=[job.id for job in jobs])
    doubtful = {each.key for each in histories.busy(every)}
    groups: dict[tuple[str, str], dict[str, Taken]] = {}
    for each in every:
        if op_of(each.measurement) != TRANSPOSED:
            groups.setdefault((each.job_id, each.measurement.cache), {})[each.measurement.kernel] = each
    names, visits = device_names(session), dict[tuple[str, str], list[Visit]]()
    for job, cache in product(jobs, caches):
        if taken := groups.get((job.id, cache)):
            is_busy = any(each.key in doubtful for each in taken.values())
            place = names.get(job.device, job.device), cache
            visits.setdefault(place, []).append(Visit(job.created_at, taken, is_busy))
    return tuple(panel(place, own, selection.kernel) for place, own in visits.items() if len(own) > 1)
