"""Random kills under a queue, few of them: `make chaos` does the same with many. And the books find what is wrong."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from server.models import CaseDeathRow, EventRow, JobRow, MeasurementRow
from tools.chaos.consistency import job_faults
from tools.chaos.environment import Ground
from tools.chaos.scenario import run
from tools.chaos.services import Zygote
from tools.chaos.victims import VICTIMS, Victim

CASES = ("a", "b")
TWICE = "process died (signal 9) twice"


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    with Zygote() as started:
        yield started


@pytest.mark.full("server/jobs/*", "server/db.py", "tools/chaos/*", "tests/server/jobs/*")
@pytest.mark.parametrize("victim", VICTIMS, ids=lambda victim: victim.name)
def test_nothing_is_lost_doubled_or_stuck(
    request: pytest.FixtureRequest, tmp_path: Path, zygote: Zygote, victim: Victim
) -> None:
    database = victim.databases[0]
    server = request.getfixturevalue("postgres") if database == "postgres" else ""
    report = run(Ground(tmp_path, server, zygote), database, "warm", victim, 2, seed=1, home=tmp_path / "home")
    assert (report.messages, report.kills) == ([], 2)


def kinds(records: tuple[str, ...] = CASES, fatal: tuple[str, ...] = (), note: str = "", **job: Any) -> set[str]:
    """What the books find wrong with a job of two cases; those of `fatal` have failed, with this note."""
    fields = {"id": "j", "state": "succeeded", "cases_total": 2, "cases_done": len(set(records)), "progress": 2.0}
    row = JobRow(**{**fields, "error": {}, **job})
    rows = [MeasurementRow(case_key=c, state="failed" if c in fatal else "ok", record={"note": note}) for c in records]
    told = [EventRow(kind="measurement", data={"measurement": {"case": case}}) for case in records]
    told.append(EventRow(kind="state", data={"state": row.state, "attempt": 1}))
    deaths = [CaseDeathRow(case_key=case, deaths=2, losses=0) for case in fatal]
    return {kind for kind, _ in job_faults(row, rows, deaths, told)}


def test_the_books_of_a_job_that_ended_as_it_must_are_right() -> None:
    assert kinds() == set()
    assert kinds(fatal=("a",), note=TWICE) == set()
    assert kinds((), ("",), state="failed", error={"detail": "The process died twice outside any case."}) == set()


def test_the_books_tell_what_is_lost_doubled_stuck_or_without_a_reason() -> None:
    assert kinds(("a",)) == {"lost"}
    assert kinds(("a", "b", "b")) == {"doubled"}
    assert kinds(state="running") == {"stuck"}
    assert kinds(fatal=("a",)) == {"wrong"}
    assert kinds((), state="failed", error={"detail": "no reason"}) == {"wrong"}
