"""Files that are there whole or not at all."""

import gzip
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gpu_engine.generators import generate
from gpu_engine.host.whole_files import whole_file, write_whole
from gpu_engine.matrix_io import write_matrix_market

KILLED = """
import os, pathlib, signal, sys
from gpu_engine.host.whole_files import whole_file
with whole_file(pathlib.Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("content", ["ä\n", b"\x00\r\n"])
def test_a_file_is_written_as_it_was_given(tmp_path: Path, content: str | bytes) -> None:
    path = tmp_path / "a"
    write_whole(path, content)
    assert path.read_bytes() == (content.encode() if isinstance(content, str) else content)
    assert os.listdir(tmp_path) == ["a"]


def test_a_block_that_raises_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("before")
    for name in ("a", "b"):
        with pytest.raises(TypeError), whole_file(tmp_path / name) as file:
            file.writelines([b"half", None])
    assert (os.listdir(tmp_path), (tmp_path / "a").read_text()) == (["a"], "before")


def test_a_process_that_is_killed_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("before")
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert (ended.returncode, path.read_text()) == (-9, "before")


def test_a_file_has_the_mode_of_any_other_and_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a")
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "link", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640
    assert (tmp_path / "link").is_symlink()


def test_a_new_file_takes_no_others_place(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with whole_file(path, "utf-8", new=True) as file:
        file.write("x")
    with pytest.raises(FileExistsError), whole_file(path, "utf-8", new=True) as file:
        file.write("y")
    assert (path.read_text(), os.listdir(tmp_path)) == ("x", ["a"])


def test_a_device_is_written_in_place() -> None:
    write_whole(Path("/dev/null"), "x")
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize("name", ["a.mtx", "a.mtx.gz"])
def test_a_matrix_that_is_not_written_to_its_end_is_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    matrix = generate("stencil", {"points": 5, "nx": 3, "ny": 3})
    write_matrix_market(tmp_path / name, matrix)
    whole = (tmp_path / name).read_bytes()
    text = gzip.decompress(whole) if name.endswith("gz") else whole
    assert text.startswith(b"%%MatrixMarket matrix coordinate real general\n9 9 33\n")

    def break_off(_: object) -> object:
        yield "%%MatrixMarket"
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("gpu_engine.matrix_io.write.market_text", break_off)
    with pytest.raises(OSError, match="No space"):
        write_matrix_market(tmp_path / name, matrix)
    assert ((tmp_path / name).read_bytes(), os.listdir(tmp_path)) == (whole, [name])
