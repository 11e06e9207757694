"""Results of the `formats` study on one matrix and device, with the decision for n SpMVs."""

from dataclasses import dataclass

from sqlalchemy.orm import Session

from gpu_engine.findings.formats.decision import Decision, decide
from gpu_engine.findings.formats.groups import of_matrices
from gpu_engine.records import CACHES, Measurement
from gpu_engine.text import units
from gpu_engine.verdicts.noise import noise
from server.models import JobRow, RecordingRow
from web.results import CACHE_DEFAULT, results_of
from web.selection import Selection
from web.studies.formats import FORMATS
from web.views.matrix_answer import origin_text
from web.views.matrix_devices import DeviceOption


@dataclass(frozen=True, slots=True)
class Measured:
    """The measured kernels of a matrix on a device in one cache state.

    caches    cache states with results; job: id of their job, empty for reference results
    decision  None without a time; busy: why the timings are too noisy to choose, or empty
    when      device, day, and rounds
    """

    group: tuple[Measurement, ...]
    cache: str
    caches: tuple[str, ...]
    job: str
    decision: Decision | None
    busy: str
    when: str


def measured_on(session: Session, matrix_id: str, device: DeviceOption, n: int, cache: str) -> Measured | None:
    """Return the newest results on a device; None without any. cache: empty for the default."""
    chosen = Selection(matrix=(matrix_id,), device=(device.value,), cache=CACHES)
    results = results_of(session, FORMATS.name, chosen)
    every = of_matrices(results.measurements)
    caches = tuple(dict.fromkeys(m.cache for m in every))
    if not caches:
        return None
    state = cache if cache in caches else CACHE_DEFAULT if CACHE_DEFAULT in caches else caches[0]
    group = tuple(m for m in every if m.cache == state)
    job = results.jobs[0] if results.jobs else None
    when = origin_text(device, _day(session, device, job), group)
    return Measured(
        group, state, caches, job.id if job else "", decide(group, n), noise(group), f"{when}, {state} cache"
    )


def _day(session: Session, device: DeviceOption, job: JobRow | None) -> str:
    """Return the day of the measurement; empty if it is unknown."""
    if job is not None:
        return units.moment(job.finished_at or job.created_at)[:10]
    recording = session.get(RecordingRow, f"{device.value.partition(':')[2]}/{FORMATS.name}")
    return units.moment(recording.created_at)[:10] if recording and recording.created_at else ""
