"""One piece: so many kills of one victim on one database, under one way to run the service, then the books."""

import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from sqlalchemy import ColumnElement, func, select

from server.db import AWAY, Database
from server.folders import sweep
from server.models import TERMINAL, EventRow, JobRow, MatrixRow, MatrixState
from server.settings import Settings
from tools.chaos.books import Report, check, file_faults
from tools.chaos.clients import Clients
from tools.chaos.ground import Ground
from tools.chaos.material import matrices
from tools.chaos.services import SERVICES, Service, StuckError, free_port, left, wait
from tools.chaos.victims import Victim

MOMENTS = ("", "queued", "running", "progress", "measurement", *TERMINAL[:1])
"""What a kill comes after: any moment, a state of a job, another event of one."""

SPREAD_S = 0.2
"""Longest time from such an event to the kill."""

JOBS = JobRow.state.not_in(TERMINAL)
MATRICES = MatrixRow.state == MatrixState.INGESTING
"""What is not done yet."""

LEFT_S = 90.0
"""Two idle agents of Ray try for a minute to tell its dead server, then end too."""


def run(ground: Ground, database: str, service: str, victim: Victim, kills: int, seed: int, home: Path) -> Report:
    """Kills the victim so many times; then the queue must drain, nothing may be left, and the books be right."""
    report, began = Report(database, service, victim.name, seed), time.monotonic()
    url = ground.empty(database, home) if service == "shipped" else ground.used(database, home)
    settings = Settings(home=home, database_url=url, port=free_port())
    with tempfile.TemporaryDirectory(prefix="s", ignore_cleanup_errors=True) as folder:
        books = Database(settings.resolved_database_url)
        started: Service = SERVICES[service](settings, Path(folder), ground.zygote)
        ids = [info.id for info, _ in matrices()]
        clients = Clients(f"http://127.0.0.1:{settings.port}", books, ids, seed)
        started.start()
        try:
            with clients:
                _kill(report, victim, started, settings, books, kills)
            wait(lambda: not _open(books, JOBS, MATRICES), "the queue to drain")
        except StuckError as stuck:
            report.note(iter([("stuck", str(stuck))]))
        finally:
            started.stop()
        try:
            wait(lambda: not left(settings), "the processes to end", LEFT_S)
        except StuckError as stuck:
            report.note(iter([("stuck", f"{stuck}: {left(settings)}")]))
        check(report, books, clients.jobs, clients.matrices)
        report.note(("wrong", said) for said in clients.wrong)
        # As the next worker does at its start: a dispatcher may outlive its worker by the time that this one begins.
        sweep(Path(folder))
        report.note(file_faults(settings, Path(folder), database == "sqlite"))
        books.close()
    report.seconds = round(time.monotonic() - began, 1)
    _clear(report, home)
    return report


def _kill(report: Report, victim: Victim, service: Service, settings: Settings, books: Database, kills: int) -> None:
    chance = random.Random(report.seed)
    mark = 0
    while report.kills < kills:
        moment = chance.choice(MOMENTS)
        mark = _await(books, moment, mark)
        threading.Event().wait(chance.uniform(0.0, SPREAD_S))
        if _open(books, JOBS):
            report.kills += victim.kill(service, settings, chance)


def _await(books: Database, moment: str, mark: int) -> int:
    """Waits until jobs have told of such an event after the one of this number; the number of the last one."""
    seen = mark

    def told() -> bool:
        nonlocal seen
        try:
            with books.read() as session:
                rows = session.execute(
                    select(EventRow.id, EventRow.kind, EventRow.data).where(EventRow.id > seen)
                ).all()
        except AWAY:
            return False
        seen = max((row.id for row in rows), default=seen)
        return not moment or any(moment in (row.kind, row.data.get("state")) for row in rows)

    wait(told, f"an event {moment!r}")
    return seen


def _open(books: Database, *unfinished: ColumnElement[bool]) -> int:
    try:
        with books.read() as session:
            return sum(session.scalar(select(func.count()).where(rows)) or 0 for rows in unfinished)
    except AWAY:
        return 1


def _clear(report: Report, home: Path) -> None:
    """The home goes, but the log of what went wrong."""
    if report.found:
        sys.stderr.write("\n".join(report.found) + "\n")
        log = (
            Path(tempfile.gettempdir()) / f"chaos-{report.database}-{report.service}-{report.victim}-{report.seed}.log"
        )
        shutil.copy(home / "log", log)
        sys.stderr.write(f"the log of the service: {log}\n")
    shutil.rmtree(home, ignore_errors=True)
