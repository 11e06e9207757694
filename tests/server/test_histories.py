"""Histories out of the database, and /history of the API: of one place, the newest of each case, the oldest first."""

from collections.abc import Sequence
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.records import Measurement
from server import histories, history_documents
from server.db import Database
from server.models import JobRow, JobState, MatrixRow
from tests.samples.formats import timed, untimed
from tests.samples.history import BEGUN, DAY_S, FLAT, NEW, OLD, measured, scaled
from tests.samples.rows import measurement_row

HERE = "formats", "m1", "cuda:0"
"""Study, matrix, device."""


@pytest.fixture
def both(either_database: Database) -> Database:
    """A database of either kind with two matrices."""
    fill(either_database)
    return either_database


def fill(database: Database) -> None:
    with database.write() as session:
        session.add_all(
            MatrixRow(id=name, name=name, state="ready", sha256=name, created_at=0.0) for name in ("m1", "m2")
        )


def add(database: Database, number: int, found: Sequence[Measurement], study: str = "formats") -> None:
    """A job of so many days after the first, with these measurements."""
    at = BEGUN + number * DAY_S
    job = JobRow(id=f"{study}{number}", study=study, device="cuda:0", state=JobState.SUCCEEDED, created_at=at)
    with database.write() as session:
        session.add(job)
        session.flush()
        session.add_all(measurement_row(job.id, m, at, [1.0]) for m in found)


def times(
    database: Database, *kernels: str, place: tuple[str, str, str] = HERE, cache: str = "warm"
) -> dict[str, list[float]]:
    """Case → its times in microseconds."""
    study, matrix, device = place
    with database.read() as session:
        taken = histories.read(session, study, matrix, [cache], device)
    found = histories.histories(taken, kernels)
    return {h.case.key: [round(1e6 * taken.median_s, 3) for taken in h.timeline] for h in found}


def test_a_history_is_of_one_case_in_the_order_of_time(both: Database) -> None:
    add(both, 2, [measured(22.0), measured(31.0, kernel="csr/vector"), timed("split/tile", 1e-3, "cold")])
    add(both, 1, [measured(21.0), measured(29.0, kernel="csr/vector", transposed=True)])
    add(
        both,
        3,
        [
            untimed("split/tile", "failed", "wrong", device="cuda:0"),
            measured(9.0, kernel="ell/thread", device="cuda:1"),
        ],
    )
    add(both, 4, [measured(8.0, matrix="m2")])
    add(both, 5, [measured(7.0)], study="reduced_spmv")
    assert times(both) == {
        "m1|split/tile|warm|": [21.0, 22.0],
        "m1|csr/vector|warm|op=AT": [29.0],
        "m1|csr/vector|warm|": [31.0],
    }
    assert times(both, "split/tile", "gone") == {"m1|split/tile|warm|": [21.0, 22.0]}
    assert times(both, place=("formats", "m2", "cuda:0")) == {"m2|split/tile|warm|": [8.0]}
    assert times(both, place=("formats", "m2", "cpu")) == {}
    assert times(both, cache="cold") == {}


def test_measurements_are_read_of_chosen_jobs_and_of_all_devices_and_cache_states(both: Database) -> None:
    for number in (1, 2):
        add(both, number, [measured(20.0 + number), measured(40.0 + number, cache="cold")])
    add(both, 3, [measured(23.0, device="cuda:1"), measured(9.0, matrix="m2")])
    with both.read() as session:
        every = histories.read(session, "formats", "m1", ["warm", "cold"])
        chosen = histories.read(session, "formats", "m1", ["warm"], job_ids=["formats2", "formats3"])
        assert histories.read(session, "formats", "m1", ["warm"], job_ids=[]) == []
    assert [(taken.job_id, round(1e6 * taken.median_s)) for taken in every] == [
        ("formats1", 21),
        ("formats1", 41),
        ("formats2", 22),
        ("formats2", 42),
        ("formats3", 23),
    ]
    assert [(taken.job_id, taken.measurement.device) for taken in chosen] == [
        ("formats2", "cuda:0"),
        ("formats3", "cuda:1"),
    ]


def test_of_each_case_the_newest_are_taken(both: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(histories, "NEWEST", 2)
    for number, time in enumerate((20.0, 21.0, 22.0)):
        add(both, number, [measured(time), *([measured(30.0, kernel="csr/vector")] if not number else [])])
    assert times(both) == {"m1|csr/vector|warm|": [30.0], "m1|split/tile|warm|": [21.0, 22.0]}
    # The same case on another device is another one.
    for number, time in ((3, 9.0), (4, 9.5)):
        add(both, number, [measured(time, device="cuda:1")])
    with both.read() as session:
        every = histories.read(session, "formats", "m1", ["warm"])
    newest = [(e.measurement.device, round(1e6 * e.median_s, 3)) for e in every if e.measurement.kernel == "split/tile"]
    assert newest == [("cuda:0", 21.0), ("cuda:0", 22.0), ("cuda:1", 9.0), ("cuda:1", 9.5)]


def asked(client: TestClient, **query: Any) -> Any:
    return client.get("/api/v1/history", params={"matrix": "m1", "device": "cuda:0", **query})


def test_the_api_answers_histories_as_documents(client: TestClient, database: Database) -> None:
    fill(database)
    stepped = (*FLAT, *scaled(FLAT, 1.05))
    for number, time in enumerate(stepped):
        add(database, number, [measured(time, OLD if number < 6 else NEW)])
    answer = asked(client)
    (item,) = answer.json()["items"]
    changed = [{"name": "driver", "before": "580.1", "after": "590.2"}]
    assert {name: item[name] for name in ("case", "kernel", "axes", "searched")} == {
        "case": "m1|split/tile|warm|",
        "kernel": "split/tile",
        "axes": {},
        "searched": True,
    }
    assert item["noise"] == pytest.approx(0.01 / 3)
    (point,) = item["change_points"]
    assert point | {"ratio": round(point["ratio"], 4), "reason": ""} == {
        "job_id": "formats6",
        "measured_at": "2025-11-07T00:00:00.000Z",
        "verdict": "slower",
        "before_s": pytest.approx(20e-6),
        "after_s": pytest.approx(21e-6),
        "ratio": 0.9524,
        "reason": "",
        "changed": changed,
    }
    assert [m["changed"] for m in item["measurements"]] == [[]] * 6 + [changed] + [[]] * 5
    assert [round(1e6 * m["level_s"], 2) for m in item["measurements"]] == [20.0] * 6 + [21.0] * 6
    assert set(item) == set(history_documents.CaseHistory.__annotations__)
    assert asked(client, cache="cold").json() == {"items": [], "next": None}
    assert asked(client, kernel="csr/gone").json()["items"] == []
    as_csv = client.get(answer.url, headers={"Accept": "text/csv"}).text
    assert as_csv.splitlines()[0].startswith("case,kernel,noise,searched")


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"matrix": "gone"}, 404, "Unknown matrix 'gone'"),
        ({"study": "gone"}, 422, "There is no study 'gone'"),
        ({"cache": "hot"}, 422, "cache"),
        ({"colour": "red"}, 422, "colour"),
        ({"kernel": ["k"] * 101}, 422, "kernel"),
    ],
)
def test_the_api_refuses_what_there_is_not(
    client: TestClient, database: Database, query: dict[str, Any], status: int, words: str
) -> None:
    fill(database)
    answer = asked(client, **query)
    assert (answer.status_code, words in answer.json()["detail"]) == (status, True)


def test_a_place_is_asked_for(client: TestClient) -> None:
    assert client.get("/api/v1/history").status_code == 422
