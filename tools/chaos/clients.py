"""Clients that keep the queue filled: they submit over HTTP, retry until answered, and record each answer."""

import random
import threading
import time
from collections.abc import Callable

import httpx
from sqlalchemy import func, select

from server.db import AWAY, Database
from server.models import TERMINAL, JobRow
from tools.chaos.services import PATIENCE_S
from tools.chaos.workloads import CALLS

CLIENTS = 2
WAITING = 3
"""Minimum number of jobs in the queue."""

UPLOADS = 0.1
"""Share of requests that upload a matrix."""

AGAIN = 0.2
"""Share of jobs that are submitted again with the same key after the answer."""

PAUSE_S = 0.05
TIMEOUT_S = 30.0


class Clients:
    """Threads that submit until the block ends; `jobs`, `matrices`, and `wrong` then hold the answers."""

    def __init__(self, url: str, database: Database, matrix_ids: list[str], seed: int) -> None:
        self.jobs: dict[str, str] = {}
        """Idempotency key → id of the acknowledged job."""
        self.matrices: dict[str, int] = {}
        """Id of an acknowledged matrix → status of the answer."""
        self.wrong: list[str] = []
        self._url = url
        self._database = database
        self._ready = list(matrix_ids)
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(n, seed), daemon=True) for n in range(CLIENTS)]

    def __enter__(self) -> None:
        """Start submitting."""
        for thread in self._threads:
            thread.start()

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        """Wait until every request has its answer, except after Ctrl-C."""
        self._stopping.set()
        for thread in self._threads if error is not KeyboardInterrupt else ():
            thread.join()

    def _run(self, number: int, seed: int) -> None:
        chance = random.Random(f"{seed}-{number}")
        sent = 0
        with httpx.Client(base_url=f"{self._url}/api/v1", timeout=TIMEOUT_S) as client:
            while not self._stopping.wait(PAUSE_S):
                if self._open_jobs() >= WAITING:
                    continue
                sent += 1
                if chance.random() < UPLOADS:
                    self._upload(client, f"{seed}-{number}-{sent}", chance)
                else:
                    self._submit(client, f"{seed}-{number}-{sent}", chance)

    def _open_jobs(self) -> int:
        try:
            with self._database.read() as session:
                return session.scalar(select(func.count()).where(JobRow.state.not_in(TERMINAL))) or 0
        except AWAY:
            return WAITING

    def _submit(self, client: httpx.Client, key: str, chance: random.Random) -> None:
        ids = chance.sample(self._ready, chance.randint(1, 2))
        body = {**chance.choice(CALLS), "matrix_ids": ids, "device": "cpu"}
        times = 2 if chance.random() < AGAIN else 1
        for _ in range(times):
            answer = self._answered(lambda: client.post("/jobs", json=body, headers={"Idempotency-Key": key}), (202,))
            if answer is None:
                return
            job_id = answer.json()["id"]
            if self.jobs.setdefault(key, job_id) != job_id:
                self.wrong.append(f"the key {key} made the jobs {self.jobs[key]} and {job_id}")

    def _upload(self, client: httpx.Client, name: str, chance: random.Random) -> None:
        entries = "".join(f"{i} {i} {chance.random()}\n" for i in range(1, 33))
        file = f"%%MatrixMarket matrix coordinate real general\n32 32 32\n{entries}"
        files = {"file": (f"{name}.mtx", file.encode())}
        answer = self._answered(lambda: client.post("/matrices", files=files), (200, 201, 202))
        if answer is None:
            return
        matrix = answer.json()
        self.matrices[matrix["id"]] = answer.status_code
        if matrix["state"] == "ready":
            self._ready.append(matrix["id"])

    def _answered(self, call: Callable[[], httpx.Response], expected: tuple[int, ...]) -> httpx.Response | None:
        """Return the answer, after retries; None if the status is not allowed."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            try:
                answer = call()
            except httpx.TransportError:
                threading.Event().wait(PAUSE_S)
                continue
            if answer.status_code in expected:
                return answer
            if answer.status_code != 503 or "retry-after" not in answer.headers:
                self.wrong.append(
                    f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}"
                )
                return None
            threading.Event().wait(PAUSE_S)
        self.wrong.append(f"no answer for {PATIENCE_S:.0f} s")
        return None
