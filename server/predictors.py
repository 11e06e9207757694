"""Predictors: the advisor for a device of this service, calibrated by what its own jobs measured there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session

from gpu_engine.advisor import Advice, advise, can_advise, is_sure, near_best
from gpu_engine.advisor.evaluation import calibrate
from gpu_engine.advisor.gpus import FITTED, Gpu, gpu_named
from gpu_engine.advisor.model import MODELS
from gpu_engine.advisor.work import Features
from gpu_engine.records import Cache, Case, Measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from server import devices
from server.models import JobRow, JobState, MatrixRow, MeasurementRow

STUDY = ProductDetails.study

MEASUREMENTS_MAX = 5000
"""So many of the newest times count: those of some fifty matrices."""

JOBS_AT_ONCE = 50
"""Jobs are looked through in pieces of so many, the newest first, until there are MEASUREMENTS_MAX."""


@dataclass(frozen=True, slots=True)
class Predictor:
    """What times are predicted for.

    gpu          the model of the device
    calibration  measured over predicted time by kernel; empty where nothing was measured there
    matrices     how many it was measured on
    """

    gpu: Gpu = FITTED
    calibration: Mapping[str, float] = field(default_factory=dict)
    matrices: int = 0

    def advise(self, features: Features) -> tuple[Advice, ...]:
        """The best kernels for warm products there."""
        return advise(features, self.gpu, self.calibration)

    def is_sure(self, features: Features) -> bool:
        """Whether the first need not be measured: on a GPU that was judged, of a matrix like those fitted to."""
        return self.gpu.is_judged and is_sure(features, self.gpu, self.calibration)

    def near_best(self, features: Features) -> tuple[str, ...]:
        """The kernels predicted close to the first."""
        return near_best(features, self.gpu, "warm", self.calibration)


UNCALIBRATED = Predictor()
"""Of no device that is here: predictions are for the model that the costs were fitted to."""


class _Time(NamedTuple):
    """The median of a product by A as given, in seconds."""

    matrix_id: str
    kernel: str
    cache: Cache
    median_s: float


@dataclass(frozen=True, slots=True)
class _Kept:
    """A predictor with what it was made of.

    jobs    all that had ended, the newest first
    counts  measurements of those that were looked through, by piece
    """

    jobs: tuple[str, ...]
    counts: tuple[int, ...]
    predictor: Predictor

    def holds(self, session: Session, jobs: tuple[str, ...]) -> bool:
        """Whether it would be made the same now: ids of jobs are never used again, and ended ones only lose rows."""
        if self.jobs != jobs:
            return False
        pieces = zip(_pieces(jobs), self.counts, strict=False)
        return all(_count(session, piece) == count for piece, count in pieces)


_KEPT: WeakKeyDictionary[Any, dict[tuple[str, str], _Kept]] = WeakKeyDictionary()
"""Engine of a database → device and its name → what was made last; each is whole when it is put here."""


def of_service(session: Session) -> Predictor:
    """That of the first device here whose model the advisor knows."""
    known = (row for row in devices.list_devices(session) if gpu_named(str(row.info["name"])) is not None)
    return next((of_device(session, row.id, str(row.info["name"])) for row in known), UNCALIBRATED)


def of_device(session: Session, device_id: str, name: str) -> Predictor:
    """That of a device by what was measured while it had this name; UNCALIBRATED where its model is not known."""
    gpu = gpu_named(name)
    if gpu is None:
        return UNCALIBRATED
    jobs = _ended(session, device_id)
    of_database = _KEPT.setdefault(session.get_bind(), {})
    kept = of_database.get((device_id, name))
    if kept is None or not kept.holds(session, jobs):
        # Two that come at once both make it: that is a tenth of a second, and nobody waits for another's session.
        kept = of_database[device_id, name] = _learned(session, gpu, jobs, name)
    return kept.predictor


def _ended(session: Session, device_id: str) -> tuple[str, ...]:
    """The jobs that measured products there and ran through, the newest first."""
    of_device = JobRow.study == STUDY, JobRow.device == device_id, JobRow.state == JobState.SUCCEEDED
    return tuple(session.scalars(select(JobRow.id).where(*of_device).order_by(JobRow.finished_at.desc(), JobRow.id)))


def _pieces(jobs: Sequence[str]) -> Iterator[Sequence[str]]:
    return (jobs[start : start + JOBS_AT_ONCE] for start in range(0, len(jobs), JOBS_AT_ONCE))


def _count(session: Session, jobs: Sequence[str]) -> int:
    """All measurements of these jobs, whether they count or not: an index alone tells."""
    query = select(func.count()).select_from(MeasurementRow).where(MeasurementRow.job_id.in_(jobs))
    return session.execute(query).scalar_one()


def _learned(session: Session, gpu: Gpu, jobs: tuple[str, ...], name: str) -> _Kept:
    times: list[_Time] = []
    counts: list[int] = []
    for piece in _pieces(jobs):
        # Counted before they are read: what goes between the two makes the count wrong, and all is read again.
        counts.append(_count(session, piece))
        query = _times(piece, name).limit(MEASUREMENTS_MAX - len(times))
        times += (_Time(*row) for row in session.execute(query))
        if len(times) >= MEASUREMENTS_MAX:
            break
    return _Kept(jobs, tuple(counts), _predictor(session, gpu, times))


def _times(jobs: Sequence[str], name: str) -> Select[Any]:
    """What these jobs say of the device of that name and of the advisor's kernels, the newest first.

    A record names what it was measured on: the id of a device is that of another card once it was replaced.
    """
    record = MeasurementRow.record
    return (
        select(MeasurementRow.matrix_id, MeasurementRow.kernel, MeasurementRow.cache, record["median_s"].as_float())
        .where(
            MeasurementRow.job_id.in_(jobs),
            MeasurementRow.state == "ok",
            MeasurementRow.kernel.in_(tuple(MODELS)),
            # A case without axes: transposed, a matrix is another one than its features say.
            MeasurementRow.case_key.endswith("|"),
            record["environment", "device"].as_string() == name,
        )
        .order_by(MeasurementRow.id.desc())
    )


def _predictor(session: Session, gpu: Gpu, times: Sequence[_Time]) -> Predictor:
    """Of each case the first of these times counts."""
    ids = {time.matrix_id for time in times}
    rows = session.execute(select(MatrixRow.id, MatrixRow.features).where(MatrixRow.id.in_(ids)))
    features = {matrix_id: found for matrix_id, found in rows if can_advise(found)}
    newest = {time[:3]: time for time in reversed(times) if time.matrix_id in features}
    if not newest:
        return Predictor(gpu)
    measured = (
        Measurement.of(Case(*time[:3]), gpu.name, ProductDetails, backend="cuda", median_s=time.median_s)
        for time in newest.values()
    )
    return Predictor(gpu, calibrate(measured, features, gpu), len(ids & features.keys()))
