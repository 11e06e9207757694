"""Metrics of a server and its database in the text format of Prometheus."""

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
from server.head_requests import METHODS
from server.ingest import Ingestor
from server.metric_values import MetricValues, values_of
from server.models import TERMINAL, CaseDeathRow, JobRow, JobState, MatrixRow, MatrixState, MeasurementRow
from server.quotas import DAY_S

# The client library would add a second series with creation times to each of ours.
disable_created_metrics()  # type: ignore[no-untyped-call]

API = "/api/v1"
TYPE = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS_S = (0.005, 0.025, 0.1, 0.25, 1.0, 5.0, 30.0)
BEGUN = (JobState.RUNNING, *TERMINAL)


class CountedStreams(Protocol):
    """Number of open event streams, and its limit."""

    @property
    def number(self) -> int:
        """Return the number of open streams."""
        ...

    @property
    def most(self) -> int:
        """Return the maximum number of open streams."""
        ...


class Metrics:
    """Counters of one server, and gauges read from its database at each scrape."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "sparsight_requests", "Answered HTTP requests.", ("method", "route", "status"), registry=self._registry
        )
        self._request_s = Histogram(
            "sparsight_request_seconds",
            "Seconds until the response started.",
            ("route",),
            buckets=BUCKETS_S,
            registry=self._registry,
        )
        self._database_s = Histogram(
            "sparsight_database_seconds",
            "Seconds of a transaction of this server, including the wait for a lock.",
            ("kind",),
            buckets=BUCKETS_S,
            registry=self._registry,
        )

    def observe_transaction(self, kind: str, seconds: float) -> None:
        """Count a transaction.

        kind  `read` or `write`
        """
        self._database_s.labels(kind).observe(seconds)

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a response.

        route  pattern of its path
        """
        self._requests.labels(method, route, status).inc()
        self._request_s.labels(route).observe(seconds)

    def watch(self, database: Database, ingestor: Ingestor, streams: CountedStreams) -> None:
        """Register what the gauges are read from at each scrape."""
        self._registry.register(_State(database, ingestor, streams))

    def render(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self._registry)

    def values(self) -> MetricValues:
        """Return the values of all metrics, for the page of the service."""
        return values_of(self._registry.collect())


class Measured:
    """Middleware that counts every response and the time until it begins."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app = app
        self.metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began = time.perf_counter()

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                # Methods chosen by callers would each create a series.
                method = scope["method"] if scope["method"] in METHODS else "other"
                self.metrics.observe_request(method, _route(scope), message["status"], time.perf_counter() - began)
            await send(message)

        await self.app(scope, receive, counting)


def _route(scope: Scope) -> str:
    """Return the path pattern of a request, or `none` if no route matches."""
    path = getattr(scope.get("route"), "path", "none")
    # Routers of the API only know their part of the path.
    return API + path if scope["path"].startswith(f"{API}/") and path.startswith("/") else path


class _State(Collector):
    """Collector that reads gauges at each scrape. If the database is unavailable, `sparsight_database_up` is 0 and its
    rows are missing.
    """

    def __init__(self, database: Database, ingestor: Ingestor, streams: CountedStreams) -> None:
        self._database = database
        self._ingestor = ingestor
        self._streams = streams

    def describe(self) -> Iterable[Metric]:
        """Return nothing, because the registry would otherwise collect to learn the names."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield all gauges, computed anew so that deleted rows disappear."""
        yield _labelled("info", "Release of this server.", {(release(),): 1}, "version")
        yield _plain("event_streams", "Open event streams of this server.", self._streams.number)
        yield _plain("event_streams_max", "Maximum number of event streams of this server.", self._streams.most)
        yield _plain(
            "ingests", "Matrices that this server is reading or has queued for reading.", self._ingestor.number
        )
        disks = self._disks()
        free = {name: free for name, (_, _, free) in disks.items()}
        size = {name: total for name, (total, _, _) in disks.items()}
        yield _labelled("disk_free_bytes", "Free bytes on the disk of a folder.", free, "folder")
        yield _labelled("disk_bytes", "Size in bytes of the disk of a folder.", size, "folder")
        try:
            with self._database.read() as session:
                gauges = [
                    *_rows(session),
                    _plain("database_bytes", "Size of the database in bytes.", self._database.bytes()),
                ]
        except (SQLAlchemyError, OSError):
            gauges = []
        yield _plain("database_up", "1 if the database is available, else 0.", int(bool(gauges)))
        yield from gauges

    def _disks(self) -> dict[tuple[str, ...], tuple[int, int, int]]:
        """Return the total, used, and free bytes of each folder's disk."""
        folders = {"home": self._ingestor.settings.home}
        if self._ingestor.store.is_local:
            folders["store"] = Path(self._ingestor.store.root)
        return {(name,): shutil.disk_usage(path) for name, path in folders.items() if path.exists()}


def _rows(session: Session) -> Iterator[Metric]:
    matrices = dict.fromkeys(MatrixState, 0) | _counts(session, MatrixRow.state)
    yield _labelled("matrices", "Matrices by state.", {(state,): n for state, n in matrices.items()}, "state")
    measurements = session.scalar(select(func.count()).select_from(MeasurementRow)) or 0
    yield _plain("measurements", "Stored measurements.", measurements)
    yield from _jobs(session)
    yield from _devices(session)


def _jobs(session: Session) -> Iterator[Metric]:
    by_state = {(str(state), study.name): 0 for state in JobState for study in STUDIES}
    query = select(JobRow.state, JobRow.study, func.count()).group_by(JobRow.state, JobRow.study)
    for state, study, number in session.execute(query):
        by_state[state, study] = number
    yield _labelled("jobs", "Jobs by state and study.", by_state, "state", "study")
    ended = dict.fromkeys(TERMINAL, 0) | _counts(session, JobRow.state, JobRow.finished_at > clock() - DAY_S)
    of_day = {(state,): number for state, number in ended.items()}
    yield _labelled("jobs_ended_day", "Jobs that ended within the last 24 hours.", of_day, "state")
    deaths, losses = func.sum(CaseDeathRow.deaths), func.sum(CaseDeathRow.losses)
    of_cases = select(JobRow.study, deaths, losses).join(CaseDeathRow, CaseDeathRow.job_id == JobRow.id)
    rows = session.execute(of_cases.group_by(JobRow.study)).all()
    none = {(study.name,): 0.0 for study in STUDIES}
    yield _labelled("case_deaths", "Process crashes per case.", none | {(row[0],): row[1] for row in rows}, "study")
    yield _labelled("case_losses", "Dispatcher crashes per case.", none | {(row[0],): row[2] for row in rows}, "study")
    spent = func.sum(_positive(func.coalesce(JobRow.finished_at, clock()) - JobRow.started_at))
    begun = and_(JobRow.state.in_(BEGUN), JobRow.started_at.is_not(None))
    seconds = select(JobRow.device, JobRow.study, spent).where(begun).group_by(JobRow.device, JobRow.study)
    yield _labelled(
        "device_seconds",
        "Device seconds of the last attempts of all stored jobs.",
        {(device, study): float(total) for device, study, total in session.execute(seconds)},
        "device",
        "study",
    )


def _devices(session: Session) -> Iterator[Metric]:
    rows = devices.list_devices(session)
    ids = [row.id for row in rows]
    alive = devices.alive(session, rows)
    offered = {(device,): int(device in alive) for device in ids}
    yield _labelled("device_alive", "1 if a worker offers the device, else 0.", offered, "device")
    queued, running = JobRow.state == JobState.QUEUED, JobRow.state == JobState.RUNNING
    waits = _positive(clock() - func.min(case((queued, JobRow.created_at))))
    left = func.sum(JobRow.estimate_s * (1.0 - JobRow.progress / func.nullif(JobRow.cases_total, 0)))
    columns: dict[str, tuple[str, ColumnElement[float]]] = {
        "device_busy": ("Jobs running on the device.", _number(running)),
        "queue_jobs": ("Jobs queued for the device.", _number(queued)),
        "queue_oldest_seconds": ("Seconds that the oldest queued job has waited.", waits),
        "queue_estimate_seconds": ("Estimated seconds of all running and queued jobs.", func.coalesce(left, 0.0)),
    }
    query = select(JobRow.device, *(column for _, column in columns.values())).where(queued | running)
    numbers = {row[0]: row[1:] for row in session.execute(query.group_by(JobRow.device))}
    for place, (name, (text, _)) in enumerate(columns.items()):
        values = {(device,): float(numbers[device][place]) if device in numbers else 0.0 for device in {*ids, *numbers}}
        yield _labelled(name, text, values, "device")


def _number(condition: ColumnElement[bool]) -> ColumnElement[float]:
    return func.sum(case((condition, 1), else_=0))


def _positive(seconds: ColumnElement[float]) -> ColumnElement[float]:
    """Return these seconds, or 0.0 if there are none or the clock was set back meanwhile."""
    return case((seconds > 0.0, seconds), else_=0.0)


def _counts(session: Session, column: InstrumentedAttribute[str], *conditions: ColumnElement[bool]) -> dict[str, int]:
    query = select(column, func.count()).where(*conditions).group_by(column)
    return {row[0]: row[1] for row in session.execute(query)}


def _plain(name: str, text: str, value: float) -> Metric:
    return GaugeMetricFamily(f"sparsight_{name}", text, value=value)


def _labelled(name: str, text: str, values: Mapping[Any, float], *labels: str) -> Metric:
    family = GaugeMetricFamily(f"sparsight_{name}", text, labels=labels)
    for key, value in sorted(values.items()):
        family.add_metric(key, value)
    return family
