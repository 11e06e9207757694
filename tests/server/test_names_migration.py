"""Migrations 0016 and 0017: rows with former names get the present ones, and get the former ones back."""

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext

from gpu_engine.former_names import PRESENT
from gpu_engine.studies import parse_measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from server.db import Database
from server.migrate import _locked, downgrade, migrate
from tests.postgres import DATABASES, fresh
from tests.server.stored_rows import add_row, contents, tables_of

BEFORE, AFTER = "0015", "0016"

names_migration = import_module("migrations.versions.0016_names")

FORMER_RECORD: dict[str, Any] = {
    "case": "m|csr+free-cpms2|warm|part=lower,first=1,near=0.001",
    "study": "products",
    "matrix_id": "m",
    "device": "cpu",
    "format": "csr",
    "kernel": "csr+free-cpms2",
    "cache": "warm",
    "axes": {"part": "lower", "first": "1", "near": "0.001"},
    "state": "ok",
    "median_s": 0.5,
    "floor_s": 0.25,
    "gather_floor_s": 0.3,
    "reference_gap": 0.01,
    "details": {
        "same_bits": True,
        "same_layout": True,
        "problems": 7,
        "entries_by_device": [3, 4],
        "phases_s": {"pull": 0.4, "settle": 0.1},
    },
}
PRESENT_RECORD: dict[str, Any] = {
    "case": "m|csr+pattern-cpms2|warm|triangle=lower,start_segments=1,raise_at=0.001",
    "study": "reduced_spmv",
    "matrix_id": "m",
    "device": "cpu",
    "format": "csr",
    "kernel": "csr+pattern-cpms2",
    "cache": "warm",
    "axes": {"triangle": "lower", "start_segments": "1", "raise_at": "0.001"},
    "state": "ok",
    "median_s": 0.5,
    "roofline_s": 0.25,
    "gather_probe_s": 0.3,
    "aa_gap": 0.01,
    "details": {
        "bitwise_reproducible": True,
        "reproducible_rebuild": True,
        "batch_size": 7,
        "nonzeros_by_device": [3, 4],
        "phases_s": {"pull": 0.4, "norm": 0.1},
    },
}

CUSTOM = {
    "case": "m|own:spmv.py:TWICE|cold|",
    "study": "formats",
    "kernel": "own:spmv.py:TWICE",
    "axes": {},
    "details": {},
    "state": "ok",
}
SCALED = {
    "case": "m|p*-kept|warm|work=iterate,cut=entries,exchange=image,product=ours",
    "study": "scaling",
    "kernel": "p*-kept",
    "axes": {"work": "iterate", "cut": "entries", "exchange": "image", "product": "ours"},
    "details": {},
    "state": "ok",
}
UNNAMED = {"case": "m|csr/scalar|warm|", "study": "formats", "kernel": "csr/scalar", "state": "failed"}
"""A record without former names."""

FORMER_RECORDS = [FORMER_RECORD, CUSTOM, SCALED, UNNAMED]
PRESENT_RECORDS = [
    PRESENT_RECORD,
    CUSTOM | {"case": "m|custom:spmv.py:TWICE|cold|", "kernel": "custom:spmv.py:TWICE"},
    SCALED
    | {
        "case": "m|p*-prepacked|warm|workload=iterate,balance=nonzeros,exchange=halo,kernel_library=sparsight",
        "kernel": "p*-prepacked",
        "axes": {"workload": "iterate", "balance": "nonzeros", "exchange": "halo", "kernel_library": "sparsight"},
    },
    UNNAMED,
]

FORMER_PARAMS = {
    "sampling": "settle",
    "energy": "leaders",
    "budget_s": 5.0,
    "reference": "csr/thread+free",
    "contestants": ["spmv.py:TWICE"],
    "order": ["given", "rcm"],
    "kernels": ["p*-kept", "csr/thread+refined32"],
    "compose": ["copies", "mixed"],
    "stall": 0.98,
    "at_end": "fp32",
    "rounds": 9,
}
PRESENT_PARAMS = {
    "sampling": "adaptive",
    "energy": "fastest",
    "time_limit_s": 5.0,
    "control": "csr/thread+pattern",
    "custom_kernels": ["spmv.py:TWICE"],
    "reorder": ["none", "rcm"],
    "kernels": ["p*-prepacked", "csr/thread+ir32"],
    "compose": ["uniform", "mixed"],
    "stall_ratio": 0.98,
    "final_storage": "fp32",
    "rounds": 9,
}
FORMER_TRACE = {"case": FORMER_RECORD["case"], "arrays": {"gamma": [0.5], "settle_s": [0.1]}}
PRESENT_TRACE = {"case": PRESENT_RECORD["case"], "arrays": {"gamma": [0.5], "norm_s": [0.1]}}


@pytest.fixture(params=DATABASES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'a.db'}"
    return fresh(request.getfixturevalue("postgres"))


def fill(url: str, copies: int = 0) -> None:
    """Add rows with former names to every table that holds any, and further copies of a measurement."""
    database = Database(url)
    tables = tables_of(database)

    with database.write() as session:
        generated = {"kind": "generated", "family": "stencil", "params": {"nx": 4}}
        add_row(session, tables, "matrices", id="m", sha256="s", source=generated)
        add_row(
            session, tables, "matrices", id="u", sha256="t", source={"kind": "upload", "filename": "family", "bytes": 1}
        )
        key = FORMER_RECORD["case"]
        job = {"params": FORMER_PARAMS, "current_case": key, "enough": True, "interim": []}
        add_row(session, tables, "jobs", id="j", study="products", **job)
        add_row(session, tables, "jobs", id="k", study="formats", params={"rounds": 9}, enough=False, interim=[])
        add_row(session, tables, "case_deaths", job_id="j", case_key=key)
        records = [*FORMER_RECORDS, *(UNNAMED | {"case": f"m|csr/k+free|warm|n={i}"} for i in range(copies))]
        for record in records:
            columns = {"case_key": record["case"], "kernel": record["kernel"], "matrix_id": "m", "state": "ok"}
            add_row(session, tables, "measurements", job_id="j", **columns, record=record)
        add_row(session, tables, "traces", job_id="j", case_key=key, record=FORMER_TRACE)
        add_row(
            session,
            tables,
            "events",
            id=1,
            topic="job:j",
            kind="measurement",
            data={"n": 1, "measurement": FORMER_RECORD},
        )
        add_row(
            session, tables, "events", id=2, topic="job:j", kind="state", data={"state": "running", "floor_s": "a text"}
        )
        add_row(session, tables, "recordings", id="r", study="products", device="d")
        results = {"measurements": FORMER_RECORDS, "traces": [FORMER_TRACE]}
        add_row(session, tables, "recorded_results", recording_id="r", fingerprint="f", **results)
    database.close()


def test_every_row_gets_the_present_names(url: str) -> None:
    migrate(url, BEFORE)
    fill(url)
    before = contents(url)
    migrate(url, AFTER)
    after = contents(url)
    assert {name: len(rows) for name, rows in after.items()} == {name: len(rows) for name, rows in before.items()}
    job, other = after["jobs"]
    assert (job["study"], job["params"], job["stop_requested"]) == ("reduced_spmv", PRESENT_PARAMS, True)
    assert (other["study"], other["params"], other["stop_requested"]) == ("formats", {"rounds": 9}, False)
    assert "enough" not in job
    keys = [job["current_case"], after["case_deaths"][0]["case_key"], after["traces"][0]["case_key"]]
    assert keys == [PRESENT_RECORD["case"]] * 3
    sources = {row["id"]: row["source"] for row in after["matrices"]}
    assert sources["m"] == {"kind": "generated", "generator": "stencil", "params": {"nx": 4}}
    assert sources["u"] == {"kind": "upload", "filename": "family", "bytes": 1}
    assert [row["record"] for row in after["measurements"]] == PRESENT_RECORDS
    columns = [(row["case_key"], row["kernel"]) for row in after["measurements"]]
    assert columns == [(record["case"], record["kernel"]) for record in PRESENT_RECORDS]
    assert [row["record"] for row in after["traces"]] == [PRESENT_TRACE]
    assert [row["data"] for row in after["events"]] == [
        {"n": 1, "measurement": PRESENT_RECORD},
        {"state": "running", "floor_s": "a text"},
    ]
    assert after["recordings"][0]["study"] == "reduced_spmv"
    (results,) = after["recorded_results"]
    assert (results["measurements"], results["traces"]) == (PRESENT_RECORDS, [PRESENT_TRACE])


def test_downgrade_brings_the_former_names_back(url: str) -> None:
    migrate(url, BEFORE)
    fill(url)
    before = contents(url)
    migrate(url, AFTER)
    assert contents(url) != before
    downgrade(url, BEFORE)
    assert contents(url) == before


def test_translating_twice_is_the_same_as_once(url: str) -> None:
    migrate(url, BEFORE)
    fill(url)
    migrate(url, AFTER)
    once = contents(url)
    with _locked(url) as (connection, _), Operations.context(MigrationContext.configure(connection)):
        names_migration._rename(PRESENT)
    assert contents(url) == once


def test_provisional_results_are_dropped(url: str) -> None:
    migrate(url, BEFORE)
    fill(url)
    database = Database(url)
    tables = tables_of(database)
    with database.write() as session:
        session.execute(tables.tables["jobs"].update().values(interim=[{"case": FORMER_RECORD["case"]}]))
    database.close()
    migrate(url, AFTER)
    assert [row["interim"] for row in contents(url)["jobs"]] == [[], []]


def test_every_row_of_several_batches_is_translated(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names_migration, "BATCH", 7)
    migrate(url, BEFORE)
    fill(url, copies=2 * names_migration.BATCH + 1)
    migrate(url, AFTER)
    keys = [row["case_key"] for row in contents(url)["measurements"]]
    assert len(keys) == len(FORMER_RECORDS) + 2 * names_migration.BATCH + 1
    assert not [key for key in keys if "+free" in key]


def test_a_translated_record_is_one_of_this_release() -> None:
    fields = ("matrix_id", "device", "cache", "state", "median_s", "floor_s", "gather_floor_s", "reference_gap")
    formats = {"case": "m|csr/vector|warm|", "kernel": "csr/vector", "format": "csr", "study": "formats", "axes": {}}
    details = {"same_bits": True, "same_layout": False}
    former = {name: FORMER_RECORD[name] for name in fields} | formats | {"details": details, "environment": {}}
    measurement = parse_measurement(PRESENT.measurement(former))
    assert (measurement.roofline_s, measurement.gather_probe_s, measurement.aa_gap) == (0.25, 0.3, 0.01)
    assert isinstance(measurement.details, ProductDetails)
    assert (measurement.details.bitwise_reproducible, measurement.details.reproducible_rebuild) == (True, False)


def test_a_database_of_0016_gets_the_name_that_came_after_it(url: str) -> None:
    migrate(url, AFTER)
    database = Database(url)
    tables = tables_of(database)
    early = {name: value for name, value in PRESENT_RECORD["details"].items() if name != "nonzeros_by_device"}
    early_record = PRESENT_RECORD | {"details": early | {"entries_by_device": [3, 4]}}
    with database.write() as session:
        add_row(session, tables, "jobs", id="j", study="scaling", interim=[])
        add_row(session, tables, "matrices", id="m", sha256="s")
        columns = {"case_key": "m|a|warm|", "kernel": "a", "matrix_id": "m", "state": "ok"}
        add_row(session, tables, "measurements", job_id="j", **columns, record=early_record)
        add_row(session, tables, "recordings", id="r", study="scaling", device="d")
        results = {"measurements": [early_record, UNNAMED], "traces": []}
        add_row(session, tables, "recorded_results", recording_id="r", fingerprint="f", **results)
    database.close()
    migrate(url)
    after = contents(url)
    assert [row["record"] for row in after["measurements"]] == [PRESENT_RECORD]
    assert after["recorded_results"][0]["measurements"] == [PRESENT_RECORD, UNNAMED]
