"""SuiteSparse archives that are refused: name → (file, words of the message)."""

import gzip
import struct
import tarfile
from collections.abc import Callable
from typing import Any

from tests.gpu_engine import matrix_files as files
from tests.gpu_engine.matrix_files import MARKET, entry, harwell_boeing

MIB = 2**20


def _header(name: str = "m/m.mtx", **changed: Any) -> bytes:
    """A gzipped archive whose one header says what no program writes."""
    block = bytearray(entry(name, size=len(MARKET)).tobuf(tarfile.GNU_FORMAT))
    for place, value in changed.values():
        block[place : place + len(value)] = value
    if "checksum" not in changed:
        block[148:156] = b"%06o\0 " % (sum(block[:148]) + sum(block[156:]) + 8 * 32)
    return gzip.compress(bytes(block) + MARKET.ljust(512, b"\0") + bytes(1024))


def _link(kind: bytes, **fields: Any) -> bytes:
    return files.suitesparse((entry("m/link", type=kind, **fields), b""))


def _bad_name(name: str) -> bytes:
    return files.suitesparse((entry(name), b"root"))


BAD = {
    "a name with ../": (_bad_name("../../etc/passwd"), "points outside"),
    "a name with ../ within": (_bad_name("m/../../m.mtx"), "points outside"),
    "a name that ends with ..": (files.suitesparse((entry("m/..", type=tarfile.DIRTYPE), b"")), "points outside"),
    "an absolute name": (_bad_name("/etc/passwd"), "points outside"),
    "the matrix under an absolute name": (files.tar((entry("/m/m.mtx"), MARKET)), "points outside"),
    "the matrix under ../": (files.tar((entry("../m/m.mtx"), MARKET)), "points outside"),
    "a Windows path": (_bad_name("..\\..\\boot.ini"), "points outside"),
    "a symbolic link": (_link(tarfile.SYMTYPE, linkname="/etc/passwd"), "is a link"),
    "a symbolic link named as the matrix": (
        files.tar((entry("m/m.mtx", type=tarfile.SYMTYPE, linkname="/etc/passwd"), b"")),
        "is a link",
    ),
    "a hard link": (_link(tarfile.LNKTYPE, linkname="/etc/passwd"), "is a link"),
    "a fifo": (_link(tarfile.FIFOTYPE), "a device"),
    "a character device": (_link(tarfile.CHRTYPE), "a device"),
    "a block device": (_link(tarfile.BLKTYPE), "a device"),
    "a sparse file": (_link(tarfile.GNUTYPE_SPARSE), "a device"),
    "an unknown type": (_link(b"Q"), "a device"),
    "a link behind the matrix": (
        files.tar((entry("m/m.mtx"), MARKET), (entry("x", type=tarfile.SYMTYPE, linkname="/"), b"")),
        "is a link",
    ),
    "no members": (
        gzip.compress(entry("m", type=tarfile.DIRTYPE).tobuf() + bytes(1024)),
        "has no member",
    ),
    "another name": (files.tar((entry("m/n.mtx"), MARKET)), "has no member"),
    "the matrix without folder": (files.tar((entry("m.mtx"), MARKET)), "has no member"),
    "the matrix too deep": (files.tar((entry("a/m/m.mtx"), MARKET)), "has no member"),
    "a folder named as the matrix": (files.tar((entry("m/m.mtx", type=tarfile.DIRTYPE), b"")), "has no member"),
    "a Rutherford-Boeing archive": (files.tar((entry("m/m.rb"), harwell_boeing())), "has no member"),
    "two matrices": (files.suitesparse((entry("n/n.mtx"), MARKET)), "two matrices"),
    "the same matrix twice": (files.suitesparse((entry("m/m.mtx"), MARKET)), "two matrices"),
    "an empty matrix file": (_header(size=(124, b"%011o\0" % 0)), "first line|'%%MatrixMarket"),
    "a member that is no matrix": (files.suitesparse(content=b"hello\n"), "'hello'"),
    "an archive within": (files.suitesparse(content=files.suitesparse(mode="w")), "NUL"),
    "a gzip within": (files.suitesparse(content=gzip.compress(MARKET)), "NUL|'%%MatrixMarket"),
    "a wrong checksum": (_header(checksum=(148, b"000001\0 ")), "damaged"),
    "a checksum that is no number": (_header(checksum=(148, b"rubbish!")), "damaged"),
    "a size that is no number": (_header(size=(124, b"rubbish....")), "damaged"),
    "a negative size": (_header(size=(124, b"\xff" * 12)), "has a size of"),
    "a size past the end": (_header(size=(124, b"%011o\0" % 2048)), "NUL|too early"),
    "a size of 8 GB": (_header(size=(124, b"%011o\0" % (8**11 - 1))), "NUL|too early"),
    "a size of 10^18": (_header(size=(124, b"\x80\0\0\0" + struct.pack(">Q", 10**18))), "NUL|too early"),
    "a size cut within a line": (_header(size=(124, b"%011o\0" % 60)), "entries"),
    "a folder with content": (_header(kind=(156, b"5")), "has a size of"),
    "a long name of 1 MB": (_header(kind=(156, b"L"), size=(124, b"%011o\0" % MIB)), "extended header"),
    "an extended header of 8 GB": (_header(kind=(156, b"x"), size=(124, b"%011o\0" % (8**11 - 1))), "extended header"),
    "a global header of negative size": (_header(kind=(156, b"g"), size=(124, b"\xff" * 12)), "extended header"),
    "no end marker": (gzip.compress(gzip.decompress(files.suitesparse())[:1536]), "too early"),
    "cut within the folder": (gzip.compress(gzip.decompress(files.suitesparse())[:600]), "too early"),
}

LARGE: dict[str, Callable[[], bytes]] = {
    "an archive of 300,000 empty members": lambda: gzip.compress(
        b"".join(entry(f"m/{number % 1000}").tobuf(tarfile.GNU_FORMAT) for number in range(1000)) * 300, 1
    ),
    "10,001 members": lambda: files.suitesparse(*[(entry(f"m/{number}"), b"") for number in range(10_000)]),
    "extended headers without end": lambda: gzip.compress(
        (entry("x", type=tarfile.XGLTYPE, size=64 * 1024).tobuf() + b"16 comment=abcd\n" * 4 * 1024) * 100
    ),
    "a member of 200 MB": lambda: files.tar((entry("m/x"), bytes(200 * MIB))),
    "a matrix of 200 MB of comments": lambda: files.suitesparse(
        content=MARKET.splitlines(keepends=True)[0] + b"% comment\n" * 20 * MIB
    ),
    "200 MB behind the end of an archive": lambda: gzip.compress(
        gzip.decompress(files.suitesparse()) + bytes(200 * MIB)
    ),
}
