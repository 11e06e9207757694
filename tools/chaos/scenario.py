"""One scenario: kills of one victim on one database and one kind of service, then consistency checks."""

import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from sqlalchemy import ColumnElement, func, select

from server.db import AWAY, Database
from server.models import TERMINAL, EventRow, JobRow, MatrixRow, MatrixState
from server.private_folders import sweep
from server.settings import Settings
from tools.chaos.clients import Clients
from tools.chaos.consistency import Report, check, file_faults
from tools.chaos.environment import Ground
from tools.chaos.services import SERVICES, Service, StuckError, free_port, left, wait
from tools.chaos.victims import Victim
from tools.chaos.workloads import matrices

MOMENTS = ("", "queued", "running", "progress", "measurement", *TERMINAL[:1])
"""Triggers of a kill: any moment, a state of a job, or another job event."""

SPREAD_S = 0.2
"""Maximum delay from the trigger to the kill."""

JOBS = JobRow.state.not_in(TERMINAL)
MATRICES = MatrixRow.state == MatrixState.INGESTING
"""Conditions of jobs and matrices that are not finished."""

LEFT_S = 90.0
"""Two idle agents of Ray try to reach its dead server for a minute, then end too."""


def run(ground: Ground, database: str, service: str, victim: Victim, kills: int, seed: int, home: Path) -> Report:
    """Kill the victim `kills` times; then check that the queue drains, nothing is left, and all is consistent."""
    report, began = Report(database, service, victim.name, seed), time.monotonic()
    url = ground.empty(database, home) if service == "shipped" else ground.used(database, home)
    settings = Settings(home=home, database_url=url, port=free_port())
    with tempfile.TemporaryDirectory(prefix="s", ignore_cleanup_errors=True) as folder:
        queue_database = Database(settings.resolved_database_url)
        started: Service = SERVICES[service](settings, Path(folder), ground.zygote)
        ids = [info.id for info, _ in matrices()]
        clients = Clients(f"http://127.0.0.1:{settings.port}", queue_database, ids, seed)
        started.start()
        try:
            with clients:
                _kill(report, victim, started, settings, queue_database, kills)
            wait(lambda: not _open(queue_database, JOBS, MATRICES), "the queue to drain")
        except StuckError as stuck:
            report.note(iter([("stuck", str(stuck))]))
        finally:
            started.stop()
        try:
            wait(lambda: not left(settings), "the processes to end", LEFT_S)
        except StuckError as stuck:
            report.note(iter([("stuck", f"{stuck}: {left(settings)}")]))
        check(report, queue_database, clients.jobs, clients.matrices)
        report.note(("wrong", text) for text in clients.wrong)
        # As the next worker does when it starts, because a dispatcher may outlive its worker until then.
        sweep(Path(folder))
        report.note(file_faults(settings, Path(folder), database == "sqlite"))
        queue_database.close()
    report.seconds = round(time.monotonic() - began, 1)
    _clear(report, home)
    return report


def _kill(
    report: Report, victim: Victim, service: Service, settings: Settings, queue_database: Database, kills: int
) -> None:
    chance = random.Random(report.seed)
    mark = 0
    while report.kills < kills:
        moment = chance.choice(MOMENTS)
        mark = _await(queue_database, moment, mark)
        threading.Event().wait(chance.uniform(0.0, SPREAD_S))
        if _open(queue_database, JOBS):
            report.kills += victim.kill(service, settings, chance)


def _await(queue_database: Database, moment: str, mark: int) -> int:
    """Wait for a matching event after `mark`; return the id of the last event."""
    last = mark

    def has_event() -> bool:
        nonlocal last
        try:
            with queue_database.read() as session:
                rows = session.execute(
                    select(EventRow.id, EventRow.kind, EventRow.data).where(EventRow.id > last)
                ).all()
        except AWAY:
            return False
        last = max((row.id for row in rows), default=last)
        return not moment or any(moment in (row.kind, row.data.get("state")) for row in rows)

    wait(has_event, f"an event {moment!r}")
    return last


def _open(queue_database: Database, *unfinished: ColumnElement[bool]) -> int:
    try:
        with queue_database.read() as session:
            return sum(session.scalar(select(func.count()).where(rows)) or 0 for rows in unfinished)
    except AWAY:
        return 1


def _clear(report: Report, home: Path) -> None:
    """Remove the data directory; keep the log if anything went wrong."""
    if report.messages:
        sys.stderr.write("\n".join(report.messages) + "\n")
        log = (
            Path(tempfile.gettempdir()) / f"chaos-{report.database}-{report.service}-{report.victim}-{report.seed}.log"
        )
        shutil.copy(home / "log", log)
        sys.stderr.write(f"the log of the service: {log}\n")
    shutil.rmtree(home, ignore_errors=True)
