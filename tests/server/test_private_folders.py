"""The home, and the temporary folder of a worker: who may do what there, and what is left of them."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from gpu_engine.errors import InputError, UnavailableError
from server.private_folders import home_exposures, open_home, open_service, worker_folder
from server.settings import Settings
from tests.users import needs_root


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """Other tests have the umask that they had."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of temporary files, whose path is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="s") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        yield Path(folder)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_home_and_what_is_made_in_it_are_closed_to_others(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    open_home(home)
    (home / "file").touch()
    (home / "folder").mkdir()
    assert [mode(path) for path in (home, home / "file", home / "folder")] == [0o700, 0o600, 0o700]
    assert sorted(path.name for path in home.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize("given", [0o770, 0o777])
def test_a_home_that_others_can_write_is_closed_with_all_that_is_in_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, given: int
) -> None:
    for name in ("sparsight.db", "matrices/m/values.npy", "numba/a/x.nbi", "kernels/k.cubin"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o666)
    (tmp_path / "matrices").chmod(0o777)
    tmp_path.chmod(given)
    open_home(tmp_path)
    assert mode(tmp_path) == 0o700
    assert mode(tmp_path / "sparsight.db") == mode(tmp_path / "matrices" / "m" / "values.npy") == 0o644
    assert mode(tmp_path / "matrices") == 0o755
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == ["sparsight.db", "values.npy"]
    assert (tmp_path / "numba" / "a").is_dir()
    (said,) = (record for record in caplog.records if record.levelname == "WARNING")
    assert said.args == (tmp_path, 3, "; emptied the caches numba, kernels")


@needs_root
@pytest.mark.parametrize("foreign", ["the folder", "a file in it", "everybody's"])
def test_a_home_that_is_not_ours_alone_is_refused_and_left_as_it_is(tmp_path: Path, foreign: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o1777 if foreign == "everybody's" else 0o777)
    (home / "uploads").mkdir()
    if foreign != "everybody's":
        os.chown(home if foreign == "the folder" else home / "uploads", 65534, 65534)
    before = mode(home)
    with pytest.raises(InputError, match="SPARSIGHT_HOME"):
        open_home(home)
    assert mode(home) == before


@needs_root
def test_a_file_with_a_second_name_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "theirs").touch()
    (tmp_path / "theirs").chmod(0o666)
    os.link(tmp_path / "theirs", tmp_path / "home" / "sparsight.db")
    with pytest.raises(InputError, match="2 hard links"):
        open_home(tmp_path / "home")
    assert mode(tmp_path / "theirs") == 0o666


def test_a_home_that_others_can_replace_is_refused_with_the_command(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    tmp_path.chmod(0o777)
    with pytest.raises(InputError, match=f"Run `chmod go-w {tmp_path}`"):
        open_home(tmp_path / "home")


def test_a_home_that_others_can_read_is_closed_and_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "home").mkdir()
    open_home(tmp_path / "home")
    assert (mode(tmp_path / "home"), len(caplog.records)) == (0o700, 1)
    open_home(tmp_path / "home")
    assert len(caplog.records) == 1


def test_every_way_into_a_home_is_told(tmp_path: Path) -> None:
    for name in ("a", "b", "c", "d", "e"):
        (tmp_path / name).touch()
        (tmp_path / name).chmod(0o666)
    tmp_path.chmod(0o755)
    found = home_exposures(tmp_path)
    assert [str(tmp_path / name) in text for name, text in zip("abc", found, strict=False)] == [True] * 3
    assert found[3] == "other users can write 2 more files and folders in it"


def named(folder: Path, variable: str) -> Path:
    """What a variable names, private."""
    folder.mkdir(mode=0o755)
    file = folder / "file"
    file.touch(mode=0o644)
    return file if variable in FILES else folder


FILES = ("SPARSIGHT_DATABASE_URL", "SPARSIGHT_TOKEN_FILE", "SPARSIGHT_DATABASE_PASSWORD_FILE", "SPARSIGHT_CUSPARSE")
NAMED = (*FILES, "SPARSIGHT_STORE", "NUMBA_CACHE_DIR", "CUPY_CACHE_DIR")


@pytest.mark.parametrize("variable", NAMED)
def test_what_a_variable_names_is_refused_where_others_can_write_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in [name for name in os.environ if name.startswith(("SPARSIGHT_", "NUMBA_CACHE", "CUPY_CACHE"))]:
        monkeypatch.delenv(name)
    path = named(tmp_path / "named", variable)
    path.parent.joinpath("file").write_text("secret") if variable in FILES else None
    monkeypatch.setenv(variable, f"sqlite:///{path}" if variable == "SPARSIGHT_DATABASE_URL" else str(path))
    if variable == "SPARSIGHT_DATABASE_PASSWORD_FILE":
        monkeypatch.setenv("SPARSIGHT_DATABASE_URL", "postgresql+psycopg://me@host/data")
    settings = Settings(home=tmp_path / "home")
    open_service(settings)
    path.chmod(0o777 if path.is_dir() else 0o666)
    with pytest.raises(InputError, match=f"what {variable} names: .*Run `chmod -R go-w"):
        open_service(settings)


def test_a_sound_home_is_no_news(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    tmp_path.chmod(0o1777)
    open_home(tmp_path / "home")
    assert caplog.text == ""


def test_only_the_user_enters_the_folder_of_a_worker(place: Path) -> None:
    with worker_folder() as folder:
        assert (folder.parent, mode(folder)) == (place, 0o700)
    assert list(place.iterdir()) == []


def test_the_folder_of_a_killed_worker_is_removed_by_the_next_and_that_of_a_living_one_stays(place: Path) -> None:
    code = """if True:
        import os, sys
        from server.private_folders import worker_folder
        with worker_folder() as folder:
            (folder / "ray").mkdir()
            (folder / "ray").chmod(0o777)
            print(folder, flush=True)
            sys.stdin.read()
    """
    (place / "sparsight-other" / "a").mkdir(parents=True)
    (place / "sparsight-link").symlink_to(place / "sparsight-other")
    environment = {**os.environ, "TMPDIR": str(place)}
    killed = subprocess.Popen([sys.executable, "-c", code], env=environment, stdin=-1, stdout=-1, text=True)
    assert killed.stdout
    left = Path(killed.stdout.readline().strip())
    with killed, worker_folder() as living:
        assert left.exists()
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        with worker_folder():
            assert not left.exists()
            assert living.exists()
    assert sorted(path.name for path in place.iterdir()) == ["sparsight-link", "sparsight-other"]


def test_the_folder_of_a_worker_killed_before_it_locked_it_is_removed(place: Path) -> None:
    (place / "sparsight-abandone").mkdir()
    with worker_folder() as folder:
        assert list(place.iterdir()) == [folder]


def test_a_place_too_deep_for_sockets_is_named(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = place / ("x" * 30)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    with pytest.raises(UnavailableError, match="Set TMPDIR"), worker_folder():
        pass
    assert list(deep.iterdir()) == []


def test_a_place_in_which_others_replace_folders_is_refused(place: Path) -> None:
    place.chmod(0o777)
    with pytest.raises(UnavailableError, match="Run `chmod go-w"), worker_folder():
        pass
    place.chmod(0o1777)
    with worker_folder() as folder:
        assert folder.parent == place


def test_no_place_for_temporary_files_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(UnavailableError, match="Set TMPDIR"), worker_folder():
        pass
