"""Random kills under a queue; tools/chaos.py does the same with hundreds of them."""

from pathlib import Path

import pytest

from tests.postgres import fresh
from tools import chaos


@pytest.mark.full("server/jobs/*", "server/db.py", "tools/chaos.py", "tests/server/jobs/*")
@pytest.mark.parametrize(
    ("kind", "victim", "kills"), [("sqlite", "dispatcher", 1), ("sqlite", "process", 2), ("postgres", "process", 2)]
)
def test_nothing_is_lost_doubled_or_stuck(
    request: pytest.FixtureRequest, tmp_path: Path, kind: str, victim: str, kills: int
) -> None:
    url = fresh(request.getfixturevalue("postgres")) if kind == "postgres" else ""
    report = chaos.run(kind, url, victim, kills, seed=1, home=tmp_path)
    assert (report.wrong, report.kills, report.cases) == ([], kills, report.jobs * chaos.CASES)
