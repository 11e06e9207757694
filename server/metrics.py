"""Metrics: what one server has counted and what its database says, in the text format of Prometheus."""

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from sqlalchemy import ColumnElement, and_, case, func, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import InstrumentedAttribute, Session
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpu_engine import release
from gpu_engine.studies import STUDIES
from server import devices
from server.db import Database, clock
from server.ingest import Ingestor
from server.methods import METHODS
from server.models import TERMINAL, CaseDeathRow, JobRow, JobState, MatrixRow, MatrixState, MeasurementRow

# A second series for each of ours that says when it began.
disable_created_metrics()  # type: ignore[no-untyped-call]

API = "/api/v1"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S = (0.005, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0)
BEGUN = (JobState.RUNNING, *TERMINAL)


class CountedStreams(Protocol):
    """The open event streams, as far as they are counted."""

    @property
    def number(self) -> int:
        """How many are open."""
        ...

    @property
    def most(self) -> int:
        """How many may be open."""
        ...


class Metrics:
    """The counters of one server, and what it asks its database when somebody looks."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "sparsight_requests", "Answered requests.", ("method", "route", "status"), registry=self._registry
        )
        self._request_s = Histogram(
            "sparsight_request_seconds",
            "Time until an answer began.",
            ("route",),
            buckets=BUCKETS_S,
            registry=self._registry,
        )
        self._database_s = Histogram(
            "sparsight_database_seconds",
            "Time of a transaction of this server, with the wait for a lock.",
            ("kind",),
            buckets=BUCKETS_S,
            registry=self._registry,
        )

    def observe_transaction(self, kind: str, seconds: float) -> None:
        """Counts a transaction; kind  `read` or `write`."""
        self._database_s.labels(kind).observe(seconds)

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Counts an answer; route  the pattern of its path."""
        self._requests.labels(method, route, status).inc()
        self._request_s.labels(route).observe(seconds)

    def watch(self, database: Database, ingestor: Ingestor, streams: CountedStreams) -> None:
        """Asks these whenever somebody looks."""
        self._registry.register(_State(database, ingestor, streams))

    def render(self) -> bytes:
        """All of it."""
        return generate_latest(self._registry)


class Measured:
    """Middleware: counts every answer, and how long it took to begin."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Words that callers choose would each be a series of their own.
                method = scope["method"] if scope["method"] in METHODS else "other"
                self.metrics.observe_request(method, _route(scope), message["status"], time.perf_counter() - began)
            await send(message)

        await self.app(scope, receive, counting)


def _route(scope: Scope) -> str:
    """The pattern of the path of a request, `none` where no route answers it."""
    path = getattr(scope.get("route"), "path", "none")
    # The routers of the API know their own part of the path.
    return API + path if scope["path"].startswith(f"{API}/") and path.startswith("/") else path


class _State(Collector):
    """What is asked when somebody looks; `sparsight_database_up` is 0, and its rows are missing, where it is away."""

    def __init__(self, database: Database, ingestor: Ingestor, streams: CountedStreams) -> None:
        self._database = database
        self._ingestor = ingestor
        self._streams = streams

    def describe(self) -> Iterable[Metric]:
        """Nothing: the registry would look to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Everything, in gauges: it is counted anew each time, and what was deleted is gone from it."""
        yield _labelled("info", "The release of this server.", {(release(),): 1}, "version")
        yield _plain("event_streams", "Open event streams of this server.", self._streams.number)
        yield _plain("event_streams_max", "As many event streams as there can be.", self._streams.most)
        yield _plain("ingests", "Matrices that this server reads, or has waiting to be read.", self._ingestor.number)
        yield _labelled("disk_free_bytes", "Free space where a folder lies.", self._free(), "folder")
        try:
            with self._database.read() as session:
                found = [*_rows(session), _plain("database_bytes", "Size of the database.", self._database.bytes())]
        except (SQLAlchemyError, OSError):
            found = []
        yield _plain("database_up", "1 while the database answers.", int(bool(found)))
        yield from found

    def _free(self) -> dict[tuple[str, ...], float]:
        folders = {"home": self._ingestor.settings.home}
        if self._ingestor.store.is_local:
            folders["store"] = Path(self._ingestor.store.root)
        return {(name,): shutil.disk_usage(path).free for name, path in folders.items() if path.exists()}


def _rows(session: Session) -> Iterator[Metric]:
    matrices = dict.fromkeys(MatrixState, 0) | _counts(session, MatrixRow.state)
    yield _labelled("matrices", "Matrices by state.", {(state,): n for state, n in matrices.items()}, "state")
    measurements = session.scalar(select(func.count()).select_from(MeasurementRow)) or 0
    yield _plain("measurements", "Measurements that are stored.", measurements)
    yield from _jobs(session)
    yield from _devices(session)


def _jobs(session: Session) -> Iterator[Metric]:
    by_state = {(str(state), study.name): 0 for state in JobState for study in STUDIES}
    found = select(JobRow.state, JobRow.study, func.count()).group_by(JobRow.state, JobRow.study)
    for state, study, number in session.execute(found):
        by_state[state, study] = number
    yield _labelled("jobs", "Jobs by state and study.", by_state, "state", "study")
    deaths, losses = func.sum(CaseDeathRow.deaths), func.sum(CaseDeathRow.losses)
    of_cases = select(JobRow.study, deaths, losses).join(CaseDeathRow, CaseDeathRow.job_id == JobRow.id)
    rows = session.execute(of_cases.group_by(JobRow.study)).all()
    none = {(study.name,): 0.0 for study in STUDIES}
    yield _labelled("case_deaths", "Deaths of processes in cases.", none | {(row[0],): row[1] for row in rows}, "study")
    yield _labelled("case_losses", "Ends of dispatchers in cases.", none | {(row[0],): row[2] for row in rows}, "study")
    spent = func.sum(_positive(func.coalesce(JobRow.finished_at, clock()) - JobRow.started_at))
    begun = and_(JobRow.state.in_(BEGUN), JobRow.started_at.is_not(None))
    seconds = select(JobRow.device, JobRow.study, spent).where(begun).group_by(JobRow.device, JobRow.study)
    yield _labelled(
        "device_seconds",
        "Time that devices gave to the last attempts of the stored jobs.",
        {(device, study): float(total) for device, study, total in session.execute(seconds)},
        "device",
        "study",
    )


def _devices(session: Session) -> Iterator[Metric]:
    rows = devices.list_devices(session)
    ids = [row.id for row in rows]
    alive = devices.alive(session, rows)
    offered = {(device,): int(device in alive) for device in ids}
    yield _labelled("device_alive", "1 while a worker offers the device.", offered, "device")
    queued, running = JobRow.state == JobState.QUEUED, JobRow.state == JobState.RUNNING
    waits = _positive(clock() - func.min(case((queued, JobRow.created_at))))
    left = func.sum(JobRow.estimate_s * (1.0 - JobRow.progress / func.nullif(JobRow.cases_total, 0)))
    columns: dict[str, tuple[str, ColumnElement[float]]] = {
        "device_busy": ("Jobs that run on the device.", _number(running)),
        "queue_jobs": ("Jobs queued for the device.", _number(queued)),
        "queue_oldest_seconds": ("How long the oldest of them has waited.", waits),
        "queue_estimate_seconds": ("Estimated time of what is running and queued.", func.coalesce(left, 0.0)),
    }
    query = select(JobRow.device, *(column for _, column in columns.values())).where(queued | running)
    found = {row[0]: row[1:] for row in session.execute(query.group_by(JobRow.device))}
    for place, (name, (text, _)) in enumerate(columns.items()):
        values = {(device,): float(found[device][place]) if device in found else 0.0 for device in {*ids, *found}}
        yield _labelled(name, text, values, "device")


def _number(condition: ColumnElement[bool]) -> ColumnElement[float]:
    return func.sum(case((condition, 1), else_=0))


def _positive(seconds: ColumnElement[float]) -> ColumnElement[float]:
    """Return these seconds, 0.0 where there are none or the clock was put back meanwhile."""
    return case((seconds > 0.0, seconds), else_=0.0)


def _counts(session: Session, column: InstrumentedAttribute[str]) -> dict[str, int]:
    return {row[0]: row[1] for row in session.execute(select(column, func.count()).group_by(column))}


def _plain(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"sparsight_{name}", text, value=value)


def _labelled(name: str, text: str, values: Mapping[Any, float], *labels: str) -> Metric:
    family = GaugeMetricFamily(f"sparsight_{name}", text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family
