"""Archives of the SuiteSparse Matrix Collection (.tar.gz): read as they stream past, never extracted.

Python's tarfile reads the headers, so that long names and sizes mean what they do to every other program; here each
header is checked before it is believed, and what headers may cost is limited.
"""

import re
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import IO, Any, Self

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io.base import MIB, Complete, ReadLimits, ReadResult
from gpu_engine.matrix_io.decompress import content_blocks
from gpu_engine.matrix_io.matrix_market import COMMENTS, read_market
from gpu_engine.matrix_io.stream import ByteStream
from gpu_engine.matrix_io.text import Lines

MEMBERS_MAX = 10_000
EXTENDED_BYTES_MAX = 64 * 1024
"""Of one extended header; long names and times take far less."""

HEADERS_BYTES_MAX = 256 * 1024
"""Of all headers between two members, which tarfile holds in memory."""

STREAM_BYTES = MIB
MATRIX_MEMBER = re.compile(r"(?:\./)?([^/]+)/\1\.mtx")
EXTENDED = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
END = bytes(tarfile.BLOCKSIZE)

Member = tuple[tarfile.TarInfo, Iterator[bytes]]


class SuiteSparseArchive(Complete):
    """The reader of tar archives with one matrix, `Name/Name.mtx`; they may be compressed."""

    name = "SuiteSparse archive"

    def recognises(self, head: bytes) -> bool:
        """Whether the decompressed content begins with a tar header: POSIX and GNU say so, a checksum proves others."""
        return is_archive(head)

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """The matrix of the archive; raises MatrixFileError or TooLargeError."""
        found: list[tuple[str, ReadResult]] = []
        others = 0
        with closing(content_blocks(path, limits)) as blocks:
            for member, content in archive_members(blocks, MEMBERS_MAX):
                if not (member.isreg() and MATRIX_MEMBER.fullmatch(member.name)):
                    others += member.isreg()
                elif found:
                    names = f"{quote(found[0][0])} and {quote(member.name)}"
                    raise MatrixFileError(f"The archive holds two matrices, {names}; send one of them.")
                else:
                    lines = Lines(content, limits, COMMENTS)
                    found.append((member.name, _read(lines, member.size, limits)))
        if not found:
            raise MatrixFileError(
                "The archive has no member Name/Name.mtx, as Matrix Market archives of the SuiteSparse collection do."
            )
        name, result = found[0]
        left_out = f"; {others} other files were left out" if others else ""
        notes = (f"Read from {quote(name)} of the archive{left_out}.", *result.notes)
        return ReadResult(result.matrix, notes, result.duplicates)


def _read(lines: Lines, text_bytes: int, limits: ReadLimits) -> ReadResult:
    """The matrix of a member."""
    try:
        return read_market(lines, text_bytes, limits)
    except MatrixFileError as error:
        # What a member leaves open is nobody's to choose: the archive itself says everything.
        error.hint = None
        raise


def is_archive(head: bytes) -> bool:
    """Whether a content that begins so is a tar archive."""
    if head[257:262] == b"ustar":
        return True
    try:
        tarfile.TarInfo.frombuf(head[: tarfile.BLOCKSIZE], "utf-8", "surrogateescape")
    except (tarfile.HeaderError, ValueError):
        return False
    return True


def archive_members(blocks: Iterator[bytes], members_max: int) -> Iterator[Member]:
    """Every file and folder of a tar archive with its content, which is gone when the next one is asked for.

    Raises MatrixFileError for what is damaged or neither a file nor a folder, and TooLargeError for more members.
    """
    stream = ByteStream(blocks, "archive")
    source: Any = _Source(stream)
    try:
        with tarfile.open(fileobj=source, mode="r|", bufsize=STREAM_BYTES, tarinfo=_Member) as archive:
            for number, member in enumerate(archive, 1):
                if number > members_max:
                    raise TooLargeError(f"The archive has more than {members_max} members; send the .mtx file alone.")
                _check(member)
                source.allow(member.offset_data + member.size)
                file = archive.extractfile(member) if member.isreg() else None
                yield member, _pieces(file)
    except (tarfile.TarError, ValueError, IndexError, OverflowError, RecursionError) as error:
        raise _damaged(error) from error
    stream.drain()


def _pieces(file: IO[bytes] | None) -> Iterator[bytes]:
    while file and (piece := file.read(MIB)):
        yield piece


class _Source:
    """An archive as a file from which headers are read only so far behind the last member."""

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.allow(0)

    def allow(self, end: int) -> None:
        """Says where the content of the last member ends."""
        self._most = end + HEADERS_BYTES_MAX + STREAM_BYTES

    def read(self, size: int) -> bytes:
        """From one to so many bytes."""
        if self._stream.position > self._most:
            raise TooLargeError(f"The archive has an extended header of more than {HEADERS_BYTES_MAX} bytes.")
        return self._stream.some(size)


class _Member(tarfile.TarInfo):
    """A header, refused where tarfile would end the archive without a word or believe what nobody writes."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        """The header in a block of 512 bytes; raises MatrixFileError for a damaged one."""
        if bytes(buf) == END:
            return super().frombuf(buf, encoding, errors)
        try:
            member = super().frombuf(buf, encoding, errors)
        except (tarfile.HeaderError, ValueError) as error:
            raise _damaged(error) from error
        if member.type in EXTENDED and not 0 <= member.size <= EXTENDED_BYTES_MAX:
            raise MatrixFileError(
                f"The archive has an extended header of {quote(member.size)} bytes; send the .mtx file."
            )
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise _irregular(member)
        return member


def _damaged(error: Exception) -> MatrixFileError:
    return MatrixFileError(f"The archive is damaged ({quote(error)}); send it again or send the .mtx file alone.")


def _irregular(member: tarfile.TarInfo) -> MatrixFileError:
    return MatrixFileError(
        f"The member {quote(member.name)} is a link, a device or the like; only whole files and folders are read."
    )


def _check(member: tarfile.TarInfo) -> None:
    """Raises MatrixFileError for a member that no archive of matrices needs."""
    name, said = quote(member.name), member.pax_headers.get("size", "0")
    if member.issparse() or not (member.isreg() or member.isdir()):
        raise _irregular(member)
    if not (said.isascii() and said.isdecimal()) or member.size < 0 or (member.isdir() and member.size):
        size = said if member.size == 0 else member.size
        raise MatrixFileError(f"The member {name} has a size of {quote(size)} bytes; the archive is damaged.")
    if member.name.startswith("/") or "\\" in member.name or ".." in member.name.split("/"):
        raise MatrixFileError(f"The member {name} points outside the archive; expected Name/Name.mtx.")
