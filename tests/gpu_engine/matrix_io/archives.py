"""Tar archives built block by block, so that it is known which names and sizes each has; GNU tar is asked where it is.

Python's own tarfile is not asked: its releases differ in what they accept.
"""

import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpu_engine.matrix_io.archive import MEMBERS_MAX
from tests.gpu_engine.matrix_io import market
from tests.gpu_engine.matrix_io.case import Case, Meaning, UnreadableError

BLOCK = 512
OTHERS = "a link, a device or a sparse file beside the matrix, which the message names"


def header(name: bytes, size: int, kind: bytes = b"0", magic: bytes = b"ustar\x0000", prefix: bytes = b"") -> bytes:
    """A block of ustar, GNU or (without magic) of version 7."""
    sized = b"%011o\0" % size if size < 8**11 else b"\x80" + size.to_bytes(11, "big")
    fields = [(0, name[:100]), (100, b"0000644\0"), (108, b"0000000\0"), (116, b"0000000\0"), (124, sized)]
    fields += [(136, b"00000000000\0"), (156, kind), (257, magic), (345, prefix)]
    block = bytearray(BLOCK)
    for place, content in fields:
        block[place : place + len(content)] = content
    block[148:156] = b"%06o\0 " % (sum(block) + 8 * 32)
    return bytes(block)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % BLOCK)


def record(key: str, value: str) -> bytes:
    """A pax record, whose length counts itself."""
    body = f" {key}={value}\n".encode()
    length = len(body) + 1
    while len(str(length)) + len(body) != length:
        length += 1
    return str(length).encode() + body


def pax(*records: bytes, kind: bytes = b"x") -> bytes:
    content = b"".join(records)
    return header(b"PaxHeaders/x", len(content), kind) + padded(content)


def long_name(name: bytes) -> bytes:
    return header(b"././@LongLink", len(name) + 1, b"L", b"ustar  \0") + padded(name + b"\0")


@dataclass
class Tar:
    """An archive in the making; `readable` ends when something is put in that nobody reads."""

    content: bytes = b""
    matrix: list[bytes] = field(default_factory=list)
    refusable: str = ""
    readable: bool = True

    def put(self, rng: random.Random, name: str, content: bytes) -> None:
        """A file under a name of any length, spelled in one of the ways there are."""
        raw = name.encode()
        match = re.fullmatch(r"(?:\./)?([^/]+)/\1\.mtx", name)
        if match:
            self.matrix.append(content)
        ways = ["gnu", "pax", "pax size"]
        if len(raw) <= 100:
            ways += ["ustar", "v7", "contiguous"]
        elif "/" in name and len(raw.split(b"/", 1)[1]) <= 100 and len(raw.split(b"/", 1)[0]) <= 155:
            ways += ["prefix"]
        way = rng.choice(ways)
        if way == "gnu":
            block = long_name(raw) + header(raw, len(content), magic=b"ustar  \0")
        elif way == "pax":
            block = pax(record("path", name), record("mtime", "1.5")) + header(b"short", len(content))
        elif way == "pax size":
            block = pax(record("size", str(len(content))), record("path", name)) + header(b"short", rng.choice([0, 7]))
        elif way == "prefix":
            block = header(raw.split(b"/", 1)[1], len(content), prefix=raw.split(b"/", 1)[0])
        else:
            magic = b"" if way == "v7" else b"ustar\x0000"
            block = header(raw, len(content), {"v7": b"\0", "contiguous": b"7"}.get(way, b"0"), magic)
        self.content += block + padded(content)


def written(rng: random.Random) -> Tar:
    """An archive of a matrix among other members."""
    tar = Tar()
    folder = rng.choice(["m", "m", "name with blanks", "x" * 45, "y" * 120])
    text = market.written(rng, rng.choice(["real", "integer", "pattern"]), "general", True)
    if rng.random() < 0.3:
        tar.content += pax(record("comment", "c" * rng.choice([3, 3000])), kind=b"g")
    if rng.random() < 0.5:
        tar.content += header(f"{folder}/".encode()[:100], 0, b"5")
    before = [f"{folder}/{folder}_{number}.mtx" for number in range(rng.choice([0, 1, 3, 3, 120]))]
    for name in before:
        tar.put(rng, name, b"no matrix\n" * rng.randint(0, 3))
    tar.put(rng, rng.choice(["", "./"]) + f"{folder}/{folder}.mtx", text)
    for number in range(rng.choice([0, 1, 2])):
        tar.put(rng, f"{folder}/{'z' * rng.choice([3, 150])}{number}", b"\0\xff" * 300)
    return tar


def _extra(rng: random.Random, tar: Tar) -> str:
    """Puts something odd at the end or the begin; what it was."""
    what = rng.choice(["link", "sparse", "second matrix", "outside", "damaged", "size", "pax sparse", "none", "cut"])
    if what == "link":
        block, tar.refusable = header(b"m/link", 0, rng.choice([b"1", b"2", b"3", b"6"])), OTHERS
    elif what == "sparse":
        block, tar.refusable = header(b"m/sparse", 0, b"S", b"ustar  \0"), OTHERS
    elif what == "pax sparse":
        records = record("GNU.sparse.major", "0"), record("GNU.sparse.minor", "1"), record("GNU.sparse.name", "m/s")
        more = record("GNU.sparse.size", "9"), record("GNU.sparse.numblocks", "1"), record("GNU.sparse.map", "0,4")
        block, tar.refusable = pax(*records, *more) + header(b"GNUSparseFile.0/s", 4) + padded(b"abcd"), OTHERS
    elif what == "second matrix":
        block, tar.readable = header(b"n/n.mtx", 0), False
    elif what == "outside":
        block, tar.readable = header(rng.choice([b"../x", b"/etc/passwd", b"a/../../x"]), 0), False
    elif what == "damaged":
        block, tar.readable = bytes(BLOCK - 1) + b"x", False
    elif what == "size":
        block, tar.readable = pax(record("size", rng.choice(["-512", "1e3", "99999999999"]))) + header(b"m/x", 0), False
    else:
        block = b""
    if what == "cut":
        tar.content, tar.readable = tar.content[: rng.randrange(BLOCK, len(tar.content))], False
    tar.content = tar.content + block
    return what


def _case(name: str, tar: Tar, end: bytes) -> Case:
    meaning: Meaning | None = None
    if tar.readable and len(tar.matrix) == 1:
        try:
            meaning = market.read(tar.matrix[0])
        except UnreadableError:
            meaning = None
    if meaning and tar.refusable:
        meaning = Meaning(meaning.n_rows, meaning.n_cols, meaning.entries, tar.refusable)
    content = tar.content + end
    return Case("SuiteSparse archive", name, content, meaning)


def generate(rng: random.Random) -> Iterator[Case]:
    """Archives with long names, sizes, many members and all formats of headers; the same with something odd."""
    many = Tar(b"".join(header(b"m/%d" % number, 0) for number in range(MEMBERS_MAX // 2)))
    many.put(rng, "m/m.mtx", market.REAL + b"1 1 1\n1 1 1\n")
    yield _case("5,001 members", many, bytes(2 * BLOCK))
    while True:
        yield _case("whole", written(rng), bytes(2 * BLOCK) + rng.choice([b"", bytes(18 * BLOCK)]))
        tar = written(rng)
        what = _extra(rng, tar)
        yield _case(what, tar, bytes(2 * BLOCK) if what != "cut" else b"")


def agrees_with_tar(content: bytes, meaning: Meaning) -> bool:
    """Whether GNU tar finds the same text under the matrix's name; True where there is no GNU tar."""
    program = shutil.which("tar")
    if not program:
        return True
    listed = subprocess.run([program, "-t"], input=content, capture_output=True, check=False)
    names = [line for line in listed.stdout.decode().splitlines() if re.fullmatch(r"(?:\./)?([^/]+)/\1\.mtx", line)]
    if listed.returncode or len(names) != 1:
        return False
    found = subprocess.run([program, "-xO", names[0]], input=content, capture_output=True, check=True)
    text = market.read(found.stdout)
    return (text.n_rows, text.n_cols, text.entries) == (meaning.n_rows, meaning.n_cols, meaning.entries)
