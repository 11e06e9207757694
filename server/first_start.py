"""First start: in an empty database two samples and a study of them, so that the first page has something to show."""

import logging
import threading
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from sqlalchemy import func, select

from gpu_engine.errors import SparsightError
from gpu_engine.generators import find_generator
from gpu_engine.parameters import parse_params
from server import catalogue, devices, intake
from server.db import Database
from server.ingest import Ingestor
from server.jobs import queue
from server.models import JobRow, MatrixRow, MatrixState
from server.settings import Settings

log = logging.getLogger(__name__)

SAMPLES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("sample: 5-point stencil", "stencil", {"points": 5, "nx": 200, "ny": 200}),
    ("sample: power-law rows", "powerlaw", {"n": 20_000, "mean": 10.0, "max_length": 300}),
)
"""(name, family, parameters): rows that are all alike, which ELL likes, and rows that are not."""

STUDY = "formats"
KERNELS = ("csr/scalar", "csr/vector", "split/tile", "coo/segmented", "ell/thread")
PARAMS: dict[str, Any] = {"rounds": 9, "kernels": list(KERNELS)}
"""Somebody waits for this page: the fewest rounds that carry a verdict, and kernels enough to show what they differ by,
each of which has to be compiled now.
"""

KEY = "first-start"
POLL_S = 0.3


def run(ingestor: Ingestor, settings: Settings, stopping: threading.Event) -> None:
    """Generates the samples and queues their study once a device is there; returns early when told to stop.

    Does nothing where somebody has been before; begun and broken off, it goes on.
    """
    database = ingestor.database
    if not is_first(database):
        return
    try:
        ids = [intake.add_generated(ingestor, generator, params, name).row.id for name, generator, params in SAMPLES]
        if _wait(stopping, lambda: _read(database, ids)) and _wait(stopping, lambda: _has_device(database)):
            queue.submit(database, settings, queue.JobRequest(STUDY, tuple(ids), PARAMS), KEY)
    except SparsightError as error:
        log.warning("The samples of the first start are not there: %s", error.message)


def is_first(database: Database) -> bool:
    """Whether the database holds nothing but samples that were never measured, and what recordings brought."""
    samples = [
        (generator, asdict(parse_params(find_generator(generator).Params, params))) for _, generator, params in SAMPLES
    ]
    with database.read() as session:
        jobs = session.scalar(select(func.count()).select_from(JobRow)) or 0
        own = select(MatrixRow.source).where(MatrixRow.state != MatrixState.RECORDED)
        sources = session.scalars(own.limit(len(SAMPLES) + 1)).all()
    return not jobs and all((source.get("generator"), source.get("params")) in samples for source in sources)


def _wait(stopping: threading.Event, reached: Callable[[], bool]) -> bool:
    """Waits until the state is reached; False when told to stop before that."""
    while not reached():
        if stopping.wait(POLL_S):
            return False
    return True


def _read(database: Database, ids: list[str]) -> bool:
    """Whether no matrix of these is on its way any more."""
    with database.read() as session:
        return all(catalogue.get_matrix(session, matrix_id).state != MatrixState.INGESTING for matrix_id in ids)


def _has_device(database: Database) -> bool:
    """Whether a worker offers a device."""
    with database.read() as session:
        return bool(devices.offered(session))
