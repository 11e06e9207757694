"""`sparsight doctor`: each check finds what it is there for."""

import json
import socket
import sqlite3
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from gpu_engine.records import DeviceInfo
from server.settings import Settings
from sparsight import doctor
from sparsight.cli import app
from sparsight.doctor_check import Check

GPU = DeviceInfo(
    "cuda:0",
    "cuda",
    "H200",
    1,
    0,
    "GPU-1",
    {"driver": "580.1", "CUDA of the driver": "13.0", "compute capability": "9.0"},
)


def settings(tmp_path: Path, **fields: object) -> Settings:
    return Settings(home=tmp_path / "home", **fields)  # type: ignore[arg-type]


def checks_of(monkeypatch: pytest.MonkeyPatch, *devices: DeviceInfo, settings: Settings) -> dict[str, Check]:
    monkeypatch.setattr(doctor, "list_devices", lambda: devices)
    return {check.name: check for check in doctor.examine(settings)}


def test_a_sound_machine_without_a_gpu_has_no_failure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    checks = checks_of(monkeypatch, settings=settings(tmp_path, port=0))
    assert [check for check in checks.values() if check.status == "fail"] == []
    assert checks["NVIDIA driver"].status == "warn"
    assert "CPU" in checks["NVIDIA driver"].found
    assert not (tmp_path / "home").exists()


def test_every_finding_that_is_not_ok_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "_probe", lambda _: ("", "no"))
    bad = settings(tmp_path, database_url="sqlite:////nowhere/at/all.db")
    checks = checks_of(monkeypatch, GPU, settings=bad)
    troubled = [check for check in checks.values() if check.status != "ok"]
    assert {check.name for check in troubled} >= {"Database", "Ray", "CuPy"}
    assert all(check.advice for check in troubled)


FOLDERS = {
    "Data directory": "SPARSIGHT_HOME",
    "Matrices": "SPARSIGHT_STORE",
    "Cache of numba": "NUMBA_CACHE_DIR",
    "Cache of cupy": "CUPY_CACHE_DIR",
    "Temporary": "TMPDIR",
}


def folders(monkeypatch: pytest.MonkeyPatch, parent: Path, **chosen: Path) -> list[Check]:
    """What doctor says of the folders: those chosen by their variable, the others below the parent."""
    places = {variable: str(chosen.get(variable, parent / variable)) for variable in FOLDERS.values()}
    for variable, place in places.items():
        monkeypatch.setenv(variable, place)
        if variable not in chosen:
            Path(place).mkdir(mode=0o700)
    return list(doctor._folders(Settings()))


@pytest.mark.parametrize(("name", "variable"), FOLDERS.items())
def test_a_folder_that_cannot_be_written_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, variable: str
) -> None:
    (tmp_path / "file").write_text("")
    found = folders(monkeypatch, tmp_path, **{variable: tmp_path / "file" / "folder"})
    assert [check.name for check in found] == list(FOLDERS)
    (bad,) = (check for check in found if check.status != "ok")
    assert (bad.name, bad.status) == (name, "fail")
    assert f"{tmp_path}/file/folder is not writable: Not a directory" in bad.found
    assert variable in bad.advice


def test_folders_that_are_not_there_yet_are_one_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    chosen = {variable: tmp_path / "none" / variable for variable in FOLDERS.values()}
    assert [(c.name, c.status) for c in folders(monkeypatch, tmp_path, **chosen)] == [("Data directory", "ok")]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("answer", "status", "said"),
    [
        (httpx.Response(200, json={"status": "ok"}), "ok", "a Sparsight server"),
        (httpx.Response(200, json={"status": "up"}), "warn", "used by another program"),
        (httpx.Response(200, text="hello"), "warn", "used by another program"),
        (httpx.ReadTimeout("silent"), "warn", "used by another program"),
    ],
)
def test_what_has_the_port_is_asked_who_it_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, answer: httpx.Response | Exception, status: str, said: str
) -> None:
    asked: list[str] = []

    def get(url: str, **_: object) -> httpx.Response:
        asked.append(url)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(httpx, "get", get)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = doctor._port(settings(tmp_path, port=port))
    assert asked == [f"http://127.0.0.1:{port}/healthz"]
    assert found.status == status
    assert said in found.found
    assert ("SPARSIGHT_PORT" in found.advice) == (status == "warn")


def test_an_address_of_another_machine_is_a_warning(tmp_path: Path) -> None:
    found = doctor._port(settings(tmp_path, host="192.0.2.1", port=0))
    assert (found.status, "SPARSIGHT_HOST" in found.advice) == ("warn", True)


def test_a_full_disk_is_a_warning(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor, "DISK_LOW_BYTES", 2**80)
    assert doctor._disk(settings(tmp_path)).status == "warn"


def test_a_database_without_tables_fails_and_names_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    sqlite3.connect(tmp_path / "home" / "sparsight.db").close()
    found = doctor._database(settings(tmp_path))
    assert found.status == "fail"
    assert "sparsight migrate" in found.advice


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    url = "postgresql+psycopg://user:secret@127.0.0.1:1/none"
    found = doctor._database(settings(tmp_path, database_url=url))
    assert found.status == "fail"
    assert "secret" not in found.found


@pytest.mark.parametrize(("printed", "status"), [("14.2.0 13.0", "ok"), ("14.2.0 12.9", "ok"), ("14.2.0 14.0", "fail")])
def test_nvrtc_must_not_be_newer_than_the_driver(monkeypatch: pytest.MonkeyPatch, printed: str, status: str) -> None:
    monkeypatch.setattr(doctor, "_probe", lambda _: (printed, ""))
    monkeypatch.setattr(doctor, "_cupy_wheels", lambda: ["cupy-cuda13x"])
    assert [check.status for check in doctor._cupy(13)] == ["ok", status]


@pytest.mark.parametrize(("wheels", "said"), [([], "not installed"), (["cupy-cuda12x", "cupy-cuda13x"], "2 times")])
def test_cupy_must_be_there_once(monkeypatch: pytest.MonkeyPatch, wheels: list[str], said: str) -> None:
    monkeypatch.setattr(doctor, "_cupy_wheels", lambda: wheels)
    (found,) = doctor._cupy(13)
    assert found.status == "fail"
    assert said in found.found


def test_a_probe_survives_a_crash() -> None:
    assert doctor._probe("print(1)") == ("1", "")
    assert doctor._probe("raise ValueError('no')") == ("", "ValueError: no")
    assert doctor._probe("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)") == ("", "exit code -11")


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("warn", 0), ("fail", 1)])
def test_the_exit_code_is_that_of_the_worst_check(monkeypatch: pytest.MonkeyPatch, status: str, code: int) -> None:
    found = [Check("Python", "ok", "3"), Check("Data directory", status, "here", "move")]  # type: ignore[arg-type]
    monkeypatch.setattr(doctor, "examine", lambda _: iter(found))
    ended = CliRunner().invoke(app, ["doctor", "--json"])
    assert ended.exit_code == code
    assert [entry["status"] for entry in json.loads(ended.stdout)] == ["ok", status]
    assert "move" in CliRunner().invoke(app, ["doctor"]).stdout
