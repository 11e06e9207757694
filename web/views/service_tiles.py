"""Tiles of the page of the service, and response times of its routes: numbers of `/metrics`, with small bar charts."""

import math

from gpu_engine.text import units
from gpu_engine.text.units import THIN
from gpu_engine.text.words import amount
from server.jobs.activity import Activity
from server.metric_values import Histogram, MetricValues, combined, histograms
from server.quotas import DAY_S
from server.service_check import DISK_FREE_BYTES, STREAMS_SHARE
from web.plots.bars import bars_of
from web.service_contexts import RouteTimes, Tile

TILE_BARS = (144, 28)
ROUTE_BARS = (108, 18)
"""Widths and heights in pixels."""

ROUTES_SHOWN = 6
SLOW_S = 5.0
"""Bound of slow responses, as in the alerts."""


def tiles(values: MetricValues, day: Activity) -> tuple[Tile, ...]:
    """Return the tiles in the order of the page."""
    return (*_of_jobs(values, day), _pages(values), _streams(values), *_disks(values))


def _of_jobs(values: MetricValues, day: Activity) -> tuple[Tile, ...]:
    waiting, running = values.total("sparsight_queue_jobs"), values.total("sparsight_device_busy")
    failed = values.total("sparsight_jobs_ended_day", state="failed")
    cancelled = values.total("sparsight_jobs_ended_day", state="cancelled")
    oldest_s = max(values.by("sparsight_queue_oldest_seconds", "device").values(), default=0.0)
    wait = f"median wait {units.duration(day.median_wait_s)}" if day.median_wait_s is not None else "no job waited"
    done = values.total("sparsight_jobs_ended_day", state="succeeded")
    return (
        Tile(
            "queue",
            "Queue",
            "sparsight_queue_jobs",
            waiting,
            f"{units.count(waiting)} waiting",
            f"oldest for {units.duration(oldest_s)}" if waiting else wait,
            bars_of(day.waiting, *TILE_BARS, highest=1.0),
        ),
        Tile(
            "running",
            "Running",
            "sparsight_device_busy",
            running,
            amount(running, "job"),
            f"busy {units.percent(_mean_busy(day))} of {period_text(day)}",
            bars_of(day.running, *TILE_BARS, highest=1.0),
        ),
        Tile(
            "failed",
            f"Jobs of 24{THIN}h",
            "sparsight_jobs_ended_day",
            failed,
            f"{units.count(failed)} failed",
            f"{units.count(done)} done, {units.count(cancelled)} cancelled",
            bars_of(day.failed, *TILE_BARS, highest=1.0),
            is_bad=failed > 0,
        ),
    )


def period_text(day: Activity) -> str:
    """Return the time of which the share of busy time is."""
    return f"24{THIN}h" if day.period_s == DAY_S else units.duration(day.period_s)


def _mean_busy(day: Activity) -> float:
    """Return the mean share of busy time of the devices that ran jobs."""
    return sum(map(day.busy, day.busy_s)) / max(1, len(day.busy_s))


def _pages(values: MetricValues) -> Tile:
    """Return the tile of response times, without files of the pages."""
    times = combined(_routes(values).values())
    most_s = times.quantile_s(0.95)
    errors = sum(n for status, n in values.by("sparsight_requests_total", "status").items() if status.startswith("5"))
    return Tile(
        "requests",
        f"95{THIN}% of requests",
        "sparsight_request_seconds",
        most_s or 0.0,
        bound_text(most_s, times),
        f"{amount(errors, 'error')} of {units.count(times.total)}",
        bars_of(times.numbers, *TILE_BARS),
        is_bad=(most_s or 0.0) > SLOW_S,
    )


def _streams(values: MetricValues) -> Tile:
    number, most = values.total("sparsight_event_streams"), values.total("sparsight_event_streams_max")
    share = number / most if most else 0.0
    return Tile(
        "streams",
        "Live pages",
        "sparsight_event_streams",
        number,
        f"{units.count(number)} open",
        f"at most {units.count(most)}",
        meter=min(1.0, share),
        is_bad=share > STREAMS_SHARE,
    )


def _disks(values: MetricValues) -> tuple[Tile, ...]:
    """Return a tile for each disk; folders on disks of one size are taken for folders of one disk."""
    total = values.by("sparsight_disk_bytes", "folder")
    free = values.by("sparsight_disk_free_bytes", "folder")
    if total.get("store") == total.get("home"):
        free.pop("store", None)
    labels = {"home": "Disk", "store": "Disk of matrices"}
    return tuple(
        Tile(
            f"disk-{folder}",
            labels[folder],
            "sparsight_disk_free_bytes",
            bytes_free,
            f"{units.size(bytes_free)} free",
            _disk_note(values, folder, bytes_free, total.get(folder, 0.0)),
            meter=1.0 - bytes_free / total[folder] if total.get(folder) else None,
            is_bad=bytes_free < DISK_FREE_BYTES,
        )
        for folder, bytes_free in free.items()
    )


def _disk_note(values: MetricValues, folder: str, bytes_free: float, total: float) -> str:
    """Return `52 % of 1 TB used · database 3 MB`, the share that the bar of the tile shows."""
    share = f"{units.percent(1.0 - bytes_free / total)} of {units.size(total)} used" if total else ""
    database = f"database {units.size(values.total('sparsight_database_bytes'))}" if folder == "home" else ""
    return " · ".join(filter(None, (share, database)))


def routes(values: MetricValues) -> tuple[RouteTimes, ...]:
    """Return the slowest routes, without files of the pages."""
    slowest = sorted(_routes(values).items(), key=lambda item: (-(item[1].quantile_s(0.95) or 0.0), -item[1].total))
    return tuple(
        RouteTimes(
            "unknown addresses" if route == "none" else route,
            units.count(times.total),
            bound_text(times.quantile_s(0.5), times),
            bound_text(times.quantile_s(0.95), times),
            bars_of(times.numbers, *ROUTE_BARS),
        )
        for route, times in slowest[:ROUTES_SHOWN]
    )


def bound_text(bound_s: float | None, times: Histogram) -> str:
    """Return the upper bound of a bucket: `≤ 100 ms`, `> 30 s`."""
    if bound_s is None:
        return units.MISSING
    if math.isinf(bound_s):
        return f">{THIN}{_bound(times.bounds_s[-2])}"
    return f"≤{THIN}{_bound(bound_s)}"


def _routes(values: MetricValues) -> dict[str, Histogram]:
    known = histograms(values, "sparsight_request_seconds", "route")
    return {route: times for route, times in known.items() if not route.startswith("/static")}


def _bound(bound_s: float) -> str:
    return f"{bound_s:g}{THIN}s" if bound_s >= 1 else f"{1000 * bound_s:g}{THIN}ms"
