"""Headers of tar archives, block by block: what each program writes is read, and damage is refused on every Python."""

from collections.abc import Iterator

import pytest

from gpu_engine.errors import MatrixFileError, TooLargeError
from gpu_engine.matrix_io.tar import BLOCK, END, is_tar, tar_members
from tests.gpu_engine.matrix_io.archives import header, long_name, padded, pax, record

TEXT = b"some content\n"
PLAIN = header(b"a", len(TEXT)) + padded(TEXT)
Listing = list[tuple[str, int, bool, bytes]]


def summed(block: bytes, signed: bool = False) -> bytes:
    """The block with the checksum of its bytes, taken as signed ones where that is asked for."""
    blank = block[:148] + b" " * 8 + block[156:]
    total = sum(byte - 256 if signed and byte > 127 else byte for byte in blank)
    return block[:148] + b"%06o\0 " % total + block[156:]


def changed(place: int, content: bytes, name: bytes = b"a", kind: bytes = b"0", size: int = len(TEXT)) -> bytes:
    """A header with other bytes at a place, and the checksum that fits."""
    block = header(name, size, kind)
    return summed(block[:place] + content + block[place + len(content) :])


def listing(content: bytes, members_max: int = 100, piece: int = 100) -> Listing:
    blocks: Iterator[bytes] = (content[at : at + piece] for at in range(0, len(content), piece))
    return [(m.name, m.size, m.is_file, b"".join(c)) for m, c in tar_members(blocks, members_max)]


def file(name: str = "a", content: bytes = TEXT) -> tuple[str, int, bool, bytes]:
    return name, len(content), True, content


LONG = "m/" + "x" * 150
READ = {
    "ustar": (PLAIN, [file()]),
    "version 7": (header(b"a", len(TEXT), b"\0", b"") + padded(TEXT), [file()]),
    "contiguous": (header(b"a", len(TEXT), b"7") + padded(TEXT), [file()]),
    "a prefix": (header(b"a", len(TEXT), prefix=b"m/n") + padded(TEXT), [file("m/n/a")]),
    "times where POSIX has a prefix": (
        header(b"a", len(TEXT), magic=b"ustar  \0", prefix=b"14700000000") + padded(TEXT), [file()],
    ),
    "a name of 100 bytes": (header(b"n" * 100, len(TEXT)) + padded(TEXT), [file("n" * 100)]),
    "a long name of GNU": (long_name(LONG.encode()) + PLAIN, [file(LONG)]),
    "a long name of pax": (pax(record("path", LONG), record("mtime", "1.5")) + PLAIN, [file(LONG)]),
    "a long name of Solaris": (pax(record("path", LONG), kind=b"X") + PLAIN, [file(LONG)]),
    "a name that is no UTF-8": (header(b"\xff\xe9", len(TEXT)) + padded(TEXT), [file("\udcff\udce9")]),
    "a size in base 256": (changed(124, b"\x80" + len(TEXT).to_bytes(11, "big")) + padded(TEXT), [file()]),
    "a size with blanks": (changed(124, b"         15 ") + padded(TEXT), [file()]),
    "a size without an end": (changed(124, b"000000000015") + padded(TEXT), [file()]),
    "a size of pax": (pax(record("size", str(len(TEXT)))) + header(b"a", 0) + padded(TEXT), [file()]),
    "a time before 1970": (changed(136, b"\xff" * 12) + padded(TEXT), [file()]),
    "a large owner": (changed(108, b"\x80" + (2**31).to_bytes(7, "big")) + padded(TEXT), [file()]),
    "a global header": (pax(record("comment", "c"), kind=b"g") + PLAIN, [file()]),
    "a record taken back": (pax(record("path", "other"), record("path", "")) + PLAIN, [file()]),
    "signed checksums": (summed(header(b"\xe9", len(TEXT)), signed=True) + padded(TEXT), [file("\udce9")]),
    "a folder": (header(b"m/", 0, b"5") + PLAIN, [("m", 0, False, b""), file()]),
    "a folder of version 7": (header(b"m/", 0, b"\0", b"") + PLAIN, [("m", 0, False, b""), file()]),
    "a folder by its long name": (
        long_name(LONG.encode() + b"/") + header(b"m", 0, b"\0") + PLAIN, [(LONG, 0, False, b""), file()],
    ),
    "content of a whole block": (header(b"a", BLOCK) + b"z" * BLOCK + PLAIN, [file(content=b"z" * BLOCK), file()]),
    "rubbish behind the end": (PLAIN + END + b"rubbish", [file()]),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_what_programs_write_is_read(name: str) -> None:
    content, expected = READ[name]
    for piece in (1, 511, 512, 5000):
        assert listing(content + END * 2, piece=piece) == expected
    assert is_tar(content)


GNU = b"ustar  \0"
DAMAGED = {
    "a checksum of another header": PLAIN[:148] + b"000001\0 " + PLAIN[156:],
    "a checksum that is no number": PLAIN[:148] + b"rubbish!" + PLAIN[156:],
    "a flipped bit": bytes([PLAIN[0] ^ 1]) + PLAIN[1:],
    "a negative size": changed(124, b"\xff" * 12),
    "a size with a sign": changed(124, b"-0000000015\0"),
    "a size with an underscore": changed(124, b"0000000_015\0"),
    "a size with a digit of no octal": changed(124, b"00000000018\0"),
    "a size behind its end": changed(124, b"0000\x00000015\0"),
    "a size with half a mark of base 256": changed(124, b"\x81" + bytes(11)),
    "a size past the end": header(b"a", 5 * BLOCK) + padded(TEXT),
    "a size of 10^18": changed(124, b"\x80\0\0\0" + (10**18).to_bytes(8, "big")),
    "an owner that is no number": changed(108, b"nobody\0\0") + padded(TEXT),
    "a time that is no number": changed(136, b"yesterday\0\0\0") + padded(TEXT),
    "a size of pax with a sign": pax(record("size", "-13")) + PLAIN,
    "a size of pax with an exponent": pax(record("size", "1e1")) + PLAIN,
    "a size of pax in other digits": pax(record("size", "١٣")) + PLAIN,
    "a record of no length": pax(b"path=m\n") + PLAIN,
    "a record of too great a length": pax(b"99 path=m\n") + PLAIN,
    "a record of too small a length": pax(b"9 path=mmm\n") + PLAIN,
    "a record of length 0": pax(b"0 path=m\n") + PLAIN,
    "a record with a leading zero": pax(b"011 path=m\n") + PLAIN,
    "a record without an equals sign": pax(b"9 pathm\n\n") + PLAIN,
    "a record and rubbish": pax(record("path", "m") + b"\0\0") + PLAIN,
    "a path with NUL": pax(record("path", "m\0n")) + PLAIN,
    "two headers of pax": pax(record("path", "m")) * 2 + PLAIN,
    "two long names": long_name(b"m") * 2 + PLAIN,
    "long names that differ": long_name(b"m") + pax(record("path", "n")) + PLAIN,
    "an extended header of negative size": changed(124, b"\xff" * 12, kind=b"g") + PLAIN,
    "an extended header of 1 MB": header(b"x", 2**20, b"x") + bytes(2**20),
    "an extended header without a member": PLAIN + pax(record("path", "m")),
    "an extended header cut off": PLAIN + pax(record("path", "m"))[:700],
    "a sparse file of GNU": header(b"m", 0, b"S", GNU),
    "a sparse file of pax": pax(record("GNU.sparse.major", "1")) + PLAIN,
    "a volume": header(b"m", 0, b"M", GNU),
    "a folder with content": header(b"m", len(TEXT), b"5") + padded(TEXT),
    "a folder of version 7 with content": header(b"m/", len(TEXT), b"\0", b"") + padded(TEXT),
    "a name outside by pax": pax(record("path", "../m")) + PLAIN,
    "a name outside by a global header": pax(record("path", "/m"), kind=b"g") + PLAIN,
    "a name outside by its prefix": header(b"a", len(TEXT), prefix=b"..") + padded(TEXT),
    "half a header": PLAIN + PLAIN[:300],
    "half a padding": (PLAIN + PLAIN)[:-100],
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGED)
def test_damage_is_refused(name: str) -> None:
    end = b"" if name.startswith(("half", "an extended header cut")) else END * 2
    with pytest.raises(MatrixFileError) as caught:
        listing(DAMAGED[name] + end)
    assert caught.value.message.endswith(".")


def test_an_archive_without_its_end_is_refused() -> None:
    with pytest.raises(MatrixFileError, match="too early"):
        listing(PLAIN)


@pytest.mark.parametrize("content", [PLAIN * 101, pax(record("comment", "c" * 9000), kind=b"g") * 30])
def test_members_and_headers_are_limited(content: bytes) -> None:
    with pytest.raises(TooLargeError):
        listing(content + END)


def test_content_that_is_not_asked_for_is_passed_over() -> None:
    blocks = iter([PLAIN * 3 + END])
    assert [member.name for member, _ in tar_members(blocks, 3)] == ["a"] * 3


@pytest.mark.parametrize("head", [b"", END, b"a" * BLOCK, PLAIN[:200], b"%%MatrixMarket matrix".ljust(BLOCK)])
def test_other_files_are_no_archives(head: bytes) -> None:
    assert not is_tar(head)
