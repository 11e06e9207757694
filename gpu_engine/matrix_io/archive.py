"""Archives of the SuiteSparse Matrix Collection (.tar.gz): read as they stream past, never extracted."""

import re
import tarfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io.base import ReadLimits, ReadResult
from gpu_engine.matrix_io.decompress import content_blocks
from gpu_engine.matrix_io.matrix_market import COMMENTS, read_market
from gpu_engine.matrix_io.stream import ByteStream
from gpu_engine.matrix_io.text import Lines

MEMBERS_MAX = 100
EXTENDED_BYTES_MAX = 64 * 1024
"""Extended headers hold times and long names, of which none is needed here."""

MATRIX_MEMBER = re.compile(r"(?:\./)?([^/]+)/\1\.mtx")
EXTENDED = (tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME)
END = bytes(tarfile.BLOCKSIZE)


class SuiteSparseArchive:
    """The reader of tar archives with one matrix, `Name/Name.mtx`; they may be compressed."""

    name = "SuiteSparse archive"

    def recognises(self, head: bytes) -> bool:
        """Whether the decompressed content begins with a POSIX or GNU tar header."""
        return head[257:262] == b"ustar"

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """The matrix of the archive; raises MatrixFileError or TooLargeError."""
        found: list[tuple[str, ReadResult]] = []
        others = 0
        with closing(content_blocks(path, limits)) as blocks:
            stream = ByteStream(blocks, "archive")
            for member in _members(stream):
                if not (member.isreg() and MATRIX_MEMBER.fullmatch(member.name)):
                    others += member.isreg()
                elif found:
                    names = f"{quote(found[0][0])} and {quote(member.name)}"
                    raise MatrixFileError(f"The archive holds two matrices, {names}; send one of them.")
                else:
                    lines = Lines(stream.blocks(member.size), limits, COMMENTS)
                    found.append((member.name, read_market(lines, member.size, limits)))
        if not found:
            raise MatrixFileError(
                "The archive has no member Name/Name.mtx, as Matrix Market archives of the SuiteSparse collection do."
            )
        name, result = found[0]
        left_out = f"; {others} other files were left out" if others else ""
        notes = (f"Read from {quote(name)} of the archive{left_out}.", *result.notes)
        return ReadResult(result.matrix, notes, result.duplicates)


def _members(stream: ByteStream) -> Iterator[tarfile.TarInfo]:
    """Every file and folder; the caller may read the content of one from the stream before it asks for the next."""
    members = 0
    while (header := stream.take(tarfile.BLOCKSIZE)) != END:
        members += 1
        if members > MEMBERS_MAX:
            raise TooLargeError(f"The archive has more than {MEMBERS_MAX} members; send the .mtx file alone.")
        member = parse_header(header)
        end = stream.position + -(-member.size // tarfile.BLOCKSIZE) * tarfile.BLOCKSIZE
        if member.type not in EXTENDED:
            yield member
        stream.skip(end - stream.position)
    stream.drain()


def parse_header(header: bytes) -> tarfile.TarInfo:
    """The member of a header; raises MatrixFileError for one that no archive of matrices needs."""
    try:
        member = tarfile.TarInfo.frombuf(header, "utf-8", "backslashreplace")
    except (tarfile.HeaderError, ValueError) as error:
        raise MatrixFileError(
            f"The archive is damaged ({error}); send it again or send the .mtx file alone."
        ) from error
    name = quote(member.name)
    if member.type in EXTENDED:
        if not 0 <= member.size <= EXTENDED_BYTES_MAX:
            raise MatrixFileError(
                f"The archive has an extended header of {quote(member.size)} bytes; send the .mtx file."
            )
        return member
    if not (member.isreg() and member.type not in (tarfile.GNUTYPE_SPARSE, tarfile.CONTTYPE)) and not member.isdir():
        raise MatrixFileError(f"The member {name} is a link, a device or the like; only files and folders are read.")
    if member.size < 0 or (member.isdir() and member.size):
        raise MatrixFileError(f"The member {name} has a size of {quote(member.size)} bytes; the archive is damaged.")
    if member.name.startswith("/") or "\\" in member.name or ".." in member.name.split("/"):
        raise MatrixFileError(f"The member {name} points outside the archive; expected Name/Name.mtx.")
    return member
