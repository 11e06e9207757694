"""Kills the measuring process or the dispatcher at random, again and again, under a queue of small jobs.

`python -m tools.chaos --kills 200 --seed 1` does it on SQLite and on Postgres, each victim on each, and checks the
history afterwards: every job that was submitted succeeds, every case has one record, nothing is lost, doubled or stuck.
It prints the seed; exit status 1 where something is wrong.
"""

import argparse
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from sqlalchemy import func, select

from server import devices
from server.db import Database, clock
from server.jobs.queue import JobRequest, submit
from server.jobs.runner import DEATHS_MAX, LOSSES_MAX
from server.migrate import migrate
from server.models import TERMINAL, CaseDeathRow, EventRow, JobRow, MatrixRow, MeasurementRow, TraceRow
from server.settings import Settings
from tests.postgres import DATABASES, fresh, serve
from tests.server.jobs.fake_study import CPU, FAKE

ROOT = Path(__file__).parents[1]
VICTIMS = ("process", "dispatcher")
MATRIX = "a" * 32
CASES = 4
PAUSE_S = 0.05
WAITING = 3
"""Jobs that the queue holds at least until the last kill."""

PATIENCE_S = 120.0
STEP_S = 0.01


@dataclass
class Report:
    """What one run did and what it found wrong."""

    database: str
    victim: str
    seed: int
    kills: int = 0
    jobs: int = 0
    cases: int = 0
    failed_cases: int = 0
    attempts: int = 0
    events: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)


class Chaos:
    """A worker process over a queue of fake jobs, and what is done to it."""

    def __init__(self, settings: Settings, folder: Path) -> None:
        """folder  of Ray's files; its path is short."""
        self._settings = settings
        self._folder = folder
        self._jobs: list[str] = []
        migrate(settings.resolved_database_url)
        self.database = Database(settings.resolved_database_url)
        with self.database.write() as session:
            now = session.execute(select(clock())).scalar_one()
            session.add(MatrixRow(id=MATRIX, name="a", state="ready", sha256=MATRIX, created_at=now))
        devices.register(self.database, [CPU])

    @contextmanager
    def worker(self) -> Iterator[psutil.Process]:
        """The worker, running; it and everything under it has ended afterwards."""
        environment = {**os.environ, "SPARSIGHT_HOME": str(self._settings.home), "TMPDIR": str(self._folder)}
        environment["SPARSIGHT_DATABASE_URL"] = self._settings.database_url
        command = [sys.executable, "-m", "tests.server.jobs.fake_worker"]
        with (self._settings.home / "worker.log").open("ab") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log, stdout=log)
        try:
            yield psutil.Process(process.pid)
        finally:
            process.terminate()
            process.wait()

    def fill(self) -> None:
        """Submits jobs until enough of them wait."""
        with self.database.read() as session:
            open_jobs = session.scalar(select(func.count()).where(JobRow.state.not_in(TERMINAL))) or 0
        for _ in range(WAITING - open_jobs):
            folder = self._settings.home / f"job{len(self._jobs)}"
            folder.mkdir()
            params = {"folder": str(folder), "n_cases": CASES, "pause_s": PAUSE_S}
            job, _ = submit(self.database, self._settings, JobRequest("fake", (MATRIX,), params, "cpu"), studies=FAKE)
            self._jobs.append(job.id)

    def begun(self) -> list[int]:
        """Process ids, one for each case that was begun, job by job."""
        logs = [self._settings.home / f"job{number}" / "log" for number in range(len(self._jobs))]
        return [int(line.split()[0]) for log in logs if log.exists() for line in log.read_text().splitlines()]

    def drained(self) -> bool:
        """Whether every job has ended."""
        with self.database.read() as session:
            return not session.scalar(select(func.count()).where(JobRow.state.not_in(TERMINAL)))

    def check(self, report: Report) -> None:
        """Compares rows and events with what must be there."""
        with self.database.read() as session:
            report.events = session.scalar(select(func.count()).select_from(EventRow)) or 0
            rows = {job.id: job for job in session.scalars(select(JobRow))}
            if set(rows) != set(self._jobs):
                report.wrong.append(f"{len(self._jobs)} jobs were submitted, {len(rows)} are there")
            for job in rows.values():
                records = session.scalars(select(MeasurementRow).where(MeasurementRow.job_id == job.id)).all()
                traces = set(session.scalars(select(TraceRow.case_key).where(TraceRow.job_id == job.id)))
                deaths = session.scalars(select(CaseDeathRow).where(CaseDeathRow.job_id == job.id)).all()
                told = session.scalars(select(EventRow).where(EventRow.topic == f"job:{job.id}").order_by(EventRow.id))
                report.wrong += [f"job {job.id}: {fault}" for fault in faults(job, records, traces, deaths, list(told))]
                report.cases += len(records)
                report.failed_cases += sum(record.state == "failed" for record in records)
                report.attempts += job.attempt
        report.jobs = len(rows)


def faults(
    job: JobRow,
    records: Sequence[MeasurementRow],
    traces: set[str],
    deaths: Sequence[CaseDeathRow],
    told: Sequence[EventRow],
) -> Iterator[str]:
    """What is wrong with one job that has ended."""
    keys = Counter(record.case_key for record in records)
    measured = Counter(event.data["measurement"]["case"] for event in told if event.kind == "measurement")
    states = [event.data["state"] for event in told if event.kind == "state"]
    attempts = [event.data["attempt"] for event in told if event.kind == "state"]
    fatal = {row.case_key for row in deaths if row.deaths >= DEATHS_MAX or row.losses >= LOSSES_MAX}
    if job.state != "succeeded":
        yield f"is {job.state}: {job.error}"
    if len(keys) != CASES or set(keys.values()) != {1}:
        yield f"has the records {dict(keys)}"
    if measured != keys:
        yield f"told of the cases {dict(measured)}"
    if {record.case_key for record in records if record.state == "ok"} != traces:
        yield "has a record without its trace, or a trace without its record"
    if {record.case_key for record in records if record.state == "failed"} != fatal:
        yield f"has failed cases that are not those that killed too many processes or dispatchers, {fatal}"
    if (job.cases_done, job.progress) != (CASES, float(CASES)):
        yield f"counts {job.cases_done} cases, progress {job.progress}"
    if attempts != sorted(attempts) or [state for state in states if state in TERMINAL] != states[-1:]:
        yield f"went through {states} in the attempts {attempts}"


def run(name: str, url: str, victim: str, kills: int, seed: int, home: Path, seconds: float = math.inf) -> Report:
    """Kills the victim so many times, or for so many seconds; then the queue must drain and the history be right."""
    report, chance, begin = Report(name, victim, seed), random.Random(seed), time.monotonic()
    settings = Settings(home=home, database_url=url)
    with tempfile.TemporaryDirectory(prefix="s", ignore_cleanup_errors=True) as folder:
        chaos = Chaos(settings, Path(folder))
        chaos.fill()
        with chaos.worker() as worker:
            while report.kills < kills and time.monotonic() - begin < seconds:
                report.kills += kill(chaos, worker, victim, chance)
            wait(chaos.drained, "the queue to drain")
        chaos.check(report)
        chaos.database.close()
    report.seconds = round(time.monotonic() - begin, 1)
    return report


def kill(chaos: Chaos, worker: psutil.Process, victim: str, chance: random.Random) -> bool:
    """One kill at a random moment after a case was begun; whether the victim was still there."""
    chaos.fill()
    before = len(chaos.begun())

    def begun() -> bool:
        chaos.fill()
        return len(chaos.begun()) > before

    wait(begun, "a case to begin")
    threading.Event().wait(chance.uniform(0.0, 2 * PAUSE_S))
    with suppress(psutil.NoSuchProcess, IndexError):
        target = psutil.Process(chaos.begun()[-1]) if victim == "process" else worker.children()[0]
        # A process id may be another program's by now.
        if victim == "dispatcher" or worker in target.parents():
            target.send_signal(signal.SIGKILL)
            return True
    return False


def wait(condition: Callable[[], bool], what: str) -> None:
    """Returns once the condition holds; raises TimeoutError when it is stuck."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {PATIENCE_S:.0f} s for {what}")
        threading.Event().wait(STEP_S)


def main() -> int:
    """Every victim on every database, and one line of JSON for each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=math.inf, help="longest time to go on killing, for each run")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--victim", choices=VICTIMS, action="append")
    parser.add_argument("--database", choices=DATABASES, action="append")
    options = parser.parse_args()
    sys.stdout.write(f"seed {options.seed}\n")
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder, serve(Path(folder)) as server:
        for database in options.database or DATABASES:
            for victim in options.victim or VICTIMS:
                home = Path(folder) / f"{database}-{victim}"
                home.mkdir()
                url = fresh(server) if database == "postgres" else ""
                report = run(database, url, victim, options.kills, options.seed, home, options.seconds)
                sys.stdout.write(json.dumps(asdict(report)) + "\n")
                sys.stdout.flush()
                wrong += len(report.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
