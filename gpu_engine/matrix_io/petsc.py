"""Reader of PETSc's binary files of a sparse matrix (MatView of AIJ): integers and values in big-endian order.

PETSc manual page MatLoad: class id, rows, columns and nonzeros; the entries of each row; their columns; their values.
Integers have 4 bytes, or 8 if PETSc was configured with 64-bit indices; values have its scalar type.
"""

from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError
from gpu_engine.matrix_io.base import Complete, ReadLimits, ReadResult, check_shape
from gpu_engine.matrix_io.compressed import Compressed, build
from gpu_engine.matrix_io.decompress import content_blocks
from gpu_engine.matrix_io.stream import ByteStream
from gpu_engine.text import units

MATRIX, DENSE = 1211216, -1
OBJECTS = {
    1211213: "a viewer",
    1211214: "a vector",
    MATRIX: "another matrix",
    1211218: "an index set",
    1211219: "a bag",
}
"""Class id of a PETSc object in a file → its name."""

EXPORT = "Save it with MatView of an AIJ matrix, or export it as Matrix Market text."


class PetscBinary(Complete):
    """Reader of real AIJ matrices."""

    name = "PETSc binary"

    def recognizes(self, head: bytes) -> bool:
        """Return whether the content begins with a class id of PETSc, as an integer of 4 or 8 bytes."""
        return _class_id(head, 4) in OBJECTS or _class_id(head, 8) in OBJECTS

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises MatrixFileError or TooLargeError."""
        with closing(content_blocks(path, limits)) as blocks:
            stream = ByteStream(blocks, "PETSc file")
            head = stream.take(4)
            width = 4 if _class_id(head, 4) in OBJECTS else 8
            kind = _class_id(head + stream.take(width - 4), width)
            if kind != MATRIX:
                raise MatrixFileError(f"The PETSc file begins with {OBJECTS[kind]}, not with a matrix. {EXPORT}")
            parts, rest = _matrix(stream, f">i{width}", limits)
        return build(
            parts, limits, *([f"The file also has {rest} after the matrix, which was omitted."] if rest else [])
        )


def _class_id(head: bytes, width: int) -> int:
    return int.from_bytes(head[:width], "big") if len(head) >= width else 0


def _matrix(stream: ByteStream, integer: str, limits: ReadLimits) -> tuple[Compressed, str]:
    """Return the matrix after its class id, and the name of the object that follows it."""
    width = np.dtype(integer).itemsize
    n_rows, n_cols, nnz = (int(number) for number in np.frombuffer(stream.take(3 * width), integer))
    if nnz == DENSE and min(n_rows, n_cols) >= 0:
        raise MatrixFileError(f"The PETSc file holds a dense matrix; only sparse ones are read. {EXPORT}")
    if min(n_rows, n_cols, nnz) < 0:
        raise MatrixFileError(
            f"The PETSc file says {n_rows} rows, {n_cols} columns and {nnz} nonzeros; none can be negative. {EXPORT}"
        )
    check_shape(n_rows, n_cols, nnz, limits)
    if nnz > limits.nnz_max:
        raise TooLargeError(
            f"The file has {units.count(nnz)} nonzeros; at most {units.count(limits.nnz_max)} are read."
        )
    lengths = np.frombuffer(stream.take(n_rows * width), integer).astype(np.int64)
    # Lengths of 8 bytes could add up to nnz by an overflow.
    if lengths.size and (lengths.min() < 0 or lengths.max() > n_cols):
        raise MatrixFileError(
            "A row of the PETSc file has a negative length, or more entries than columns. Save it again."
        )
    pointers = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    columns = np.frombuffer(stream.take(nnz * width), integer)
    values, rest = _values(stream, nnz)
    return Compressed(n_rows, n_cols, pointers, columns, values, by_column=False), rest


def _values(stream: ByteStream, nnz: int) -> tuple[Any, str]:
    """Return the values, and the name of the object that follows them, if any."""
    halves = [stream.take(4 * nnz)]
    if nnz and stream.final_storage():
        raise MatrixFileError(
            "The PETSc file ends after 4 bytes per value: it was cut, or written in single precision. "
            "Write it in double precision."
        )
    values = np.frombuffer(b"".join([*halves, stream.take(4 * nnz)]), ">f8")
    if stream.final_storage():
        return values, ""
    behind = stream.take(4)
    kind = _class_id(behind, 4) or _class_id(behind + stream.take(4), 8)
    if kind not in OBJECTS:
        raise MatrixFileError(
            "The values of the PETSc file are not real numbers of 8 bytes: complex, of another precision, or damaged. "
            "Only real matrices are supported; export it as Matrix Market text."
        )
    stream.drain()
    return values, OBJECTS[kind]
