"""Reader of MATLAB .mat files of version 5 (save with -v7 or -v6): The MathWorks, MAT-File Format, chapter 1.

SciPy's loadmat is not used: it uses type numbers of the file as unchecked indices (scipy#25829), so that a damaged
file ends the process. This reader checks every tag, and trusts a size only after that many bytes have arrived.
"""

import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io.base import MIB, Complete, ReadLimits, ReadResult
from gpu_engine.matrix_io.compressed import Compressed, build, whole
from gpu_engine.matrix_io.decompress import check_effort, content_blocks
from gpu_engine.matrix_io.stream import ByteStream
from gpu_engine.text import units

MAGIC = b"MATLAB"
HEADER_BYTES = 128
VERSION_AT = 124
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""Types of data elements with numbers."""

NAMES = {1: "i1", 2: "u1", 16: "u1"}
"""Types of data elements with names: MATLAB writes the first, other programs also the others."""

MATRIX, COMPRESSED = 14, 15
STRUCT, SPARSE, OPAQUE = 2, 5, 17
COMPLEX_FLAG = 1 << 11
SMALL_BYTES = 4
NAME_BYTES_MAX = 4096
FIELDS_MAX = 1000
VARIABLES_MAX = 1000
V73 = "This is a MATLAB v7.3 (HDF5) file; save it again with save(file, variable, '-v7')."


class MatlabFile(Complete):
    """Reader of `Problem.A`, as SuiteSparse names it, or of the only sparse variable."""

    name = "MATLAB .mat v5"

    def recognizes(self, head: bytes) -> bool:
        """Return whether the content begins with MATLAB's text, or its header ends as documented."""
        return head.startswith(MAGIC) or head[VERSION_AT:HEADER_BYTES] in (b"\0\1IM", b"\1\0MI")

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises MatrixFileError or TooLargeError."""
        with closing(content_blocks(path, limits)) as blocks:
            variables = _Variables(ByteStream(blocks, ".mat file"), limits)
            variables.read()
        return build(variables.chosen(), limits, f"Read from the variable {quote(variables.name)} of the file.")


@dataclass
class _Variables:
    """Variables of a file: one sparse matrix, and the names of the others."""

    stream: ByteStream
    limits: ReadLimits
    name: str = ""
    inflated: int = 0
    _stored: Compressed | None = None
    _sparse: list[str] = field(default_factory=list)
    _others: list[str] = field(default_factory=list)

    def chosen(self) -> Compressed:
        """Return Problem.A or the only sparse variable; raises MatrixFileError if there is neither."""
        if self.name != "Problem.A" and len(self._sparse) > 1:
            names = " and ".join(map(quote, self._sparse[:2]))
            raise MatrixFileError(f"The file holds {len(self._sparse)} sparse matrices ({names} …); save one alone.")
        if self._stored is None:
            names = ", ".join(map(quote, self._others[:2])) or "no variable"
            raise MatrixFileError(f"The file holds no sparse matrix but {names}; save sparse(A) with save(file, 'A').")
        return self._stored

    def read(self) -> None:
        """Read all variables to the end of the file."""
        order = _byte_order(self.stream.take(HEADER_BYTES))
        variables = 0
        while not self.stream.final_storage():
            variables += 1
            if variables > VARIABLES_MAX:
                raise TooLargeError(f"The .mat file has more than {VARIABLES_MAX} variables; save the matrix alone.")
            element = _Element(self.stream, order)
            if element.kind == COMPRESSED:
                inner = ByteStream(self._inflate(self.stream.blocks(element.size)), "compressed variable")
                self._matrix(_Element(inner, order))
                inner.drain()
            else:
                self._matrix(element)

    def _inflate(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the content of a zlib stream that is all of these blocks, checksum verified."""
        packer, compressed = zlib.decompressobj(), 0
        for block in blocks:
            compressed, pending = compressed + len(block), block
            while pending and not packer.eof:
                try:
                    content = packer.decompress(pending, MIB)
                except zlib.error as error:
                    raise MatrixFileError(
                        f"A variable of the .mat file is damaged ({error}); save it again."
                    ) from error
                self.inflated += len(content)
                if self.inflated > self.limits.decompressed_bytes:
                    raise TooLargeError(f"The file holds more than {units.size(self.limits.decompressed_bytes)}.")
                check_effort(self.inflated, self.stream.position, 1, self.limits, ".mat")
                yield content
                pending = packer.unconsumed_tail
        if not packer.eof:
            raise MatrixFileError("A variable of the .mat file ends too early; send the whole file.")

    def _matrix(self, element: "_Element", prefix: str = "") -> None:
        """Return a variable, or a field of the struct `prefix`, read to its end."""
        if element.kind != MATRIX:
            raise MatrixFileError(f"The .mat file has an element of type {element.kind} where a variable should be.")
        if element.size:
            flags, shape, name = _preamble(element, prefix)
            if flags & 0xFF == SPARSE:
                self._keep(element, flags, shape, name)
            elif flags & 0xFF == STRUCT and name == "Problem":
                self._problem(element)
            else:
                self._others.append(name)
        element.skip()

    def _problem(self, element: "_Element") -> None:
        """Return the fields of a struct, in order."""
        length = element.numbers("the length of field names", SMALL_BYTES)
        names = element.numbers("the field names", FIELDS_MAX * 64).tobytes()
        width = int(length[0]) if length.size == 1 else 0
        if not 1 <= width <= 64 or len(names) % width:
            raise MatrixFileError("The struct Problem has damaged field names; save the file again.")
        for begin in range(0, len(names), width):
            field_name = _text(names[begin : begin + width])
            inner = _Element(element.stream, element.order, element.end)
            if field_name == "A":
                self._matrix(inner, "Problem.A")
            inner.skip()

    def _keep(self, element: "_Element", flags: int, shape: tuple[int, ...], name: str) -> None:
        """Read the arrays of a sparse matrix, if they may still be wanted."""
        if not name or len(shape) != 2:
            what = f"{len(shape)} dimensions" if name else "no name"
            raise MatrixFileError(
                f"A sparse matrix of the .mat file has {what}, which MATLAB never writes; save again."
            )
        self._sparse.append(name)
        if self.name == "Problem.A" or (len(self._sparse) > 1 and name != "Problem.A"):
            return
        if flags & COMPLEX_FLAG:
            raise MatrixFileError(f"The matrix {quote(name)} is complex. Only real matrices are supported.")
        rows, pointers, values = (element.numbers(what) for what in ("rows", "column pointers", "values"))
        rows, pointers = whole(rows, "row indices"), whole(pointers, "column pointers")
        nnz = int(pointers[-1]) if pointers.size else 0
        if not 0 <= nnz <= min(rows.size, values.size):
            raise MatrixFileError(
                f"The matrix {quote(name)} has {rows.size} rows and {values.size} values for {nnz} entries."
            )
        # MATLAB keeps room for entries to come behind the last one.
        self._stored, self.name = (
            Compressed(shape[0], shape[1], pointers, rows[:nnz], values[:nnz], by_column=True),
            name,
        )


class _Element:
    """A data element: its tag has been read; `end` is where it and its padding stop."""

    def __init__(self, stream: ByteStream, order: str, outer_end: int | None = None) -> None:
        self.stream, self.order = stream, order
        tag = stream.take(8)
        first, self.size = (int(number) for number in np.frombuffer(tag, f"{order}u4"))
        self.kind, self.small = first, b""
        if first >> 16:
            # Small elements hold their data in the second half of the tag.
            self.kind, self.size, self.small = first & 0xFFFF, first >> 16, tag[4:]
        padding = 0 if self.small or self.kind == COMPRESSED else -self.size % 8
        self.end = stream.position + (0 if self.small else self.size + padding)
        if (self.small and self.size > SMALL_BYTES) or (outer_end is not None and self.end > outer_end):
            raise MatrixFileError(f"The .mat file has an element of {self.size} bytes that goes past its end.")

    def numbers(self, what: str, bytes_max: int | None = None, types: Mapping[int, str] = NUMBERS) -> Any:
        """Return the numbers of the next element within this one, in its dtype; raises MatrixFileError for others."""
        inner = _Element(self.stream, self.order, self.end)
        dtype = np.dtype(self.order + types.get(inner.kind, "V0"))
        if dtype.kind == "V" or inner.size % dtype.itemsize:
            raise MatrixFileError(
                f"The .mat file has {what} as {inner.size} bytes of type {inner.kind}, which are not numbers."
            )
        if bytes_max is not None and inner.size > bytes_max:
            raise MatrixFileError(f"The .mat file gives {what} in {inner.size} bytes; at most {bytes_max} make sense.")
        content = inner.small[: inner.size] or self.stream.take(inner.size)
        inner.skip()
        return np.frombuffer(content, dtype)

    def skip(self) -> None:
        """Skip to the end; the padding of the last variable of a file may be missing."""
        self.stream.skip(self.end - self.stream.position)


def _byte_order(header: bytes) -> str:
    """Return '<' or '>'; raises MatrixFileError for another version of the format."""
    order = {b"IM": "<", b"MI": ">"}.get(header[126:])
    if order is None:
        raise MatrixFileError("The .mat file has a damaged header; save it again with save(file, variable, '-v7').")
    version = int(np.frombuffer(header[124:126], f"{order}u2")[0])
    if version == 0x0200:
        raise MatrixFileError(V73)
    if version != 0x0100:
        raise MatrixFileError(
            f"The .mat file has version {version:#x}; save it again with save(file, variable, '-v7')."
        )
    return order


def _preamble(element: _Element, prefix: str) -> tuple[int, tuple[int, ...], str]:
    """Return (array flags, sizes, name) at the begin of a variable."""
    flags = element.numbers("the flags of a variable", 8)
    if flags.dtype.newbyteorder("=").str[1:] != "u4" or flags.size != 2:
        raise MatrixFileError("A variable of the .mat file has damaged flags; save it again.")
    if int(flags[0]) & 0xFF == OPAQUE:
        # Strings, tables and times have no shape here.
        return int(flags[0]), (), prefix or _name(element)
    shape = element.numbers("the shape of a variable", NAME_BYTES_MAX)
    if shape.dtype.newbyteorder("=").str[1:] not in ("i4", "u4") or shape.size < 2 or shape.min() < 0:
        raise MatrixFileError("A variable of the .mat file has a damaged shape; save it again.")
    name = _name(element)
    return int(flags[0]), tuple(shape.tolist()), prefix or name


def _name(element: _Element) -> str:
    return _text(element.numbers("the name of a variable", NAME_BYTES_MAX, NAMES).tobytes())


def _text(content: bytes) -> str:
    return content.split(b"\0", 1)[0].decode("ascii", "backslashreplace")
