"""Recordings in a terminal, against the application itself: written, imported, listed, forgotten."""

from pathlib import Path

import pytest

from gpu_engine.errors import InputError, NotFoundError
from gpu_engine.recordings import files as recordings
from gpu_engine.records import DeviceInfo
from server import devices
from server.db import Database
from server.models import JobState
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.samples.formats import study_of
from tests.samples.ginkgo import file_of, older
from tests.sparsight.test_commands import documents_of, run
from tests.web.conftest import add_job

pytestmark = pytest.mark.usefixtures("connected")


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")


def test_results_go_from_a_device_into_a_file_and_from_there_into_a_service(
    database: Database, add_matrix: AddMatrix
) -> None:
    devices.register(database, [DeviceInfo("cpu", "cpu", "A processor", 2**34, 2**25)])
    add_job(database, "j1", "cpu", JobState.SUCCEEDED, study_of(add_matrix(BATTERY["tall"](), "tall", "m1")))
    written = run("record", "write", "formats", "--device", "cpu")
    assert written.exit_code == 0, written.output
    assert recordings.load(Path("formats.json.gz").read_bytes(), "it").study == "formats"
    imported = documents_of(run("record", "import", "formats.json.gz", "--name", "node7", "--json"))
    assert imported["id"] == "node7/formats"
    assert documents_of(run("record", "ls", "--json")) == [imported]
    listed = run("record", "ls").stdout
    assert "node7/formats" in listed
    assert "imported" in listed
    assert run("record", "rm", "node7/formats").exit_code == 0
    assert run("record", "ls").stderr.splitlines() == [
        "No reference results. Import some with `sparsight record import`."
    ]


def test_results_of_ginkgo_are_imported_under_a_name_and_the_unit_is_said() -> None:
    Path("a100.json").write_bytes(file_of(older()))
    assert isinstance(run("record", "import", "a100.json").exception, InputError)
    said = run("record", "import", "a100.json", "--name", "a100")
    told = "Imported a100/formats: results of formats on recorded:a100, times assumed to be nanoseconds."
    assert (said.exit_code, said.stderr.splitlines()) == (0, [told])
    # Nobody has said when it was measured.
    assert run("record", "ls").stdout.splitlines()[-1].split() == ["a100/formats", "a100", "(recorded)", "imported"]
    assert run("devices").stdout.splitlines()[-1].split() == [
        "recorded:a100",
        "a100",
        "(recorded)",
        "reference",
        "results",
    ]
    assert run("record", "rm", "a100/formats").exit_code == 0
    assert run("record", "ls").stderr.splitlines() == [
        "No reference results. Import some with `sparsight record import`."
    ]
    assert documents_of(run("matrix", "ls", "--recorded", "--json")) == []


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    assert isinstance(run("record", "write", "formats", "--device", "cuda:9").exception, NotFoundError)
    assert not Path("formats.json.gz").exists()
    assert isinstance(run("record", "rm", "node7/formats").exception, NotFoundError)
    Path("notes.txt").write_text("no recording")
    assert isinstance(run("record", "import", "notes.txt").exception, InputError)
