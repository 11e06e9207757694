"""Reads untrusted tar archives: version 7, ustar, pax, and GNU, with long names and sizes above 8 GiB.

Python's tarfile is not used: its releases differ in what they accept and how they report damage, and some end an
archive silently at a damaged header. This module checks every header, limits their cost, and
rejects archives that programs would read differently.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io.stream import ByteStream

BLOCK = 512
END = bytes(BLOCK)
EXTENDED_BYTES_MAX = 64 * 1024
"""Maximum bytes of an extended header; long names and times need far less."""

HEADERS_BYTES_MAX = 256 * 1024
"""Maximum bytes of all extended headers between two members."""

NUMBERS = {"mode": (100, 108), "uid": (108, 116), "gid": (116, 124), "mtime": (136, 148)}
"""Positions of numbers in a header that are checked but not used."""

SIZE, CHECKSUM, KIND = slice(124, 136), slice(148, 156), slice(156, 157)
MAGIC, PREFIX = slice(257, 263), slice(345, 500)
OCTAL = re.compile(rb" *([0-7]*)[ \0]*")
RECORD = re.compile(rb"([1-9]\d{0,8}) ([^=\n]+)=")

FILES, FOLDER = (b"0", b"\0", b"7"), b"5"
GLOBAL, PAX, LONG_NAME, LONG_LINK = b"g", (b"x", b"X"), b"L", b"K"
EXTENDED = (GLOBAL, *PAX, LONG_NAME, LONG_LINK)


@dataclass(frozen=True, slots=True)
class Member:
    """A file or folder of an archive; size in bytes."""

    name: str
    size: int
    is_file: bool


@dataclass(frozen=True, slots=True)
class _Header:
    """A header block of 512 bytes, unchecked; size in bytes, which may be negative."""

    name: bytes
    size: int
    kind: bytes


@dataclass
class _Extended:
    """The extended headers before a member."""

    everywhere: dict[bytes, bytes] = field(default_factory=dict)
    pax: dict[bytes, bytes] | None = None
    names: dict[bytes, bytes] = field(default_factory=dict)
    total_bytes: int = 0

    def add(self, kind: bytes, content: bytes) -> None:
        """Add an extended header; raises MatrixFileError if it is damaged or the second of its kind."""
        self.total_bytes += len(content) + BLOCK
        if self.total_bytes > HEADERS_BYTES_MAX:
            raise TooLargeError(f"The archive has extended headers of more than {HEADERS_BYTES_MAX} bytes in a row.")
        if kind == GLOBAL:
            self.everywhere |= _records(content)
        elif kind in PAX:
            if self.pax is not None:
                raise _damaged("two extended headers for one member")
            self.pax = _records(content)
        elif kind in self.names:
            raise _damaged("two long names for one member")
        else:
            self.names[kind] = _text(content)

    def is_pending(self) -> bool:
        """Return whether a member must follow."""
        return self.pax is not None or bool(self.names)

    def member(self, header: _Header) -> Member:
        """Return the member of these headers, and clear them; raises MatrixFileError for an unsupported member."""
        # A record without a value takes back one of the same key.
        records = {key: value for key, value in {**self.everywhere, **(self.pax or {})}.items() if value}
        named = [name for name in (records.get(b"path"), self.names.get(LONG_NAME)) if name]
        self.pax, self.names, self.total_bytes = None, {}, 0
        if len(set(named)) > 1:
            raise _damaged("two long names for one member")
        raw = named[0] if named else header.name
        name = raw.decode("utf-8", "surrogateescape")
        if "\0" in name:
            raise _damaged("a name with a NUL byte")
        is_file = header.kind in FILES and not name.endswith("/")
        is_sparse = any(key.startswith(b"GNU.sparse.") for key in records)
        if is_sparse or header.kind not in (*FILES, FOLDER):
            raise MatrixFileError(
                f"The member {quote(name)} is a link, a device or the like; only whole files and folders are read."
            )
        size = _size(name, records.get(b"size"), header.size)
        if size and not is_file:
            raise _bad_size(name, size)
        if name.startswith("/") or "\\" in name or ".." in name.split("/"):
            raise MatrixFileError(f"The member {quote(name)} points outside the archive; expected Name/Name.mtx.")
        return Member(name if is_file else name.rstrip("/"), size, is_file)


def is_tar(head: bytes) -> bool:
    """Return whether a content begins as a tar archive, by the mark of POSIX and GNU or by the checksum."""
    if head[257:262] == b"ustar":
        return True
    try:
        return len(head) >= BLOCK and head[:BLOCK] != END and bool(_header(head[:BLOCK]))
    except MatrixFileError:
        return False


def tar_members(blocks: Iterator[bytes], members_max: int) -> Iterator[tuple[Member, Iterator[bytes]]]:
    """Yield all files and folders of an archive with their content, which is valid until the next one.

    Raises MatrixFileError for damage and for other kinds of members, and TooLargeError for too many members.
    """
    stream = ByteStream(blocks, "archive")
    extended, number = _Extended(), 0
    while (block := stream.take(BLOCK)) != END:
        header = _header(block)
        if header.kind in EXTENDED:
            if not 0 <= header.size <= EXTENDED_BYTES_MAX:
                raise MatrixFileError(
                    f"The archive has an extended header of {quote(header.size)} bytes; send the .mtx file."
                )
            content = stream.take(header.size)
            stream.skip(-header.size % BLOCK)
            extended.add(header.kind, content)
            continue
        member, number = extended.member(header), number + 1
        if number > members_max:
            raise TooLargeError(f"The archive has more than {members_max} members; send the .mtx file alone.")
        end = stream.position + member.size
        yield member, stream.blocks(member.size)
        stream.skip(end - stream.position + -member.size % BLOCK)
    if extended.is_pending():
        raise _damaged("an extended header without a member")
    stream.drain()


def _header(block: bytes) -> _Header:
    """Return the header in a block; raises MatrixFileError if its checksum or a number is wrong."""
    checksum = _number(block[CHECKSUM])
    blank = block[: CHECKSUM.start] + b" " * 8 + block[CHECKSUM.stop :]
    # Some old programs summed signed bytes.
    if checksum not in (sum(blank), sum(blank) - 256 * sum(byte > 127 for byte in blank)):
        raise _damaged("a header with a wrong checksum")
    for begin, end in NUMBERS.values():
        _number(block[begin:end])
    name, kind = _text(block[:100]), block[KIND]
    # GNU keeps times where POSIX has the begin of a long name.
    if block[MAGIC] == b"ustar\0" and kind not in (LONG_NAME, LONG_LINK) and (prefix := _text(block[PREFIX])):
        name = prefix + b"/" + name
    return _Header(name, _number(block[SIZE]), kind)


def _number(digits: bytes) -> int:
    """Return a number in octal digits, or in base 256, as GNU writes large and negative numbers."""
    if digits[0] in (0x80, 0xFF):
        return int.from_bytes(digits[1:], "big") - (256 ** (len(digits) - 1) if digits[0] == 0xFF else 0)
    match = OCTAL.fullmatch(digits)
    if match is None:
        raise _damaged(f"a header with the number {quote(digits.decode('latin-1'))}")
    return int(match[1] or b"0", 8)


def _text(content: bytes) -> bytes:
    return content.partition(b"\0")[0]


def _records(content: bytes) -> dict[bytes, bytes]:
    """Return the records of a pax header, `LENGTH KEY=VALUE\\n` one behind the other; raises MatrixFileError."""
    records, at = {}, 0
    while at < len(content):
        match = RECORD.match(content, at)
        end = at + int(match[1]) if match else 0
        if match is None or not match.end() < end <= len(content) or content[end - 1] != ord("\n"):
            raise _damaged("an extended header that is not a list of records")
        records[match[2]] = content[match.end() : end - 1]
        at = end
    return records


def _size(name: str, record: bytes | None, size: int) -> int:
    """Return the size of a member, from a pax record if there is one; raises MatrixFileError."""
    if record is not None:
        if not re.fullmatch(rb"\d{1,20}", record):
            raise _bad_size(name, record.decode("latin-1"))
        return int(record)
    if size < 0:
        raise _bad_size(name, size)
    return size


def _bad_size(name: str, size: object) -> MatrixFileError:
    return MatrixFileError(f"The member {quote(name)} has a size of {quote(size)} bytes; the archive is damaged.")


def _damaged(what: str) -> MatrixFileError:
    return MatrixFileError(f"The archive is damaged ({what}); send it again or send the .mtx file alone.")
