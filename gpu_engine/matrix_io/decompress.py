"""Decompresses untrusted gzip and bzip2 files under limits, block by block."""

import bz2
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from pathlib import Path

from gpu_engine.errors import MatrixFileError, TooLargeError
from gpu_engine.matrix_io.base import MIB, ReadLimits
from gpu_engine.text import units

GZIP_MAGIC = b"\x1f\x8b"
BZIP2_MAGIC = b"BZh"
BLOCK_BYTES = MIB
HEAD_BYTES = MIB
"""Decompressed bytes from which readers recognize a format; they must include comments before an edge list."""

INPUT_BYTES = 64 * 1024
DEFLATE_RATIO_MAX = 1032
"""Maximum expansion of a deflate stream, so that the compressed size limits the content."""

MEMBERS_FREE = 1000
MEMBER_BYTES = 1024
"""Minimum mean bytes per part of a compressed file with more than MEMBERS_FREE parts."""


def content_bytes_max(path: Path, limits: ReadLimits) -> int:
    """Return an upper bound of the decompressed size of a file, without reading it."""
    magic, size = _magic(path), path.stat().st_size
    if magic.startswith(GZIP_MAGIC):
        return size * DEFLATE_RATIO_MAX
    return max(limits.ratio_after_bytes, size * limits.ratio) if magic == BZIP2_MAGIC else size


def content_blocks(path: Path, limits: ReadLimits) -> Generator[bytes]:
    """Yield the decompressed bytes in blocks of at most 1 MiB.

    Raises MatrixFileError for a damaged compressed file and TooLargeError for one over the limits.
    """
    magic, total = _magic(path), 0
    if magic.startswith(GZIP_MAGIC):
        blocks = _gunzipped(path, limits)
    else:
        blocks = _bunzipped(path, limits) if magic == BZIP2_MAGIC else _plain(path)
    for block in blocks:
        total += len(block)
        if total > limits.decompressed_bytes:
            raise TooLargeError(f"The file holds more than {units.size(limits.decompressed_bytes)}, the limit here.")
        yield block


def _magic(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(len(BZIP2_MAGIC))


def _plain(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block


def _gunzipped(path: Path, limits: ReadLimits) -> Iterator[bytes]:
    """Yield the content of every member of a gzip file, checksums verified."""
    member, members, total, pending = None, 0, 0, b""
    with path.open("rb") as file:
        while pending := pending or file.read(INPUT_BYTES):
            if member is None:
                member, members = zlib.decompressobj(31), members + 1
            block = _decompress(member, pending, members, "gzip")
            total += len(block)
            check_effort(total, file.tell(), members, limits, "gzip")
            yield block
            pending = member.unused_data.lstrip(b"\0") if member.eof else member.unconsumed_tail
            member = None if member.eof else member
    if member is not None:
        raise MatrixFileError("The gzip file ends too early; send the whole file.")


def _bunzipped(path: Path, limits: ReadLimits) -> Iterator[bytes]:
    """Yield the content of every stream of a bzip2 file, checksums verified."""
    member, members, total, pending = None, 0, 0, b""
    with path.open("rb") as file:
        # A decompressor that needs no input still holds some of what it was given.
        while (member and not member.needs_input) or (pending := pending or file.read(INPUT_BYTES)):
            if member is None:
                member, members = bz2.BZ2Decompressor(), members + 1
            block = _decompress(member, pending, members, "bzip2")
            total += len(block)
            check_effort(total, file.tell(), members, limits, "bzip2")
            yield block
            pending = member.unused_data if member.eof else b""
            member = None if member.eof else member
    if member is not None:
        raise MatrixFileError("The bzip2 file ends too early; send the whole file.")


def _decompress(member: "zlib._Decompress | bz2.BZ2Decompressor", pending: bytes, members: int, kind: str) -> bytes:
    try:
        return member.decompress(pending, BLOCK_BYTES)
    except (zlib.error, OSError) as error:
        place = "after its first part " if members > 1 else ""
        raise MatrixFileError(f"The {kind} file is damaged {place}({error}); compress it again.") from error


def check_effort(total: int, compressed: int, members: int, limits: ReadLimits, kind: str) -> None:
    """Raise TooLargeError for a file with implausible expansion or too many parts.

    total  decompressed bytes; compressed: compressed bytes; members: parts of the file
    """
    if total > limits.ratio_after_bytes and total > limits.ratio * compressed:
        raise TooLargeError(
            f"The {kind} file expands by more than {limits.ratio}\u202f×, unlike numbers. Send it uncompressed."
        )
    if members > MEMBERS_FREE and total < MEMBER_BYTES * members:
        raise TooLargeError(f"The {kind} file has more than {MEMBERS_FREE} tiny parts. Compress it again as one part.")


def read_head(path: Path, limits: ReadLimits) -> bytes:
    """Return the first decompressed bytes of a file, from which readers recognize its format."""
    with closing(content_blocks(path, limits)) as blocks:
        head = b""
        while len(head) < HEAD_BYTES and (block := next(blocks, None)) is not None:
            head += block
    return head
