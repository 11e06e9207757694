"""The import of recordings: the database holds what the files say, however often and however broken they come."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select

from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Backend, Measurement, measurement_from_json
from gpu_engine.verdicts.verdict import compare
from server import import_recordings
from server.db import Database
from server.models import EventRow, MatrixRow, RecordedResultsRow, RecordingRow
from tests.samples.recording import grid, sample

GRID = f"recorded-{grid().fingerprint[:16]}"
WARM = "csr/vector|warm|"


@pytest.fixture
def database(either_database: Database) -> Database:
    return either_database


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "recorded"


def write(folder: Path, recording: Recording, device: str = "h200") -> Path:
    path = folder / device / "formats.json.gz"
    recordings.write(path, recording)
    return path


def only_grid(recording: Recording) -> Recording:
    return replace(recording, matrices=recording.matrices[:1], measurements=recording.measurements[:8])


def names(database: Database) -> dict[str, str]:
    """Name by state of every matrix."""
    with database.read() as session:
        return {row.name: row.state for row in session.scalars(select(MatrixRow))}


def recorded(database: Database) -> dict[str, str]:
    """The device of every recording."""
    with database.read() as session:
        return {row.id: row.device for row in session.scalars(select(RecordingRow))}


def medians(database: Database) -> set[float]:
    """The times of csr/vector, warm, on the grid."""
    with database.read() as session:
        rows = session.scalars(
            select(RecordedResultsRow.measurements).where(RecordedResultsRow.fingerprint == grid().fingerprint)
        )
        return {m["median_s"] for found in rows for m in found if m["case"] == f"grid|{WARM}"}


def states(database: Database) -> list[tuple[str, str]]:
    with database.read() as session:
        return [(event.topic, event.data["state"]) for event in session.scalars(select(EventRow).order_by(EventRow.id))]


def test_a_recording_brings_its_device_matrices_and_results(database: Database, folder: Path) -> None:
    write(folder, sample())
    import_recordings.run(database, folder)
    assert recorded(database) == {"h200/formats": "recorded:h200"}
    assert names(database) == {"a grid": "recorded", "web-Test": "recorded"}
    assert medians(database) == {800e-6 * 0.01}
    with database.read() as session:
        device = session.scalars(select(RecordingRow)).one()
        row = session.get_one(MatrixRow, GRID)
        results = session.scalars(select(RecordedResultsRow).order_by(RecordedResultsRow.id)).all()
    assert (device.info["id"], device.info["name"]) == ("recorded:h200", "NVIDIA H200 (recorded)")
    assert (device.profile["device"], device.profile["bandwidth"][0]["copy"]) == ("recorded:h200", 4.3e12)
    assert (row.fingerprint, row.nnz, row.features["max"]) == (grid().fingerprint, grid().nnz, 5)
    assert row.source == grid().source
    assert [len(found.measurements) for found in results] == [8, 8]
    assert [trace["case"] for found in results for trace in found.traces] == [f"grid|{WARM}"]


def test_an_unchanged_file_is_not_read_again(database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, sample())
    import_recordings.run(database, folder)
    told = states(database)
    monkeypatch.setattr(recordings, "read", None)
    import_recordings.run(database, folder)
    assert states(database) == told
    assert medians(database) == {800e-6 * 0.01}


def test_a_changed_file_replaces_what_the_old_one_brought(database: Database, folder: Path) -> None:
    write(folder, sample())
    import_recordings.run(database, folder)
    write(folder, only_grid(sample(scale=0.02)))
    import_recordings.run(database, folder)
    assert medians(database) == {800e-6 * 0.02}
    assert names(database) == {"a grid": "recorded"}
    assert states(database)[-1][1] == "deleted"


def test_a_removed_file_takes_its_rows_with_it_and_leaves_what_others_share(database: Database, folder: Path) -> None:
    gone = write(folder, sample())
    write(folder, only_grid(sample(scale=0.02)), "a100")
    import_recordings.run(database, folder)
    assert medians(database) == {800e-6 * 0.01, 800e-6 * 0.02}
    gone.unlink()
    import_recordings.run(database, folder)
    assert recorded(database) == {"a100/formats": "recorded:a100"}
    assert names(database) == {"a grid": "recorded"}
    assert medians(database) == {800e-6 * 0.02}
    import_recordings.run(database, folder / "nowhere")
    assert (recorded(database), names(database), medians(database)) == ({}, {}, set())


def test_a_matrix_of_the_user_stays_when_its_recorded_twin_goes(database: Database, folder: Path) -> None:
    write(folder, sample())
    import_recordings.run(database, folder)
    with database.write() as session:
        own = {"state": "ready", "sha256": "1", "fingerprint": grid().fingerprint}
        session.add(MatrixRow(id="own", name="mine", created_at=0.0, **own))
    import_recordings.run(database, folder / "nowhere")
    assert names(database) == {"mine": "ready"}


def test_a_broken_file_is_logged_and_the_others_come(
    database: Database, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(folder, sample(), "b200").write_bytes(b"no gzip")
    write(folder, sample())
    with caplog.at_level(logging.WARNING):
        import_recordings.run(database, folder)
    assert recorded(database) == {"h200/formats": "recorded:h200"}
    (record,) = caplog.records
    assert (
        "cannot import the reference results b200/formats: The recording b200/formats.json.gz is not gzipped JSON"
        in record.getMessage()
    )


def test_what_a_file_brought_stays_while_its_successor_is_broken(database: Database, folder: Path) -> None:
    path = write(folder, sample())
    import_recordings.run(database, folder)
    path.write_bytes(path.read_bytes()[:200])
    import_recordings.run(database, folder)
    assert medians(database) == {800e-6 * 0.01}


def test_an_import_that_breaks_off_leaves_nothing(
    database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, sample())

    def break_off(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(import_recordings, "_sweep", break_off)
        with pytest.raises(RuntimeError):
            import_recordings.run(database, folder)
    assert (recorded(database), names(database), medians(database), states(database)) == ({}, {}, set(), [])
    import_recordings.run(database, folder)
    assert len(names(database)) == 2


def test_two_servers_at_once_import_it_once(database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one reads the file while the first one has not committed; then it finds the rows there."""
    write(folder, sample())
    read = recordings.read

    def read_late(path: Path) -> Recording:
        monkeypatch.setattr(recordings, "read", read)
        import_recordings.run(database, folder)
        return read(path)

    monkeypatch.setattr(recordings, "read", read_late)
    monkeypatch.setattr(import_recordings, "_forget", lambda *_: None)
    import_recordings.run(database, folder)
    assert recorded(database) == {"h200/formats": "recorded:h200"}
    with database.read() as session:
        assert session.scalar(select(func.count()).select_from(RecordedResultsRow)) == 2


def test_what_a_caller_imports_is_kept_beside_the_release_and_forgotten_when_asked(
    database: Database, folder: Path
) -> None:
    """On both databases: what one of them would not keep is refused before, see test_recordings.py."""
    path = write(folder, sample())
    import_recordings.run(database, folder)
    row, created = import_recordings.take(database, recordings.dump(sample(0.02), "it"), "node7")
    assert (row.id, row.imported, created) == ("node7/formats", True, True)
    path.unlink()
    import_recordings.run(database, folder)
    assert recorded(database) == {"node7/formats": "recorded:node7"}
    assert names(database) == {"a grid": "recorded", "web-Test": "recorded"}
    import_recordings.delete(database, "node7/formats")
    assert (recorded(database), names(database)) == ({}, {})


@pytest.mark.parametrize(("backend", "kind"), [("cpu", "same"), ("cuda", "slower")])
def test_what_was_recorded_elsewhere_is_judged_by_the_limits_of_its_backend(
    database: Database, folder: Path, backend: Backend, kind: str
) -> None:
    """Neither the id nor the name of the device says what it is."""
    recording = sample()
    device = replace(recording.device, id="node7", backend=backend, name="AMD EPYC")
    assert recording.profile is not None
    profile = replace(recording.profile, device="node7", name="AMD EPYC")
    times = {"csr/vector": 1e-3, "csr/scalar": 1.015e-3}
    found = [
        m.with_(
            **dict.fromkeys(("min_s", "q1_s", "median_s", "q3_s", "max_s", "ci_low_s", "ci_high_s"), times[m.kernel]),
            rounds=9,
            aa_gap=0.0,
            device="node7",
            backend=backend,
        )
        for m in recording.measurements
        if m.matrix_id == "grid" and m.kernel in times and m.cache == "warm"
    ]
    own = replace(recording, device=device, profile=profile, matrices=recording.matrices[:1], measurements=tuple(found))
    write(folder, replace(own, traces=()), "node7")
    import_recordings.run(database, folder)
    with database.read() as session:
        rows = session.scalars(select(RecordedResultsRow.measurements)).one()
    stored: dict[str, Measurement] = {}
    for row in rows:
        m: Measurement = measurement_from_json(row)
        stored[m.kernel] = m
    assert {m.backend for m in stored.values()} == {backend}
    assert compare(stored["csr/vector"], stored["csr/scalar"]).kind == kind
