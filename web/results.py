"""Which results a selection shows: kernels are compared within one job, where their rounds were interleaved.

A recording is to its device what a job is to one that is here. Addresses have the ids of devices, what is shown their
names.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product

from sqlalchemy.orm import Session

from gpu_engine.findings.data import MatrixFeatures, StudyData, op_of
from gpu_engine.findings.identical import Identical
from gpu_engine.records import MIXTURE, OP, Measurement
from server import devices, matrix_sets, recorded_results, results
from server.jobs import queue
from server.models import JobRow, JobState
from server.results import matrix_features
from web.selection import OPS, VALUES_MAX, WHAT_IF, Selection

CACHE_DEFAULT = "warm"
"""As in the papers and in a solver."""

JOBS_MAX = 200
"""How many of the newest jobs with results are looked through."""


@dataclass(frozen=True, slots=True)
class Available:
    """What there are results of, whichever of them are shown.

    devices   with results, those of this service first
    chosen    those of the selection; else the one with results of most of the chosen matrices, the first of equals
    jobs      on the chosen devices, the newest first
    recorded  the chosen devices whose results came with a recording
    matrices  with results on the chosen devices
    """

    devices: tuple[str, ...]
    chosen: tuple[str, ...]
    jobs: tuple[JobRow, ...]
    recorded: tuple[str, ...]
    matrices: tuple[str, ...]


@dataclass(frozen=True)
class Results:
    """The results of a selection, and what else could be selected.

    study         whose results they are
    selection     with the page's own choice of device, cache and matrices filled in
    jobs          the jobs behind the measurements, one per matrix and device; what was recorded has none
    measurements  of the selection
    features      matrix id → name, shape and row lengths
    names         device id → its name, which the measurements have instead
    every         measurements of the selection, whichever kernels, products and bits are chosen
    """

    study: str
    selection: Selection
    jobs: tuple[JobRow, ...]
    measurements: tuple[Measurement, ...]
    features: Mapping[str, MatrixFeatures]
    every: tuple[Measurement, ...]
    devices: tuple[str, ...]
    matrices: tuple[str, ...]
    names: Mapping[str, str]

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """That have a record here, whichever are chosen."""
        return tuple(dict.fromkeys(m.kernel for m in self.every))

    def device_id(self, name: str) -> str:
        """The id of the device that is shown under a name."""
        return next((device for device, known in self.names.items() if known == name), name)

    @cached_property
    def data(self) -> StudyData:
        """What the figures of the study are drawn from."""
        return self.data_of(self.measurements)

    def data_of(self, measurements: Sequence[Measurement]) -> StudyData:
        """The same of other measurements."""
        chosen = self.selection
        baseline = chosen.baseline[0] if chosen.baseline else ""
        what_if = {name: values[0] for name in WHAT_IF if (values := getattr(chosen, name))}
        return StudyData(
            measurements,
            self.features,
            chosen.kernel,
            chosen.pair,
            baseline,
            series=chosen.series[0] if chosen.series else "",
            sort=chosen.sort[0] if chosen.sort else "",
            what_if=what_if,
            batch=int(chosen.batch[0]) if chosen.batch else 0,
            operation=chosen.operation[0] if chosen.operation else "",
            devices=int(chosen.devices[0]) if chosen.devices else 0,
            phases=chosen.phases[0] if chosen.phases else "",
        )


def device_names(session: Session) -> dict[str, str]:
    """Device id → what people call it: a GPU by its product, beside it whether it was recorded, or which one it is."""
    here = {row.id: row.info for row in devices.list_devices(session) if row.info["backend"] == "cuda"}
    named = {device: f"{info['name']} ({device})" for device, info in here.items()}
    return named | {row.id: str(row.info["name"]) for row in recorded_results.list_devices(session)}


def with_set(session: Session, selection: Selection) -> Selection:
    """The same selection with the matrices of its set, where it names one; raises NotFoundError for one that is not."""
    if not selection.set:
        return selection
    chosen = matrix_sets.get_set(session, selection.set[0])
    return replace(selection, matrix=matrix_sets.members(session, chosen))


def available(session: Session, study: str, selection: Selection) -> Available:
    """What a study has results of, read without any of them; raises NotFoundError for a job that does not exist."""
    jobs = _candidates(session, study, selection)
    # A selection of jobs shows their results and nothing else.
    recorded = () if selection.job else recorded_results.device_ids(session, study)
    devices = tuple(dict.fromkeys((*(job.device for job in jobs), *recorded)))
    chosen = selection.device or (devices if selection.job else _richest(session, study, selection, jobs, devices))
    here = tuple(job for job in jobs if job.device in chosen)
    elsewhere = tuple(device for device in recorded if device in chosen)
    own = dict.fromkeys(matrix for job in here for matrix in job.matrix_ids)
    matrices = dict.fromkeys((*own, *recorded_results.matrix_ids(session, study, elsewhere, tuple(own))))
    return Available(devices, chosen, here, elsewhere, tuple(matrices))


def _richest(
    session: Session, study: str, selection: Selection, jobs: Sequence[JobRow], devices: Sequence[str]
) -> tuple[str, ...]:
    """The first of the devices with results of most of the chosen matrices; none where there is none."""
    own = {(job.device, matrix) for job in jobs for matrix in job.matrix_ids if matrix in selection.matrix}
    numbers = Counter(device for device, _ in own)
    numbers.update(recorded_results.devices_of(session, study, selection.matrix, devices))
    return tuple(sorted(devices, key=lambda device: -numbers[device])[:1])


def results_of(session: Session, study: str, selection: Selection, named: bool = True) -> Results:
    """The newest results of a study that fit the selection; raises NotFoundError for a job that does not exist.

    Where the selection names no matrix they are of all, as far as an address holds them.

    named  measurements have the names of their devices, as people read them; else their ids
    """
    known = available(session, study, selection)
    matrices = selection.matrix or known.matrices[:VALUES_MAX]
    chosen = selection.with_(device=known.chosen, cache=selection.cache or CACHE_DEFAULT, matrix=matrices)
    sources, mixtures = _sources(known.jobs, matrices, known.chosen), _mixtures(session, known.jobs, chosen)
    found = [m for job, own in sources.items() for m in _of_job(session, job, own, chosen) if MIXTURE not in m.axes]
    found += (m for of_job in mixtures.values() for m in of_job)
    recorded = recorded_results.measurements(session, study, matrices, known.recorded)
    found += (m for m in recorded if m.cache in chosen.cache)
    names = device_names(session) if named else {}
    every = tuple(_renamed(m, names) for m in found)
    return Results(
        study,
        chosen,
        tuple(job for job in known.jobs if job.id in sources or job.id in mixtures),
        tuple(m for m in every if _is_chosen(m, chosen)),
        matrix_features(session, (*known.matrices, *matrices)),
        every,
        known.devices,
        known.matrices,
        names,
    )


def with_traces(session: Session, seen: Results) -> StudyData:
    """What is drawn of results that have traces, which are read for this alone: they are most of the bytes."""
    wanted = {(m.device, m.case) for m in seen.measurements}
    chosen = () if seen.selection.job else seen.selection.device
    recorded = recorded_results.traces(session, seen.study, seen.selection.matrix, chosen)
    traces = results.traces(session, seen.jobs) | recorded
    known = {(seen.names.get(device, device), case): trace for (device, case), trace in traces.items()}
    return replace(seen.data, traces={key: trace for key, trace in known.items() if key in wanted})


def _renamed(m: Measurement, names: Mapping[str, str]) -> Measurement:
    return _on(Identical((m,)), names[m.device]) if m.device in names else m


@lru_cache(maxsize=results.KEPT)
def _on(one: Identical, device: str) -> Measurement:
    """The same object for the same measurement, which rankings are kept for."""
    return replace(one[0], device=device)


def _candidates(session: Session, study: str, selection: Selection) -> list[JobRow]:
    """Jobs of the study with results, the newest first; those of a chosen matrix even when they are old."""
    if selection.job:
        return [job for job in (queue.get_job(session, job_id) for job_id in selection.job) if job.study == study]
    pages = [
        queue.list_jobs(session, study=study, matrix_id=matrix, limit=JOBS_MAX, measured=True)
        for matrix in (None, *selection.matrix)
    ]
    unique = {job.id: job for page in pages for job in page.items}
    return sorted(unique.values(), key=lambda job: job.created_at, reverse=True)


def _is_chosen(m: Measurement, chosen: Selection) -> bool:
    """Whether the selection has its kernel, its product and its bits."""
    return (
        (not chosen.kernel or m.kernel in chosen.kernel)
        and (not chosen.op or op_of(m) in chosen.op)
        and (not chosen.bits or m.details.is_reproducible is True)
    )


def ops_of(job: JobRow) -> tuple[str, ...]:
    """What multiplies x in a job: A, its transpose, or both."""
    op = job.params.get(OP, "A")
    return OPS if op == "both" else (op,)


def _sources(
    jobs: Sequence[JobRow], matrices: Sequence[str], devices: Sequence[str]
) -> dict[str, dict[str, list[str]]]:
    """Job id → matrix → whose products are taken from it, A or AT.

    Of each on a device it is the newest job that succeeded, else the newest.
    """
    sources: dict[str, dict[str, list[str]]] = {}
    for device, matrix, op in product(devices, matrices, OPS):
        fitting = [job for job in jobs if job.device == device and matrix in job.matrix_ids and op in ops_of(job)]
        whole = [job for job in fitting if job.state == JobState.SUCCEEDED]
        for job in (whole or fitting)[:1]:
            sources.setdefault(job.id, {}).setdefault(matrix, []).append(op)
    return sources


def _mixtures(session: Session, jobs: Sequence[JobRow], chosen: Selection) -> dict[str, list[Measurement]]:
    """Job id → what it says of mixtures of the chosen matrices alone: of a mixture on a device one job."""
    matrices = {*chosen.matrix}
    several = [job for job in jobs if len({*job.matrix_ids} & matrices) > 1]
    known = results.mixtures(session, [job.id for job in several]) if several else {}
    sources: dict[tuple[str, str], str] = {}
    for job in sorted(several, key=lambda job: job.state != JobState.SUCCEEDED):
        for mixture in known.get(job.id, {}):
            sources.setdefault((job.device, mixture), job.id)
    found: dict[str, list[Measurement]] = {}
    for (_, mixture), job_id in sources.items():
        of_matrix = results.measurements(session, (job_id,), (known[job_id][mixture],), caches=chosen.cache)
        own = [m for m in of_matrix if m.axes.get(MIXTURE) == mixture and {*m.members} <= matrices]
        if own:
            found.setdefault(job_id, []).extend(own)
    return found


def _of_job(session: Session, job_id: str, taken: Mapping[str, Sequence[str]], chosen: Selection) -> list[Measurement]:
    """What is taken from a job, matrix by matrix."""
    found = results.measurements(session, (job_id,), tuple(taken), caches=chosen.cache)
    places = {matrix: place for place, matrix in enumerate(taken)}
    return sorted((m for m in found if op_of(m) in taken[m.matrix_id]), key=lambda m: places[m.matrix_id])
