"""What a death counts against: the case that the process was in, none between two cases of one that gets on."""

from collections.abc import Sequence
from threading import Event

import pytest

from gpu_engine.records import Case, Details, Measurement, Progress, Record, Started
from server.jobs import lease as leases
from server.jobs.journal import Journal
from server.jobs.lease import Lease
from tests.server.jobs.conftest import Jobs

A = "a" * 32
FIRST, SECOND = f"{A}|fake/k0|warm|", f"{A}|fake/k1|warm|"


def measured(case: str, kernel: str) -> Measurement:
    return Measurement.of(Case.parse(case), "cpu", Details, kernel=kernel, median_s=1.0)


DONE = measured(FIRST, "fake/k0")


@pytest.mark.parametrize(
    ("said", "deaths"),
    [
        ([], {"": 1}),
        ([Started(FIRST)], {FIRST: 1}),
        ([Started(FIRST), Progress(0.5, "half")], {FIRST: 1}),
        ([Started(FIRST), DONE], {}),
        ([Started(FIRST), DONE, Progress(1.0, "one")], {}),
        ([Started(FIRST), DONE, Started(SECOND)], {SECOND: 1}),
        ([Started(FIRST), Started(SECOND), DONE], {SECOND: 1}),
    ],
)
def test_a_death_counts_against_the_case_in_progress(
    jobs: Jobs, said: Sequence[Record], deaths: dict[str, int]
) -> None:
    job = jobs.submit(n_cases=2)
    leases.claim(jobs.database, "me", ["cpu"], 60)
    journal = Journal(jobs.database, Lease(job.id, 1), Event())
    journal.begin(0, [FIRST, SECOND])
    for record in said:
        journal.note(record)
    journal.died()
    with jobs.database.read() as session:
        assert leases.case_deaths(session, job.id) == deaths
    assert journal.lease == Lease(job.id, 2)


def test_a_death_before_the_first_case_counts_again_in_the_next_process(jobs: Jobs) -> None:
    job = jobs.submit(n_cases=2)
    leases.claim(jobs.database, "me", ["cpu"], 60)
    journal = Journal(jobs.database, Lease(job.id, 1), Event())
    journal.begin(0, [FIRST, SECOND])
    journal.note(Started(FIRST))
    journal.note(DONE)
    journal.died()
    journal.begin(1, [SECOND])
    journal.died()
    with jobs.database.read() as session:
        assert leases.case_deaths(session, job.id) == {"": 1}
