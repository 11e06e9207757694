"""Reader of archives of the SuiteSparse Matrix Collection (.tar.gz), as a stream, without extraction."""

import re
from contextlib import closing
from pathlib import Path

from gpu_engine.errors import MatrixFileError, quote
from gpu_engine.matrix_io.base import Complete, ReadLimits, ReadResult
from gpu_engine.matrix_io.decompress import content_blocks
from gpu_engine.matrix_io.matrix_market import COMMENTS, read_market
from gpu_engine.matrix_io.tar import is_tar, tar_members
from gpu_engine.matrix_io.text import Lines

MEMBERS_MAX = 10_000
MATRIX_MEMBER = re.compile(r"(?:\./)?([^/]+)/\1\.mtx")


class SuiteSparseArchive(Complete):
    """Reader of tar archives with one matrix, `Name/Name.mtx`; they may be compressed."""

    name = "SuiteSparse archive"

    def recognizes(self, head: bytes) -> bool:
        """Return whether the decompressed content begins with a tar header."""
        return is_tar(head)

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the archive; raises MatrixFileError or TooLargeError."""
        matrices: list[tuple[str, ReadResult]] = []
        others = 0
        with closing(content_blocks(path, limits)) as blocks:
            for member, content in tar_members(blocks, MEMBERS_MAX):
                if not (member.is_file and MATRIX_MEMBER.fullmatch(member.name)):
                    others += member.is_file
                elif matrices:
                    names = f"{quote(matrices[0][0])} and {quote(member.name)}"
                    raise MatrixFileError(f"The archive holds two matrices, {names}. Send only one of them.")
                else:
                    lines = Lines(content, limits, COMMENTS)
                    matrices.append((member.name, _read(lines, member.size, limits)))
        if not matrices:
            raise MatrixFileError(
                "The archive has no member Name/Name.mtx, as Matrix Market archives of the SuiteSparse collection do."
            )
        name, result = matrices[0]
        left_out = f"; {others} other files were left out" if others else ""
        notes = (f"Read from {quote(name)} of the archive{left_out}.", *result.notes)
        return ReadResult(result.matrix, notes, result.duplicates)


def _read(lines: Lines, text_bytes: int, limits: ReadLimits) -> ReadResult:
    """Return the matrix of an archive member."""
    try:
        return read_market(lines, text_bytes, limits)
    except MatrixFileError as error:
        # What a member leaves open is nobody's to choose: the archive itself says everything.
        error.hint = None
        raise
