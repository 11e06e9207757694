"""Predictors: the advisor for a device of this service, calibrated by what its own jobs measured there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from sqlalchemy import Engine, func, select
from sqlalchemy.orm import Session

from gpu_engine.advisor import Advice, advise, contenders, rank
from gpu_engine.advisor.evaluation import calibrate
from gpu_engine.advisor.gpus import FITTED, Gpu, gpu_named
from gpu_engine.advisor.work import Features
from gpu_engine.products import ProductDetails
from gpu_engine.records import Cache, Case, Measurement
from server import devices
from server.models import JobRow, JobState, MatrixRow, MeasurementRow

STUDY = "formats"

MEASUREMENTS_MAX = 5000
"""So many of the newest times count: those of some fifty matrices."""


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

    def seconds(self, features: Features, cache: Cache) -> dict[str, float]:
        """Kernel → predicted seconds of a product, the shortest first."""
        ranked = rank(features, self.gpu, cache, self.calibration)
        return {kernel: prediction.seconds for kernel, prediction in ranked}

    def contenders(self, features: Features) -> tuple[str, ...]:
        """The kernels predicted close to the first."""
        return contenders(features, self.gpu, "warm", self.calibration)


UNCALIBRATED = Predictor()
"""Of no device that is here: predictions are for the model that the costs were fitted to."""


def of_service(session: Session) -> Predictor:
    """That of the first device here whose model the advisor knows."""
    known = (row for row in devices.list_devices(session) if gpu_named(str(row.info["name"])) is not None)
    return next((of_device(session, row.id, str(row.info["name"])) for row in known), UNCALIBRATED)


def of_device(session: Session, device_id: str, name: str) -> Predictor:
    """That of a device with that name; UNCALIBRATED where the advisor does not know its model."""
    gpu = gpu_named(name)
    if gpu is None:
        return UNCALIBRATED
    jobs = select(func.count(), func.max(JobRow.finished_at)).where(*_ended(device_id))
    state = tuple(session.execute(jobs).one())
    return _calibrated(session.get_bind(), device_id, gpu, state) if state[0] else Predictor(gpu)


@lru_cache(maxsize=8)
def _calibrated(bind: Any, device_id: str, gpu: Gpu, _: tuple[Any, ...]) -> Predictor:
    """Made once for each device and state of its jobs."""
    engine: Engine = bind.engine
    with Session(engine) as session:
        measured = _measured(session, device_id)
        ids = {m.matrix_id for m in measured}
        rows = session.execute(select(MatrixRow.id, MatrixRow.features).where(MatrixRow.id.in_(ids)))
        features = {matrix_id: dict(known or {}) for matrix_id, known in rows}
    known = {m.matrix_id for m in measured if m.matrix_id in features}
    return Predictor(gpu, calibrate(measured, features, gpu), len(known))


def _measured(session: Session, device_id: str) -> Sequence[Measurement]:
    """The newest times of products by A on a device, of jobs that ran through."""
    query = (
        select(MeasurementRow.case_key, MeasurementRow.record["median_s"].as_float())
        .join(JobRow, JobRow.id == MeasurementRow.job_id)
        .where(*_ended(device_id), MeasurementRow.state == "ok")
        .order_by(MeasurementRow.id.desc())
        .limit(MEASUREMENTS_MAX)
    )
    found = [(Case.parse(key), median_s) for key, median_s in session.execute(query)]
    # In another order, or of the transpose, a matrix is another one than its features say.
    return [
        Measurement.of(case, device_id, ProductDetails, "ok", median_s=median_s)
        for case, median_s in reversed(found)
        if not case.axes
    ]


def _ended(device_id: str) -> tuple[Any, ...]:
    return JobRow.study == STUDY, JobRow.device == device_id, JobRow.state == JobState.SUCCEEDED
