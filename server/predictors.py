"""Predictors: the performance model for a device of this service, calibrated by the measurements of its jobs."""

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
"""Maximum number of measurements used for a calibration, the newest ones: those of about fifty matrices."""

JOBS_AT_ONCE = 50
"""Number of jobs that are read at a time, the newest first, until there are MEASUREMENTS_MAX measurements."""


@dataclass(frozen=True, slots=True)
class Predictor:
    """Performance model for one device.

    gpu          GPU model of the device
    calibration  measured over predicted time by kernel; empty without measurements
    matrices     number of matrices behind the calibration
    """

    gpu: Gpu = FITTED
    calibration: Mapping[str, float] = field(default_factory=dict)
    matrices: int = 0

    def advise(self, features: Features, also: Sequence[str] = ()) -> tuple[Advice, ...]:
        """Return the predicted best kernels for warm SpMVs on the device, and those of `also`."""
        return advise(features, self.gpu, self.calibration, also)

    def is_sure(self, features: Features) -> bool:
        """Return whether the prediction has high confidence: an evaluated GPU, and a matrix like those of the
        calibration.
        """
        return self.gpu.is_judged and is_sure(features, self.gpu, self.calibration)

    def near_best(self, features: Features) -> tuple[str, ...]:
        """Return the kernels predicted close to the first one."""
        return near_best(features, self.gpu, "warm", self.calibration)


UNCALIBRATED = Predictor()
"""Predictor without a device, for the GPU model that the costs were fitted to."""


class _Time(NamedTuple):
    """Median time of an SpMV with A as given, in seconds."""

    matrix_id: str
    kernel: str
    cache: Cache
    median_s: float


@dataclass(frozen=True, slots=True)
class _CachedPredictor:
    """Cached predictor with its inputs.

    jobs    all ended jobs, the newest first
    counts  measurements of the jobs that were read, by batch
    """

    jobs: tuple[str, ...]
    counts: tuple[int, ...]
    predictor: Predictor

    def holds(self, session: Session, jobs: tuple[str, ...]) -> bool:
        """Return whether the predictor is up to date. Job ids are never reused, and ended jobs only lose rows."""
        if self.jobs != jobs:
            return False
        pieces = zip(_pieces(jobs), self.counts, strict=False)
        return all(_count(session, piece) == count for piece, count in pieces)


_CACHE: WeakKeyDictionary[Any, dict[tuple[str, str], _CachedPredictor]] = WeakKeyDictionary()
"""Cache: engine of a database → device and its name → predictor. Entries are replaced as a whole."""


def of_service(session: Session) -> Predictor:
    """Return the predictor of the first device of this service that the performance model knows."""
    known = (row for row in devices.list_devices(session) if gpu_named(str(row.info["name"])) is not None)
    return next((of_device(session, row.id, str(row.info["name"])) for row in known), UNCALIBRATED)


def of_device(session: Session, device_id: str, name: str) -> Predictor:
    """Return the predictor of a device, from measurements under its present name; UNCALIBRATED for an unknown GPU
    model.
    """
    gpu = gpu_named(name)
    if gpu is None:
        return UNCALIBRATED
    jobs = _ended(session, device_id)
    of_database = _CACHE.setdefault(session.get_bind(), {})
    cached = of_database.get((device_id, name))
    if cached is None or not cached.holds(session, jobs):
        # Two concurrent requests both compute it: that takes 0.1 s, and neither waits for the session of the other.
        cached = of_database[device_id, name] = _learned(session, gpu, jobs, name)
    return cached.predictor


def _ended(session: Session, device_id: str) -> tuple[str, ...]:
    """Return the succeeded jobs with SpMVs on the device, the newest first."""
    of_device = JobRow.study == STUDY, JobRow.device == device_id, JobRow.state == JobState.SUCCEEDED
    return tuple(session.scalars(select(JobRow.id).where(*of_device).order_by(JobRow.finished_at.desc(), JobRow.id)))


def _pieces(jobs: Sequence[str]) -> Iterator[Sequence[str]]:
    return (jobs[start : start + JOBS_AT_ONCE] for start in range(0, len(jobs), JOBS_AT_ONCE))


def _count(session: Session, jobs: Sequence[str]) -> int:
    """Return the number of all measurements of these jobs, used or not; this only reads an index."""
    query = select(func.count()).select_from(MeasurementRow).where(MeasurementRow.job_id.in_(jobs))
    return session.execute(query).scalar_one()


def _learned(session: Session, gpu: Gpu, jobs: tuple[str, ...], name: str) -> _CachedPredictor:
    times: list[_Time] = []
    counts: list[int] = []
    for piece in _pieces(jobs):
        # Count before reading: if rows are deleted in between, the count is wrong, and everything is read again.
        counts.append(_count(session, piece))
        query = _times(piece, name).limit(MEASUREMENTS_MAX - len(times))
        times += (_Time(*row) for row in session.execute(query))
        if len(times) >= MEASUREMENTS_MAX:
            break
    return _CachedPredictor(jobs, tuple(counts), _predictor(session, gpu, times))


def _times(jobs: Sequence[str], name: str) -> Select[Any]:
    """Return the times of these jobs on the device of that name with kernels of the model, the newest first.

    A record names its device, because the id of a device may later belong to another card.
    """
    record = MeasurementRow.record
    return (
        select(MeasurementRow.matrix_id, MeasurementRow.kernel, MeasurementRow.cache, record["median_s"].as_float())
        .where(
            MeasurementRow.job_id.in_(jobs),
            MeasurementRow.state == "ok",
            MeasurementRow.kernel.in_(tuple(MODELS)),
            # Only cases without axes: the features do not describe the transposed matrix.
            MeasurementRow.case_key.endswith("|"),
            record["environment", "device"].as_string() == name,
        )
        .order_by(MeasurementRow.id.desc())
    )


def _predictor(session: Session, gpu: Gpu, times: Sequence[_Time]) -> Predictor:
    """Return the predictor from these times; the first time of each case counts."""
    ids = {time.matrix_id for time in times}
    rows = session.execute(select(MatrixRow.id, MatrixRow.features).where(MatrixRow.id.in_(ids)))
    features = {matrix_id: row_features for matrix_id, row_features in rows if can_advise(row_features)}
    newest = {time[:3]: time for time in reversed(times) if time.matrix_id in features}
    if not newest:
        return Predictor(gpu)
    measured = (
        Measurement.of(Case(*time[:3]), gpu.name, ProductDetails, backend="cuda", median_s=time.median_s)
        for time in newest.values()
    )
    return Predictor(gpu, calibrate(measured, features, gpu), len(ids & features.keys()))
