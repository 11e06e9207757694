"""Backups: a restored home answers as the one that was backed up, whichever database either has."""

import json
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import MetaData, select, text

from gpu_engine import generators
from gpu_engine.errors import ConflictError, InputError
from gpu_engine.records import DeviceInfo, as_json
from server import backup, devices
from server.backup import back_up
from server.db import Database
from server.events import emit
from server.main import create_app
from server.migrate import _known, downgrade, migrate
from server.models import CaseDeathRow, JobRow, MatrixRow, MeasurementRow, TraceRow
from server.restore import restore
from server.settings import Settings
from server.store import Store
from tests.battery import BATTERY
from tests.conftest import ADDRESS, AddMatrix
from tests.postgres import fresh
from tests.samples.formats import timed

MATRICES, JOBS = 50, 100
CPU = DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)


def fill(database: Database, add_matrix: AddMatrix) -> None:
    """50 matrices and 100 jobs, each of two of them and every second the retry of one that comes later by id."""
    for number in range(MATRICES):
        matrix = generators.generate("stencil", {"points": 5, "nx": 3 + number, "ny": 4})
        add_matrix(matrix, name=f"№ {number} \u2028 <b>")
    devices.register(database, [CPU])
    with database.write() as session:
        for number in range(JOBS):
            ids = [f"m{number % MATRICES}", f"m{(number + 1) % MATRICES}"]
            # Ids fall as time goes on, so that no order of ids has every job after the one that it retries.
            job = JobRow(
                id=f"j{JOBS - number:03}", study="formats", params={"rounds": 9}, matrix_ids=ids, device="cpu",
                state=("succeeded", "failed", "queued", "running")[number % 4], cases_total=2, estimate_s=1 / 3,
                retry_of=f"j{JOBS - number + 1:03}" if number % 2 else None, created_at=1.6e9 + number / 7,
                owner="somebody", lease_until=1.7e9, idempotency_key=f"key-{number}",
                started_at=None if number % 4 == 2 else 1.6e9 + number,
                finished_at=1.6e9 + 99 if number % 4 < 2 else None,
            )  # fmt: skip
            session.add(job)
            session.flush()
            for matrix_id in ids:
                record = as_json(timed("csr/scalar", 1e-5 / 3, matrix=matrix_id))
                session.add(
                    MeasurementRow(
                        job_id=job.id, case_key=f"{matrix_id}|k", matrix_id=matrix_id, device="cpu",
                        kernel="csr/scalar", cache="warm", state="ok", record=record, samples_s=[1e-5 / 3, 2e-5],
                        created_at=1.6e9,
                    )
                )  # fmt: skip
            emit(session, f"job:{job.id}", "state", {"id": job.id})
        session.add(
            TraceRow(job_id="j100", case_key="m0|k", record={"case": "m0|k", "arrays": {"gamma": [0.1, 1e-300]}})
        )
        session.add(CaseDeathRow(job_id="j099", case_key="m1|k", deaths=1, losses=2))


def rows(database: Database) -> dict[str, list[dict[str, Any]]]:
    """Everything that the database holds."""
    with database.engine.connect() as connection:
        metadata = MetaData()
        metadata.reflect(connection)
        return {
            table.name: sorted((dict(row) for row in connection.execute(select(table)).mappings()), key=json.dumps)
            for table in metadata.sorted_tables
        }


def answers(settings: Settings) -> dict[str, Any]:
    """What a server of this home says of every job and matrix, and what some of the jobs have measured."""
    with TestClient(create_app(settings), base_url=ADDRESS) as client:
        found = {path: client.get(path) for path in ("/api/v1/jobs?limit=200", "/api/v1/matrices?limit=200")}
        paths = [item["links"]["self"] for answer in found.values() for item in answer.json()["items"]]
        paths += [f"{path}/results?samples=true" for path in paths[:5]]
        found |= {path: client.get(path) for path in paths}
    assert {answer.status_code for answer in found.values()} == {200}
    return {path: answer.json() for path, answer in found.items()}


def arrays(settings: Settings) -> dict[str, bytes]:
    root = Path(settings.resolved_store)
    return {str(path.relative_to(root)): path.read_bytes() for path in root.glob("m*/*")}


@pytest.mark.timeout(300)
def test_a_restored_home_answers_as_before_by_way_of_the_other_database(
    settings: Settings, database: Database, add_matrix: AddMatrix, tmp_path: Path, postgres: str
) -> None:
    fill(database, add_matrix)
    everything, said, files = rows(database), answers(settings), arrays(settings)
    assert (len(said), len(files)) == (2 + JOBS + 5 + MATRICES, 4 * MATRICES)
    here = settings
    for number, url in enumerate((fresh(postgres), "")):
        path = tmp_path / f"{number}.tar"
        with closing(Database(here.resolved_database_url)) as source:
            manifest = back_up(source, Store(here.resolved_store), path)
        assert (manifest.rows["jobs"], len(manifest.matrices), manifest.missing) == (JOBS, MATRICES, [])
        assert path.stat().st_mode & 0o777 == 0o600
        here = settings.model_copy(update={"home": tmp_path / f"home{number}", "database_url": url})
        here.home.mkdir()
        restore(here, path)
        with closing(Database(here.resolved_database_url)) as target:
            assert rows(target) == everything
            with target.write() as session:
                # The next row gets a number of its own.
                session.add(CaseDeathRow(job_id="j098", case_key="new"))
                session.flush()
                session.rollback()
        assert arrays(here) == files
        assert answers(here) == said


@pytest.fixture
def small(database: Database, store: Store, add_matrix: AddMatrix, tmp_path: Path) -> Path:
    """A backup of one matrix."""
    add_matrix(BATTERY["identity"](), id="a")
    back_up(database, store, tmp_path / "small.tar")
    return tmp_path / "small.tar"


@pytest.fixture
def empty(settings: Settings, tmp_path: Path) -> Settings:
    (tmp_path / "empty").mkdir()
    return settings.model_copy(update={"home": tmp_path / "empty"})


def flipped(path: Path) -> None:
    """A bit of a value of the matrix is another one."""
    with tarfile.open(path) as tar:
        place = tar.getmember("matrices/a/values.npy").offset_data + 200
    data = bytearray(path.read_bytes())
    data[place] ^= 1
    path.write_bytes(data)


def rebuilt(change: Callable[[str, bytes], tuple[str, bytes] | None]) -> Callable[[Path], None]:
    """Writes the members anew, each as the change says."""

    def rewrite(path: Path) -> None:
        with tarfile.open(path) as tar:
            members = [(member, tar.extractfile(member)) for member in tar]
            found = [change(member.name, source.read()) for member, source in members if source]
        with tarfile.open(path, "w") as tar:
            for name, data in filter(None, found):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                with (path.parent / "member").open("w+b") as source:
                    source.write(data)
                    source.seek(0)
                    tar.addfile(member, source)

    return rewrite


def newer(name: str, data: bytes) -> tuple[str, bytes]:
    document = json.loads(data) | {"schema": "zzzz"} if name == backup.MANIFEST else {}
    return name, json.dumps(document).encode() if document else data


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "a flipped bit": (flipped, "'matrices/a/values.npy' was changed after the backup"),
    "cut off": (lambda path: path.write_bytes(path.read_bytes()[:-12_000]), "is incomplete"),
    "a member less": (rebuilt(lambda n, d: None if n.endswith("jobs.jsonl") else (n, d)), "'database/jobs.jsonl'"),
    "no manifest": (rebuilt(lambda n, d: None if n == backup.MANIFEST else (n, d)), "manifest is missing"),
    "another path": (rebuilt(lambda n, d: ("../evil" if "jobs" in n else n, d)), "it contains '../evil'"),
    "no tar": (lambda path: path.write_bytes(b"PK" * 9000), "is incomplete"),
    "gone": (Path.unlink, "Cannot read .*: No such file"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_whole_backup_is_refused_before_anything_is_written(name: str, small: Path, empty: Settings) -> None:
    break_it, said = BROKEN[name]
    break_it(small)
    with pytest.raises(InputError, match=said):
        restore(empty, small)
    assert list(empty.home.iterdir()) == []


def test_a_backup_of_a_newer_release_is_refused(small: Path, empty: Settings) -> None:
    rebuilt(newer)(small)
    with pytest.raises(ConflictError, match="'zzzz' of a newer release"):
        restore(empty, small)


def test_an_older_backup_is_brought_to_this_release(
    settings: Settings, database: Database, store: Store, empty: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with database.write() as session:
        session.add(JobRow(id="a", study="formats", device="cpu", state="queued", created_at=1.0))
    before = _known()[1]
    downgrade(settings.resolved_database_url, before)
    monkeypatch.setattr(backup, "check_current", lambda _: None)
    assert back_up(database, store, settings.home / "old.tar").schema == before
    restore(empty, settings.home / "old.tar")
    with closing(Database(empty.resolved_database_url)) as target, target.read() as session:
        assert session.get_one(JobRow, "a").created_at == 1.0
        assert session.scalar(text("SELECT version_num FROM alembic_version")) == _known()[0]


def test_a_home_that_is_used_is_left_alone(small: Path, settings: Settings, database: Database) -> None:
    before = rows(database)
    with pytest.raises(ConflictError, match=r"1 matrices\)\. Restore into an empty data directory"):
        restore(settings, small)
    assert rows(database) == before


def test_a_store_that_others_use_is_left_alone(small: Path, empty: Settings) -> None:
    (Path(empty.resolved_store) / "another").mkdir(parents=True)
    with pytest.raises(ConflictError, match="1 matrices in the store"):
        restore(empty, small)


def test_a_home_where_a_server_runs_is_left_alone(small: Path, empty: Settings) -> None:
    migrate(empty.resolved_database_url)
    with TestClient(create_app(empty)), pytest.raises(ConflictError, match="A server is using the data directory"):
        restore(empty, small)


def test_a_restore_that_was_broken_off_can_be_done_again(
    small: Path, empty: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("server.restore._insert", fail)
        with pytest.raises(KeyboardInterrupt):
            restore(empty, small)
    restore(empty, small)
    with closing(Database(empty.resolved_database_url)) as target, target.read() as session:
        assert session.get_one(MatrixRow, "a").state == "ready"


def test_a_matrix_whose_values_are_gone_is_named(
    database: Database, store: Store, add_matrix: AddMatrix, tmp_path: Path, empty: Settings
) -> None:
    for name in ("kept", "gone"):
        add_matrix(BATTERY["identity"](), id=name)
    store.delete("gone")
    manifest = back_up(database, store, tmp_path / "x.tar")
    assert (manifest.matrices, manifest.missing) == (["kept"], ["gone"])
    restore(empty, tmp_path / "x.tar")
    assert Store(empty.resolved_store).ids() == {"kept"}


def test_a_file_that_is_there_is_not_overwritten(small: Path, database: Database, store: Store) -> None:
    before = small.read_bytes()
    with pytest.raises(InputError, match="already exists"):
        back_up(database, store, small)
    assert small.read_bytes() == before


def test_a_backup_that_cannot_be_written_leaves_nothing(
    database: Database, store: Store, add_matrix: AddMatrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_write_rows", full)
    folder = tmp_path / "full"
    folder.mkdir()
    with pytest.raises(InputError, match="No space left on device"):
        back_up(database, store, folder / "x.tar")
    assert list(folder.iterdir()) == []
