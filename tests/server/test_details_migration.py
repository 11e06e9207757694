"""Migration 0005: flat records become nested ones in every table that holds any, and flat again on the way back."""

from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select

from gpu_engine.former_names import PRESENT
from gpu_engine.records import as_json, backend_of
from gpu_engine.studies import parse_measurement, study
from server.db import Database
from server.migrate import downgrade, migrate
from tests.postgres import DATABASES, fresh
from tests.server.stored_rows import add_row, contents, tables_of

STUDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "formats": ("", {"convert_s": 0.5, "convert_peak_bytes": 640, "order_s": 0.25, "permute_s": 0.125}),
    "pagerank": (
        "part=lower,stall=0.98",
        {
            "iterations": 3,
            "iterations_by_segments": [1, 2],
            "phases_s": {"pull_s": 0.5},
            "residual": 1e-11,
            "mass_error": 2e-16,
            "distance": 0.25,
            "overlap": 1.0,
            "top_pages": [7, 3],
            "top_ranks": [0.5, 0.25],
        },
    ),
    "batched": (
        "batch=10,compose=copies,operation=y=Ax+y",
        {"problems": 10, "vector_bytes": 80, "convert_s": 0.5, "convert_peak_bytes": 640},
    ),
    "scaling": (
        "devices=2,work=pagerank",
        {
            "partitioning": "pCSR",
            "strategy": "p*",
            "devices": 2,
            "entries_by_device": [3, 4],
            "exchanged_bytes": 16,
            "iterations": 3,
            "iterations_by_segments": [1, 2],
            "phases_s": {"compute": 0.5},
            "residual": 1e-11,
            "mass_error": 2e-16,
        },
    ),
}
"""Study → axes of a case, and what only its records say."""

EMPTY: dict[str, Any] = {
    **dict.fromkeys(("convert_s", "convert_peak_bytes", "order_s", "permute_s", "iterations", "residual")),
    **dict.fromkeys(("mass_error", "distance", "overlap", "problems", "vector_bytes", "devices", "exchanged_bytes")),
    **{name: [] for name in ("iterations_by_segments", "top_pages", "top_ranks", "entries_by_device")},
    "phases_s": {},
    "partitioning": "",
    "strategy": "",
}
"""What a flat record says of the fields of other studies."""

COMMON = {
    "matrix_id": "m",
    "device": "cpu",
    "format": "csr",
    "kernel": "csr/k",
    "cache": "warm",
    **dict.fromkeys(("ci_low_s", "ci_high_s", "min_s", "q1_s", "q3_s", "gflops", "stored_bytes", "floor_s")),
    **dict.fromkeys(("gather_floor_s", "max_error", "energy_j", "reference_gap", "clock_hz")),
    "environment": {"driver": "1"},
}

OUTCOMES = {
    "ok": ("ok", "ok", 0.5, ""),
    "noted": ("ok", "ok", 0.5, "virtual devices: γ is not named first"),
    "unconverged": ("ok", "unconverged", 0.5, "γ is 0.1 after 3 iterations, not under 1e-10"),
    "failed": ("failed", "failed", None, "γ is not a number"),
    "skipped": ("skipped", "skipped", None, "needs 41 GB"),
}
"""Outcome → state before, state after, median, note."""


def flat(study_name: str, outcome: str) -> dict[str, Any]:
    """A record as it was before."""
    axes, own = STUDIES[study_name]
    state, _, median, note = OUTCOMES[outcome]
    case = f"{outcome}|csr/k|warm|{axes}"
    return {**COMMON, **EMPTY, "case": case, "state": state, "median_s": median, "note": note, **own}


def nested(study_name: str, outcome: str) -> dict[str, Any]:
    """The same as it is."""
    axes, own = STUDIES[study_name]
    record = {name: value for name, value in flat(study_name, outcome).items() if name not in EMPTY}
    pairs = (axis.partition("=") for axis in axes.split(",") if axis)
    named = {name: value for name, _, value in pairs}
    return {**record, "state": OUTCOMES[outcome][1], "study": study_name, "axes": named, "details": own}


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a.db'}"
    return fresh(request.getfixturevalue("postgres"))


def fill(url: str) -> None:
    """A job and a recording of each study with a record of each outcome, and events of other kinds."""
    database = Database(url)
    tables = tables_of(database)
    numbers = count(1)

    def add(session: Any, name: str, **values: Any) -> None:
        # The ids of events come from a counter.
        add_row(session, tables, name, **({"id": next(numbers)} if name == "events" else {}), **values)

    with database.write() as session:
        add(session, "matrices", id="m", sha256="s")
        for name in STUDIES:
            add(session, "jobs", id=f"j-{name}", study=name)
            for outcome in OUTCOMES:
                record = flat(name, outcome)
                own = {"job_id": f"j-{name}", "case_key": record["case"], "matrix_id": "m", "state": record["state"]}
                add(session, "measurements", **own, record=record)
                topic = f"job:j-{name}"
                add(session, "events", topic=topic, kind="measurement", data={"n": 1, "measurement": record})
            add(session, "events", topic=f"job:j-{name}", kind="state", data={"state": "running"})
            add(session, "events", topic=f"job:j-{name}", kind="measurement", data={"case": "of an older release"})
            add(session, "recordings", id=f"r-{name}", study=name, device=f"d-{name}")
            records = [flat(name, outcome) for outcome in OUTCOMES]
            add(session, "recorded_results", recording_id=f"r-{name}", fingerprint="f", measurements=records)
        add(session, "events", topic="matrix:m", kind="measurement", data={"measurement": {"a": 1}})
    database.close()


def test_flat_records_become_nested_and_flat_again(url: str) -> None:
    migrate(url, "0004")
    fill(url)
    before = contents(url)
    migrate(url, "0005")
    after = contents(url)
    assert {name: len(rows) for name, rows in after.items()} == {name: len(rows) for name, rows in before.items()}
    wanted = [nested(name, outcome) for name in STUDIES for outcome in OUTCOMES]
    assert [row["record"] for row in after["measurements"]] == wanted
    assert [row["state"] for row in after["measurements"]] == [record["state"] for record in wanted]
    of_jobs = [row["data"] for row in after["events"] if "measurement" in row["data"]]
    assert of_jobs == [*({"n": 1, "measurement": record} for record in wanted), {"measurement": {"a": 1}}]
    assert [record for row in after["recorded_results"] for record in row["measurements"]] == wanted
    others = {name for name in before if name not in ("measurements", "events", "recorded_results")}
    assert {name: after[name] for name in others} == {name: before[name] for name in others}
    downgrade(url, "0004")
    assert contents(url) == before


@pytest.mark.parametrize("name", STUDIES)
def test_what_becomes_of_a_record_is_what_the_study_reads_and_writes(name: str) -> None:
    record = PRESENT.measurement(nested(name, "ok"))
    m = parse_measurement(record)
    assert isinstance(m.details, study(name).details)
    written = as_json(m)
    # What records and details have been given since is not known of a record of then.
    pairs = (written, record), (written["details"], record["details"])
    since = [new.pop(field) for new, old in pairs for field in new.keys() - old.keys()]
    assert written == record
    # The backend alone follows from what a record of then says: its software, or the id of its device.
    assert [value for value in since if value] == [backend_of(record)]


def test_every_row_of_many_is_rewritten(url: str) -> None:
    migrate(url, "0004")
    fill(url)
    database = Database(url)
    tables = tables_of(database)
    table = tables.tables["measurements"]
    with database.write() as session:
        (first,) = session.execute(select(table).limit(1)).mappings()
        copies = [{**first, "id": 1000 + i, "case_key": str(i)} for i in range(1001)]
        session.execute(insert(table), copies)
    database.close()
    migrate(url, "0005")
    rows = contents(url)["measurements"]
    assert len(rows) == len(STUDIES) * len(OUTCOMES) + 1001
    assert all("details" in row["record"] for row in rows)
