"""Private files: each way in which another user of the host could change what is loaded is seen."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from gpu_engine.host.private_files import Reason, exposures, exposures_above, is_private
from tests.users import needs_root

NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A private folder with files and a folder, below a private one."""
    made = tmp_path / "up" / "cache"
    (made / "inner").mkdir(parents=True)
    for file in ("a", "inner/b"):
        (made / file).touch()
        (made / file).chmod(0o644)
    for path in (made.parent, made, made / "inner"):
        path.chmod(0o755)
    return made


def write_bit(name: str, mode: int) -> Callable[[Path], None]:
    return lambda folder: (folder / name).chmod(mode)


def link_out(name: str, mode: int) -> Callable[[Path], None]:
    """A link in the folder to one that has this mode, or whose parent has it."""

    def make(folder: Path) -> None:
        target = folder.parent / "target"
        target.mkdir()
        target.chmod(mode)
        (target / "file").touch()
        (folder / "link").symlink_to(target / name)

    return make


OPENED: dict[str, tuple[Callable[[Path], None], Reason]] = {
    "the folder": (write_bit(".", 0o777), Reason.MODE),
    "the folder, to its group": (write_bit(".", 0o775), Reason.MODE),
    "a file, to its group": (write_bit("a", 0o664), Reason.MODE),
    "a file": (write_bit("a", 0o646), Reason.MODE),
    "a file further down": (write_bit("inner/b", 0o666), Reason.MODE),
    "a folder further down": (write_bit("inner", 0o777), Reason.MODE),
    "a sticky folder": (write_bit(".", 0o1777), Reason.MODE),
    "the folder above": (write_bit("..", 0o777), Reason.PARENT),
    "the target of a link": (link_out(".", 0o777), Reason.MODE),
    "the folder of the target of a link": (link_out("file", 0o777), Reason.PARENT),
}


@pytest.mark.parametrize("opened", OPENED)
def test_what_others_can_write_is_not_private(folder: Path, opened: str) -> None:
    assert is_private(folder)
    change, reason = OPENED[opened]
    change(folder)
    assert reason in {found.reason for found in exposures(folder)}


@needs_root
@pytest.mark.parametrize("name", [".", "a", "inner", "inner/b"])
def test_what_belongs_to_another_user_is_not_private(folder: Path, name: str) -> None:
    os.chown(folder / name, NOBODY, NOBODY)
    assert [(found.path, found.reason) for found in exposures(folder)] == [(folder / name, Reason.OWNER)]


@needs_root
def test_a_folder_above_that_belongs_to_another_user_is_not_private(folder: Path) -> None:
    os.chown(folder.parent, NOBODY, NOBODY)
    assert [(found.path, found.reason) for found in exposures(folder)] == [(folder.parent, Reason.PARENT_OWNER)]


@needs_root
def test_a_hard_link_to_a_file_of_another_user_is_not_private(folder: Path) -> None:
    (folder.parent / "theirs").touch()
    os.chown(folder.parent / "theirs", NOBODY, NOBODY)
    os.link(folder.parent / "theirs", folder / "named")
    assert [found.path for found in exposures(folder)] == [folder / "named"]


@needs_root
def test_in_a_sticky_folder_what_is_ours_stays_ours(folder: Path) -> None:
    folder.parent.chmod(0o1777)
    assert is_private(folder)
    (folder.parent / "link").symlink_to(folder)
    assert is_private(folder.parent / "link")
    os.chown(folder.parent / "link", NOBODY, NOBODY, follow_symlinks=False)
    assert [found.path for found in exposures(folder.parent / "link")] == [folder.parent]


def test_links_on_the_way_are_followed(folder: Path) -> None:
    (folder.parent / "open").mkdir()
    (folder.parent / "open" / "second").symlink_to(folder)
    (folder.parent / "first").symlink_to("open/../open/second")
    assert is_private(folder.parent / "first")
    (folder.parent / "open").chmod(0o777)
    assert [found.path for found in exposures(folder.parent / "first")] == [folder.parent / "open"]


def test_links_in_a_circle_end(folder: Path) -> None:
    (folder / "a-circle").symlink_to(folder)
    assert is_private(folder)
    (folder.parent / "one").symlink_to("other")
    (folder.parent / "other").symlink_to("one")
    assert list(exposures_above(folder.parent / "one")) == []
    (folder / "a-circle").unlink()
    (folder / "a-circle").symlink_to("a-circle")
    (folder / "b").touch()
    (folder / "b").chmod(0o666)
    assert [found.path for found in exposures(folder)] == [folder / "b"]


def test_what_is_missing_is_judged_by_its_folder(folder: Path) -> None:
    assert is_private(folder / "none" / "below")
    folder.chmod(0o777)
    assert not is_private(folder / "none")


def test_beneath_a_closed_folder_modes_need_not_count(folder: Path) -> None:
    (folder / "a").chmod(0o666)
    assert [found.path for found in exposures(folder, enclosed=True)] == [folder / "a"]
    folder.chmod(0o700)
    assert list(exposures(folder, enclosed=True)) == []
    assert [found.path for found in exposures(folder)] == [folder / "a"]


@needs_root
def test_a_group_of_one_user_alone_lets_nobody_else_write(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        pw_name = gr_name = "me"
        pw_gid = NOBODY
        gr_mem: tuple[str, ...] = ()

    monkeypatch.setattr("gpu_engine.host.private_files.os.geteuid", lambda: NOBODY)
    monkeypatch.setattr("gpu_engine.host.private_files.pwd.getpwuid", lambda _: Entry)
    monkeypatch.setattr("gpu_engine.host.private_files.grp.getgrgid", lambda _: Entry)
    with tempfile.TemporaryDirectory() as above:
        os.chown(above, NOBODY, NOBODY)
        Path(above).chmod(0o775)
        assert list(exposures_above(Path(above) / "file")) == []
        Entry.gr_mem = ("me", "other")
        assert [found.path for found in exposures_above(Path(above) / "file")] == [Path(above)]


@pytest.fixture
def spaced(tmp_path: Path) -> Path:
    folder = tmp_path / "a b"
    folder.mkdir()
    return folder


def test_the_command_mends_it(spaced: Path) -> None:
    (spaced / "file").touch()
    for path in (spaced, spaced / "file"):
        path.chmod(0o777)
    while found := next(exposures(spaced), None):
        assert os.system(found.command) == 0
    assert is_private(spaced)
