"""Reader of MATLAB .mat files of version 4 (save with -v4): The MathWorks, MAT-File Format, chapter 2.

A sparse matrix is a table of three columns, row, column and value, whose last line is the shape.
"""

import re
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io.assemble import Chunk
from gpu_engine.matrix_io.base import Complete, ReadLimits, ReadResult, check_shape
from gpu_engine.matrix_io.compressed import build_entries, checked_indices, whole
from gpu_engine.matrix_io.decompress import content_blocks
from gpu_engine.matrix_io.matlab import VARIABLES_MAX
from gpu_engine.matrix_io.stream import ByteStream

HEADER_BYTES = 20
NAME = re.compile(rb"[A-Za-z]\w{0,62}\0", re.ASCII)
NAME_BYTES_MAX = 64
ORDERS = {0: "<", 1: ">"}
OTHER_MACHINES = {2: "VAX D-float", 3: "VAX G-float", 4: "Cray"}
NUMBERS = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
TEXT, SPARSE = 1, 2
REAL_COLUMNS, COMPLEX_COLUMNS = 3, 4


class MatlabV4File(Complete):
    """Reader of the only sparse variable."""

    name = "MATLAB .mat v4"

    def recognizes(self, head: bytes) -> bool:
        """Return whether the content begins with the header of a variable that has a name."""
        return _header(head[:HEADER_BYTES]) is not None and bool(NAME.match(head, HEADER_BYTES))

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises MatrixFileError or TooLargeError."""
        variables = _Variables()
        with closing(content_blocks(path, limits)) as blocks:
            variables.read(ByteStream(blocks, ".mat file"))
        return variables.matrix(limits)


@dataclass(frozen=True, slots=True)
class _Header:
    """Header of a variable; `machine`: name of a number format other than IEEE's."""

    dtype: Any
    kind: int
    n_rows: int
    n_cols: int
    is_complex: bool
    name_bytes: int
    machine: str

    @property
    def bytes(self) -> int:
        """Size of the numbers after the name, in bytes."""
        return self.n_rows * self.n_cols * int(self.dtype.itemsize) * (2 if self.is_complex else 1)


def _header(content: bytes) -> _Header | None:
    """Return the header of a variable; None where the bytes are none."""
    for order in ORDERS.values():
        kind, *sizes = (
            (int(number) for number in np.frombuffer(content, f"{order}i4", 5)) if len(content) == 20 else (-1,)
        )
        digits = [kind // 1000, kind // 100 % 10, kind // 10 % 10, kind % 10]
        if not 0 <= kind < 5000 or digits[1] or digits[2] not in NUMBERS or digits[3] not in (0, TEXT, SPARSE):
            continue
        n_rows, n_cols, imaginary, name_bytes = sizes
        if min(n_rows, n_cols) < 0 or imaginary not in (0, 1) or not 2 <= name_bytes <= NAME_BYTES_MAX:
            continue
        if digits[0] in OTHER_MACHINES or ORDERS.get(digits[0]) == order:
            dtype = np.dtype(order + NUMBERS[digits[2]])
            machine = OTHER_MACHINES.get(digits[0], "")
            return _Header(dtype, digits[3], n_rows, n_cols, imaginary == 1, name_bytes, machine)
    return None


@dataclass
class _Variables:
    """Variables of a file: one sparse matrix as its table [rows, 3], and the names of the others."""

    _table: Any = None
    _sparse: list[str] = field(default_factory=list)
    _others: list[str] = field(default_factory=list)

    def read(self, stream: ByteStream) -> None:
        """Read every variable to the end of the file."""
        variables = 0
        while not stream.final_storage():
            variables += 1
            if variables > VARIABLES_MAX:
                raise TooLargeError(f"The .mat file has more than {VARIABLES_MAX} variables; save the matrix alone.")
            header = _header(stream.take(HEADER_BYTES))
            name = stream.take(header.name_bytes) if header else b""
            if header is None or not NAME.fullmatch(name):
                raise MatrixFileError("A variable of the .mat file has a damaged header; save it again.")
            if header.machine:
                raise MatrixFileError(
                    f"The .mat file has {header.machine} numbers; save it again with save(file, variable, '-v7')."
                )
            self._variable(stream, header, name[:-1].decode("ascii"))

    def _variable(self, stream: ByteStream, header: _Header, name: str) -> None:
        if header.kind != SPARSE:
            self._others.append(name)
            stream.skip(header.bytes)
            return
        self._sparse.append(name)
        if len(self._sparse) > 1:
            stream.skip(header.bytes)
            return
        if header.is_complex or header.n_cols == COMPLEX_COLUMNS:
            raise MatrixFileError(f"The matrix {quote(name)} is complex. Only real matrices are supported.")
        if header.n_cols != REAL_COLUMNS or header.n_rows < 1:
            raise MatrixFileError(
                f"The sparse matrix {quote(name)} is a table of {header.n_rows} × {header.n_cols}; expected 3 columns "
                "and a line for the shape. Save it again."
            )
        content = stream.take(header.bytes)
        self._table = np.frombuffer(content, header.dtype).reshape((header.n_rows, header.n_cols), order="F")

    def matrix(self, limits: ReadLimits) -> ReadResult:
        """Return the only sparse variable; raises MatrixFileError if there are none or several."""
        if len(self._sparse) > 1:
            names = " and ".join(map(quote, self._sparse[:2]))
            raise MatrixFileError(f"The file holds {len(self._sparse)} sparse matrices ({names} …); save one alone.")
        if self._table is None:
            names = ", ".join(map(quote, self._others[:2])) or "no variable"
            raise MatrixFileError(f"The file holds no sparse matrix but {names}; save sparse(A) with save(file, 'A').")
        rows, cols = (whole(self._table[:, place], what) for place, what in enumerate(("rows", "columns")))
        n_rows, n_cols = int(rows[-1]), int(cols[-1])
        if min(n_rows, n_cols) < 0:
            raise MatrixFileError(f"The matrix is {n_rows} × {n_cols}; save it again.")
        check_shape(n_rows, n_cols, rows.size - 1, limits)
        entries = Chunk(
            checked_indices(rows[:-1] - 1, n_rows, "row"),
            checked_indices(cols[:-1] - 1, n_cols, "column"),
            self._table[:-1, 2],
        )
        return build_entries(
            n_rows, n_cols, entries, limits, f"Read from the variable {quote(self._sparse[0])} of the file."
        )
