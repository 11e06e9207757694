"""Matrices from folders and archives: all formats, in the order of names; what is refused, and that nothing is left."""

import gzip
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.batched.sources import SourceLimits, read_matrices
from gpu_engine.errors import MatrixFileError, ParameterError, TooLargeError
from gpu_engine.matrix_io import ReadLimits, ReadOptions
from tests.gpu_engine import matrix_files as files
from tests.gpu_engine.matrix_files import DENSE, MARKET, WHOLE, entry

ONE = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n"
CSR_BYTES = 12 * 7 + 4 * 5
"""Of DENSE."""

Pack = Callable[[files.Members], bytes]


def tarred(members: files.Members, mode: str = "w:gz") -> bytes:
    return files.tar(*((entry(name), content) for name, content in members), mode=mode)


PACKS: dict[str, Pack] = {
    "tar": lambda members: tarred(members, "w"),
    "tar.gz": tarred,
    "tar.bz2": lambda members: tarred(members, "w:bz2"),
    "zip": files.zipped,
    "zip, stored": lambda members: files.zipped(members, zipfile.ZIP_STORED),
}


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where archives are unpacked."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


def saved(tmp_path: Path, content: bytes, name: str = "source") -> Path:
    path = tmp_path / name
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("pack", PACKS.values(), ids=PACKS)
def test_members_come_in_the_order_of_their_names(pack: Pack, tmp_path: Path, temporary: Path) -> None:
    members = [("b/2.mtx", MARKET), ("c.mtx.gz", gzip.compress(ONE)), ("b/10.mtx", ONE)]
    found = list(read_matrices(saved(tmp_path, pack(members))))
    assert [name for name, _ in found] == ["b/10.mtx", "b/2.mtx", "c.mtx.gz"]
    assert [matrix.to_scipy().todense().tolist() for _, matrix in found] == [[[2.5]], DENSE, [[2.5]]]
    assert list(temporary.iterdir()) == []


def test_every_format_is_read_from_a_folder_and_from_an_archive(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for name, content in WHOLE.items():
        (folder / name).write_bytes(content)
    (folder / "further").mkdir()
    for source in (folder, saved(tmp_path, files.zipped(list(WHOLE.items())))):
        found = list(read_matrices(source))
        assert [name for name, _ in found] == sorted(WHOLE)
        for _, matrix in found:
            np.testing.assert_array_equal(matrix.to_scipy().todense(), DENSE)


def test_names_of_any_length_are_whole(tmp_path: Path) -> None:
    names = [f"{'a' * 60}/{'b' * 60}/{number}.mtx" for number in range(2)]
    found = list(read_matrices(saved(tmp_path, tarred([(name, ONE) for name in names]))))
    assert [name for name, _ in found] == names


def test_options_are_those_of_edge_lists(tmp_path: Path) -> None:
    source = saved(tmp_path, tarred([("a.txt", b"0 1\n1 2\n")]))
    ((_, matrix),) = read_matrices(source, options=ReadOptions(directed=True))
    assert matrix.to_scipy().todense().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    with pytest.raises(ParameterError, match=r"'a.mtx': The file is Matrix Market"):
        list(read_matrices(saved(tmp_path, tarred([("a.mtx", ONE)])), options=ReadOptions(directed=True)))


def test_a_file_is_read_when_it_is_asked_for(tmp_path: Path, temporary: Path) -> None:
    matrices = read_matrices(saved(tmp_path, tarred([("a.mtx", ONE), ("b.mtx", b"no matrix")])))
    assert next(matrices)[0] == "a.mtx"
    assert list(temporary.iterdir()) != []
    with pytest.raises(MatrixFileError, match=r"'b\.mtx': "):
        next(matrices)
    assert list(temporary.iterdir()) == []


def test_an_iterator_that_is_closed_leaves_nothing_behind(tmp_path: Path, temporary: Path) -> None:
    matrices = read_matrices(saved(tmp_path, files.zipped([("a.mtx", ONE), ("b.mtx", ONE)])))
    next(matrices)
    matrices.close()
    assert list(temporary.iterdir()) == []


def test_a_bad_file_is_named_with_its_line(tmp_path: Path) -> None:
    bad = MARKET.replace(b"4 2 7.0", b"4 9 7.0")
    with pytest.raises(MatrixFileError, match=r"'x/bad\.mtx': Line 8: ") as caught:
        list(read_matrices(saved(tmp_path, tarred([("x/bad.mtx", bad)]))))
    assert caught.value.line == 8


@pytest.mark.parametrize("pack", [PACKS["tar.gz"], PACKS["zip"], None], ids=["tar.gz", "zip", "folder"])
def test_the_count_is_limited(pack: Pack | None, tmp_path: Path, temporary: Path) -> None:
    source = tmp_path / "source"
    if pack is None:
        source.mkdir()
        for name in "abc":
            (source / name).write_bytes(ONE)
    else:
        source.write_bytes(pack([(name, ONE) for name in "abc"]))
    assert len(list(read_matrices(source, SourceLimits(files=3)))) == 3
    with pytest.raises(TooLargeError, match="more than 2 files"):
        list(read_matrices(source, SourceLimits(files=2)))
    assert list(temporary.iterdir()) == []


def test_the_bytes_of_all_matrices_are_limited(tmp_path: Path, temporary: Path) -> None:
    source = saved(tmp_path, tarred([("a.mtx", MARKET), ("b.mtx", MARKET)]))
    assert len(list(read_matrices(source, SourceLimits(matrix_bytes=2 * CSR_BYTES)))) == 2
    # Entries for which there is no room are not even read; row pointers may be what is too much.
    for most, words in (
        (CSR_BYTES + 12 * 6, "'b.mtx': .* 7 entries; at most 6 are read"),
        (2 * CSR_BYTES - 1, "'b.mtx' and the"),
    ):
        matrices = read_matrices(source, SourceLimits(matrix_bytes=most))
        assert next(matrices)[0] == "a.mtx"
        with pytest.raises(TooLargeError, match=words):
            next(matrices)
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("pack", [PACKS["tar.gz"], PACKS["zip"]], ids=["tar.gz", "zip"])
def test_the_bytes_of_an_archive_are_limited_before_it_is_unpacked(pack: Pack, tmp_path: Path, temporary: Path) -> None:
    source = saved(tmp_path, pack([("a.mtx", b"%" * 10**6)]))
    with pytest.raises(TooLargeError, match=r"unpacks to|holds more than"):
        list(read_matrices(source, SourceLimits(file=ReadLimits(decompressed_bytes=10**5))))
    with pytest.raises(TooLargeError, match=r"more than 200\s×"):
        list(read_matrices(source, SourceLimits(file=ReadLimits(ratio_after_bytes=10**5))))
    assert list(temporary.iterdir()) == []


def linked(name: str) -> bytes:
    """A zip archive with a symbolic link."""
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        info = zipfile.ZipInfo(name)
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    return file.getvalue()


def lying(content: bytes) -> bytes:
    """A zip archive of which a byte of a member is another than its checksum says."""
    packed = bytearray(files.zipped([("a.mtx", content)], zipfile.ZIP_STORED))
    packed[packed.index(content) + len(content) - 2] ^= 1
    return bytes(packed)


BAD: dict[str, tuple[bytes, str]] = {
    "a link in a tar": (files.tar((entry("l", type=tarfile.SYMTYPE, linkname="/etc/passwd"), b"")), "'l' is a link"),
    "a hard link": (files.tar((entry("l", type=tarfile.LNKTYPE, linkname="a"), b"")), "'l' is a link"),
    "a path out of a tar": (tarred([("../a.mtx", ONE)]), r"'\.\./a\.mtx' points outside"),
    "an absolute path in a tar": (tarred([("/a.mtx", ONE)]), "'/a.mtx' points outside"),
    "a link in a zip": (linked("l"), "'l' is a link"),
    "a path out of a zip": (files.zipped([("a/../../b.mtx", ONE)]), "points outside"),
    "an absolute path in a zip": (files.zipped([("/a.mtx", ONE)]), "'/a.mtx' points outside"),
    "a Windows path in a zip": (files.zipped([("..\\\\boot.ini", ONE)]), "points outside"),
    "one name twice": (tarred([("a.mtx", ONE), ("a.mtx", MARKET)]), "two members named 'a.mtx'"),
    "a tar that ends early": (tarred([("a.mtx", ONE)], "w")[:700], "ends too early"),
    "a zip that ends early": (files.zipped([("a.mtx", ONE)])[:60], "zip archive is damaged"),
    "another checksum": (lying(ONE), "zip archive is damaged"),
    "an archive without files": (files.tar((entry("d", type=tarfile.DIRTYPE), b"")), "has no files"),
    "no archive": (MARKET, "neither a folder nor a tar or zip archive"),
    "nothing": (b"", "neither a folder"),
}


@pytest.mark.parametrize(("content", "words"), BAD.values(), ids=BAD)
def test_what_is_no_archive_of_matrices_is_refused(content: bytes, words: str, tmp_path: Path, temporary: Path) -> None:
    with pytest.raises(MatrixFileError, match=words):
        list(read_matrices(saved(tmp_path, content)))
    assert list(temporary.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["source", "temporary"]


def test_a_folder_with_a_link_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    os.symlink(saved(tmp_path, ONE), folder / "a.mtx")
    with pytest.raises(MatrixFileError, match=r"'a\.mtx' is a link"):
        list(read_matrices(folder))


def test_a_directory_that_says_to_be_huge_is_not_read(tmp_path: Path) -> None:
    source = saved(tmp_path, files.zipped([(f"{number:0200}.mtx", b"") for number in range(600)]))
    with pytest.raises(TooLargeError, match="directory of the zip archive"):
        list(read_matrices(source, SourceLimits(files=1)))
