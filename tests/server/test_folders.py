"""The home, and the temporary folder of a worker: who may do what there, and what is left of them."""

import logging
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
from server.folders import open_home, worker_folder


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
def test_a_home_that_others_can_write_is_closed_to_them(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, given: int
) -> None:
    (tmp_path / "sparsight.db").touch()
    tmp_path.chmod(given)
    open_home(tmp_path)
    assert mode(tmp_path) == given & 0o755
    assert "they no longer can" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes a folder another user's")
@pytest.mark.parametrize("foreign", ["the folder", "a file in it", "everybody's"])
def test_a_home_that_is_not_ours_alone_is_refused_and_left_as_it_is(tmp_path: Path, foreign: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o1777 if foreign == "everybody's" else 0o777)
    (home / "numba").mkdir()
    if foreign != "everybody's":
        os.chown(home if foreign == "the folder" else home / "numba", 65534, 65534)
    before = mode(home)
    with pytest.raises(InputError, match="Set SPARSIGHT_HOME"):
        open_home(home)
    assert mode(home) == before


@pytest.mark.parametrize(("parent", "home", "said"), [(0o755, 0o755, "read"), (0o777, 0o700, "replaced")])
def test_a_home_that_others_can_read_or_replace_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, parent: int, home: int, said: str
) -> None:
    (tmp_path / "home").mkdir(mode=home)
    tmp_path.chmod(parent)
    with caplog.at_level(logging.WARNING):
        open_home(tmp_path / "home")
    assert f"can be {said} by other users" in caplog.text


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
        from server.folders import worker_folder
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


def test_no_place_for_temporary_files_is_said_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(UnavailableError, match="Set TMPDIR"), worker_folder():
        pass
