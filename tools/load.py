"""A service under load: `make load [CLIENTS=50] [MINUTES=2]` prints the time of each kind of request, and the memory.

The clients read pages and lists, submit jobs, and upload small matrices. Besides, a thousand jobs are queued, two
hundred event streams are open, fifty of them with a reader that never reads, and a gigabyte is uploaded. The clients
pause between requests, then stop pausing for some seconds, which shows the maximum request rate. Exit status 1 if an
answer is an undocumented error, if memory is not flat, or if a stream that nobody reads stays open.
"""

import argparse
import asyncio
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Awaitable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import httpx
import psutil
from tabulate import tabulate

from server.routes.events import STREAMS_MAX
from tools.load_guests import PATIENCE_S, Followers, market, upload_large
from tools.load_watch import SHOWN_EVERY_S, Watch, shares
from tools.service import Service

QUEUED, SILENT, BEYOND = 1000, 50, 3
PAUSE_S = 1.0
"""Mean pause of a client between two requests, varied from half to one and a half."""

SATURATED_S = 15.0
"""Seconds without pauses at the end."""

PAGES = ("/", "/jobs", "/matrices", "/formats", "/pagerank", "/devices", "/measure", "/docs/api", "/jobs/{job}")
LISTS = ("jobs", "jobs?state=queued", "matrices?recorded=true", "devices", "studies", "formats", "jobs/{job}")
MIX = {"page": 60, "list": 30, "submit": 8, "upload": 2}
"""Kinds of 100 requests of a client; the next request cancels a job or deletes a matrix."""

SLOW = {"page": 0.1, "list": 0.25, "submit": 0.25}
"""Kind → limit of its p50 in seconds; the time of an upload depends on its size."""

LARGE_BYTES, LARGE_EVERY_S, SMALL_ROWS = 10**9, 600.0, 30
FLAT_BYTES = 16 * 2**20
"""Maximum change of the memory of the server between the middle and the end, in bytes."""

ERRORS = (httpx.HTTPError, OSError)
FAULTS_SHOWN = 20


@dataclass
class Calls:
    """Requests of a kind: path → seconds; refused: answers 503; wrong: answers that are not allowed."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    refused: int = 0
    wrong: list[str] = field(default_factory=list)


@dataclass
class CallLog:
    """All requests of a run."""

    kinds: dict[str, Calls] = field(default_factory=dict)

    async def note(self, kind: str, path: str, call: Awaitable[httpx.Response]) -> httpx.Response | None:
        """Return the answer to a timed request; None if it failed."""
        calls, began = self.kinds.setdefault(kind, Calls()), time.perf_counter()
        try:
            answer = await call
        except ERRORS as error:
            calls.wrong.append(f"{path}: {error!r}")
            return None
        calls.seconds.setdefault(path, []).append(time.perf_counter() - began)
        if answer.status_code == 503:
            calls.refused += 1
        elif not answer.is_success:
            calls.wrong.append(f"{path}: {answer.status_code} {answer.text[:200]}")
        return answer if answer.is_success else None

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield a row of the table for each kind."""
        for kind, calls in sorted(self.kinds.items()):
            every = sorted(s for times in calls.seconds.values() for s in times)
            if not every:
                yield kind, 0, "", "", "", "", calls.refused, len(calls.wrong)
                continue
            slowest = max(calls.seconds, key=lambda path: median(calls.seconds[path]))
            named = f"{slowest} {1000 * median(calls.seconds[slowest]):.0f}" if len(calls.seconds) > 1 else ""
            p50, p99 = (every[int(share * len(every))] for share in (0.5, 0.99))
            target = f"{1000 * SLOW[kind]:.0f}" if kind in SLOW else ""
            yield (
                kind,
                len(every),
                f"{1000 * p50:.0f}",
                target,
                f"{1000 * p99:.0f}",
                named,
                calls.refused,
                len(calls.wrong),
            )


class Client:
    """A user of the service: a request, a pause, the next request."""

    def __init__(
        self, http: httpx.AsyncClient, book: CallLog, job: dict[str, Any], number: int, pause_s: float
    ) -> None:
        self.http, self.book, self.job, self.pause_s = http, book, job, pause_s
        self.chance = random.Random(f"{number} {pause_s}")
        self.comments = (f"{number} {pause_s} {nth}" for nth in count())

    async def use(self, end: float) -> None:
        """Send requests until the end."""
        while time.monotonic() < end:
            await asyncio.sleep(self.pause_s * self.chance.uniform(0.5, 1.5))
            (kind,) = self.chance.choices(list(MIX), list(MIX.values()))
            await getattr(self, kind)()

    async def page(self) -> None:
        """Request a page, as a browser does."""
        path = self.chance.choice(PAGES)
        address = path.format(job=self.job["id"])
        await self.book.note("page", path, self.http.get(address, headers={"Accept": "text/html"}))

    async def list(self) -> None:
        """Request a list, or an entry of one."""
        path = self.chance.choice(LISTS)
        await self.book.note("list", path, self.http.get(f"/api/v1/{path.format(job=self.job['id'])}"))

    async def submit(self) -> None:
        """Submit a job, and cancel it."""
        body = {"study": self.job["study"], "matrix_ids": self.job["matrix_ids"], "device": "cpu"}
        made = await self.book.note("submit", "jobs", self.http.post("/api/v1/jobs", json=body))
        if made is not None:
            address = f"/api/v1/jobs/{made.json()['id']}/cancel"
            await self.book.note("cancel", "cancel", self.http.post(address))

    async def upload(self) -> None:
        """Upload a small matrix, and delete it."""
        text = "".join(market(SMALL_ROWS, next(self.comments)))
        made = await self.book.note("upload", "small", self.http.post("/api/v1/matrices", files={"file": text}))
        if made is not None and made.json()["state"] == "ready":
            await self.book.note("delete", "delete", self.http.delete(f"/api/v1/matrices/{made.json()['id']}"))


async def _uploads(address: str, size: int, end: float) -> list[tuple[int, float]]:
    """Upload large files at intervals, each from another process so that it does not delay the clients."""
    loop, done = asyncio.get_running_loop(), []
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        while time.monotonic() < end:
            began = time.monotonic()
            done.append(await loop.run_in_executor(pool, upload_large, address, size, f"{began}"))
            await asyncio.sleep(max(0.0, min(began + LARGE_EVERY_S, end) - time.monotonic()))
    return done


async def _prepare(http: httpx.AsyncClient, queued: int) -> dict[str, Any]:
    """Queue `queued` jobs of a small matrix; return the last of them."""
    end = time.monotonic() + PATIENCE_S
    while (await http.get("/readyz")).status_code != 200:
        if time.monotonic() > end:
            raise SystemExit("No device is available: the worker did not start. See the log of the service.")
        await asyncio.sleep(0.5)
    call = {"generator": "stencil", "points": 5, "nx": 100, "ny": 100}
    matrix = (await http.post("/api/v1/matrices/generate", json=call)).raise_for_status().json()
    while (await http.get(matrix["links"]["self"])).json()["state"] != "ready":
        await asyncio.sleep(0.2)
    body = {"study": "formats", "matrix_ids": [matrix["id"]], "device": "cpu"}
    for _ in range(queued):
        job: dict[str, Any] = (await http.post("/api/v1/jobs", json=body)).raise_for_status().json()
    return job


async def _refused_streams(http: httpx.AsyncClient) -> int:
    """Return how many streams over the limit are refused as documented, once all others are open."""
    while await _streams(http) < STREAMS_MAX:
        await asyncio.sleep(0.1)
    refused = 0
    for _ in range(BEYOND):
        async with http.stream("GET", "/api/v1/events?topics=jobs") as answer:
            refused += answer.status_code == 503 and "Retry-After" in answer.headers
    return refused


async def _silence(http: httpx.AsyncClient, followers: Followers) -> None:
    """Replace some readers by guests who never read."""
    followers.leave(SILENT)
    while await _streams(http) > STREAMS_MAX - SILENT:
        await asyncio.sleep(0.1)
    followers.fall_silent(SILENT)


async def _caught_up(http: httpx.AsyncClient, followers: Followers) -> None:
    """Wait until the streams have received all earlier events."""
    newest = re.search(r'data-event="(\d+)"', (await http.get("/jobs", headers={"Accept": "text/html"})).text)
    while newest and not followers.have_heard(int(newest[1])):
        await asyncio.sleep(0.1)


async def _health(http: httpx.AsyncClient, book: CallLog, end: float) -> None:
    """Request the health check repeatedly."""
    while time.monotonic() < end:
        await book.note("health", "/healthz", http.get("/healthz"))
        await asyncio.sleep(0.1)


async def _streams(http: httpx.AsyncClient) -> int:
    """Return the number of open event streams, as the server counts them."""
    lines = (await http.get("/metrics")).text.splitlines()
    return next(int(float(line.split()[1])) for line in lines if line.startswith("sparsight_event_streams "))


async def _use(http: httpx.AsyncClient, job: dict[str, Any], clients: int, pause_s: float, seconds: float) -> CallLog:
    """Return the requests of `clients` clients over `seconds` seconds."""
    book, end = CallLog(), time.monotonic() + seconds
    everybody = [Client(http, book, job, number, pause_s).use(end) for number in range(clients)]
    await asyncio.gather(_health(http, book, end), *everybody)
    return book


def _calls(title: str, book: CallLog, cores: str, seconds: float) -> str:
    """Return the table of requests, and the cores used."""
    heads = ("requests", "number", "p50, ms", "limit, ms", "p99, ms", "slowest by p50", "503", "wrong")
    number = sum(len(times) for calls in book.kinds.values() for times in calls.seconds.values())
    table = tabulate(book.rows(), heads, tablefmt="github", disable_numparse=True)
    load = f"load average {os.getloadavg()[0]:.1f}"
    return f"{title}:\n\n{table}\n\n{number / seconds:.1f} requests per second; cores used: {cores}; {load}"


async def run(address: str, process: int, clients: int, minutes: float, pause_s: float) -> list[str]:
    """Load the server and print the results; return the faults."""
    limits, seconds = httpx.Limits(max_connections=None, max_keepalive_connections=None), 60.0 * minutes
    async with httpx.AsyncClient(base_url=address, timeout=PATIENCE_S, limits=limits) as http:
        job = await _prepare(http, QUEUED)
        watch, followers = Watch(psutil.Process(process)), Followers(address, STREAMS_MAX)
        refused = await _refused_streams(http)
        await _silence(http, followers)
        await _caught_up(http, followers)
        end = time.monotonic() + seconds
        looks = [watch.spent()]
        watching = asyncio.create_task(watch.watch(end))
        uploads = asyncio.create_task(_uploads(address, LARGE_BYTES, end))
        book = await _use(http, job, clients, pause_s, seconds)
        await watching
        large = await uploads
        looks.append(watch.spent())
        following, broken = await _streams(http), followers.broken
        hurried = await _use(http, job, clients, 0.0, SATURATED_S)
        looks.append(watch.spent())
        followers.close()
    going_on = following - (STREAMS_MAX - SILENT - broken)
    lines = (
        _calls(f"{clients} clients with pauses of {pause_s:g} s", book, shares(*looks[:2]), seconds),
        _calls("Clients without pauses", hurried, shares(*looks[1:]), SATURATED_S),
        f"uploads of a gigabyte: {', '.join(f'{status} after {took:.0f} s' for status, took in large)}",
        f"memory of the server, MiB, every {SHOWN_EVERY_S} s: {watch.words}",
        f"open files of the server: {watch.files[0]} at start, {watch.files[-1]} at end, maximum {max(watch.files)}",
        f"event streams: {STREAMS_MAX}, {followers.bytes / 2**20:.0f} MiB read; {refused} of {BEYOND} more refused; "
        f"the server closed {SILENT - going_on} of {SILENT} unread streams, and {broken} of the others",
    )
    sys.stdout.write("\n\n".join(lines) + "\n")
    kinds = (*book.kinds.values(), *hurried.kinds.values())
    wrong = [fault for calls in kinds for fault in calls.wrong]
    wrong += [f"upload of a gigabyte: {status}" for status, _ in large if status not in (200, 201, 202)]
    if abs(watch.grown) > FLAT_BYTES:
        wrong.append("memory is not flat")
    if broken or going_on or refused < BEYOND:
        wrong.append("read streams were closed, unread ones stayed open, or too many were opened")
    return wrong


def main() -> int:
    """Serve a temporary data directory, and load it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument(
        "--pause", type=float, default=PAUSE_S, help="mean pause of a client between requests, in seconds"
    )
    options = parser.parse_args()
    folder = tempfile.TemporaryDirectory(prefix="sparsight-load-", ignore_cleanup_errors=True)
    with folder as place, Service(Path(place), queue_limit=str(10 * QUEUED)) as service:
        load = options.clients, options.minutes, options.pause
        wrong = asyncio.run(run(service.url, service.process.pid, *load))
    for fault in wrong[:FAULTS_SHOWN]:
        sys.stdout.write(f"wrong: {fault}\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
