"""First start: generate two sample matrices in an empty database, and queue a study of them so that the home page has
results.
"""

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import func, select

from gpu_engine.errors import SparsightError
from gpu_engine.generators import find_generator
from gpu_engine.parameters import parse_params
from server import catalogue, devices, matrix_lifecycle
from server.db import Database
from server.ingest import Ingestor
from server.jobs import queue
from server.models import SAMPLES_KEY, JobRow, MatrixRow, MatrixState
from server.settings import Settings

log = logging.getLogger(__name__)

SAMPLES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("sample: 5-point stencil", "stencil", {"points": 5, "nx": 200, "ny": 200}),
    ("sample: power-law rows", "powerlaw", {"n": 20_000, "mean": 10.0, "max_length": 300}),
)
"""(name, generator, parameters) of one matrix with equal rows, which suit ELL, and one with unequal rows."""

STUDY = "formats"
KERNELS = ("csr/scalar", "csr/vector", "split/tile", "coo/segmented", "ell/thread")
PARAMS: dict[str, Any] = {"rounds": 9, "kernels": list(KERNELS)}
"""Parameters of the study. A user waits for this page, and every kernel has to be compiled first: few kernels, and the
fewest rounds that allow a verdict.
"""

NOTE = "Queued by this server at its first start, to measure its two sample matrices."
POLL_S = 0.3


def run(ingestor: Ingestor, settings: Settings, stopping: threading.Event) -> None:
    """Generate the samples, and queue their study when a device is available. Return early when the server stops.

    Do nothing if the database was used before. An interrupted first start continues.
    """
    database = ingestor.database
    if not is_first(database):
        return
    try:
        ids: list[str] = []
        for name, generator, params in SAMPLES:
            # One at a time, so that a file of a user does not wait for them.
            ids.append(matrix_lifecycle.add_generated(ingestor, generator, params, name).row.id)
            if not _wait(stopping, lambda: _read(database, ids)):
                return
        if _wait(stopping, lambda: _has_device(database)):
            queue.submit(database, settings, queue.JobRequest(STUDY, tuple(ids), PARAMS, note=NOTE), SAMPLES_KEY)
    except SparsightError as error:
        log.warning("cannot create the sample matrices: %s", error.message)


def is_sample(source: Mapping[str, Any]) -> bool:
    """Return whether the source of a matrix is that of a sample."""
    samples = [
        (generator, asdict(parse_params(find_generator(generator).Params, params))) for _, generator, params in SAMPLES
    ]
    return (source.get("generator"), source.get("params")) in samples


def is_first(database: Database) -> bool:
    """Return whether the database contains nothing except unmeasured samples and reference results."""
    with database.read() as session:
        jobs = session.scalar(select(func.count()).select_from(JobRow)) or 0
        sources_query = select(MatrixRow.source).where(MatrixRow.state != MatrixState.RECORDED)
        sources = session.scalars(sources_query.limit(len(SAMPLES) + 1)).all()
    return not jobs and all(map(is_sample, sources))


def _wait(stopping: threading.Event, reached: Callable[[], bool]) -> bool:
    """Wait until the state is reached. Return False if the server stops first."""
    while not reached():
        if stopping.wait(POLL_S):
            return False
    return True


def _read(database: Database, ids: list[str]) -> bool:
    """Return whether no matrix of these is still being read."""
    with database.read() as session:
        return all(catalogue.get_matrix(session, matrix_id).state != MatrixState.INGESTING for matrix_id in ids)


def _has_device(database: Database) -> bool:
    """Return whether a worker offers a device."""
    with database.read() as session:
        return bool(devices.offered(session))
