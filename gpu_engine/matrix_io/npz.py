"""SciPy's .npz files (scipy.sparse.save_npz): every size is checked in the zip directory before a byte is unpacked.

NumPy's loader is not used: it unpickles where it is asked to, and trusts the shapes that an array names.
"""

import ast
import io
import lzma
import math
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.findings import units
from gpu_engine.matrix_io.assemble import Chunk
from gpu_engine.matrix_io.base import Complete, ReadLimits, ReadResult
from gpu_engine.matrix_io.compressed import Compressed, build, build_entries, checked_indices, whole
from gpu_engine.matrix_io.decompress import check_effort

ZIP_MAGIC = b"PK\x03\x04"
DIRECTORY_BYTES_MAX = 128 * 1024
"""Enough for the zip directory of a matrix and, at most 65,557 bytes, for the search of where it begins."""

BLOCK_BYTES = 64 * 1024
ARRAYS = {"csr": ("indptr", "indices"), "csc": ("indptr", "indices"), "coo": ("row", "col")}
COMMON = ("format", "shape", "data")
NAMES = {*COMMON, *(name for names in ARRAYS.values() for name in names)}
KINDS = {"data": "iufb", "shape": "iu"}
"""Kinds of numbers that an array may hold; indices may be decimals that are whole."""

NPY_MAGIC = b"\x93NUMPY"
NPY_HEADER_MAX = 10_000
"""As in NumPy, whose writers pad headers to less than 200 bytes."""

NPY_KEYS = {"descr", "fortran_order", "shape"}
DESCR = re.compile(r"[<>=|]?[A-Za-z]\w{0,15}", re.ASCII)
TEXT_BYTES_MAX = 1024
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


class SciPyNpz(Complete):
    """The reader of sparse matrices saved by SciPy as csr, csc or coo."""

    name = "SciPy .npz"

    def recognises(self, head: bytes) -> bool:
        """Whether the content is a zip archive, which no other format is."""
        return head.startswith(ZIP_MAGIC)

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """The matrix of the file; raises MatrixFileError or TooLargeError."""
        try:
            with _Bounded(path) as file:
                if file.peek(len(ZIP_MAGIC))[: len(ZIP_MAGIC)] != ZIP_MAGIC:
                    raise MatrixFileError("The .npz file is compressed twice; unpack it once.")
                archive = zipfile.ZipFile(file)
                return _matrix(_members(archive, path, limits), archive, limits)
        except (
            zipfile.BadZipFile,
            zlib.error,
            lzma.LZMAError,
            EOFError,
            NotImplementedError,
            UnicodeDecodeError,
            struct.error,
        ) as error:
            raise _damaged(error) from error
        except OSError as error:
            # bzip2 tells of damage so, without the number that an error of the disk has.
            if error.errno is not None:
                raise
            raise _damaged(error) from error


def _damaged(error: Exception) -> MatrixFileError:
    return MatrixFileError(f"The zip archive is damaged ({quote(error)}); save or send it again.")


class _Bounded(io.BufferedReader):
    """A file of which at most DIRECTORY_BYTES_MAX bytes are read at once, whatever a directory claims to need."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))

    def read(self, size: int | None = -1, /) -> bytes:
        """As of any file; raises TooLargeError for more than the bound."""
        if size is not None and size > DIRECTORY_BYTES_MAX:
            raise TooLargeError(
                "The zip archive has too many members; a matrix saved by scipy.sparse.save_npz has few."
            )
        return super().read(DIRECTORY_BYTES_MAX if size is None or size < 0 else size)


def _members(archive: zipfile.ZipFile, path: Path, limits: ReadLimits) -> dict[str, zipfile.ZipInfo]:
    """The arrays by name; raises unless they can be those of a matrix and are not too large."""
    infos = archive.infolist()
    members = {info.filename.removesuffix(".npy"): info for info in infos if info.filename.endswith(".npy")}
    if "format" not in members:
        raise MatrixFileError(
            "This zip archive is no sparse matrix of SciPy (scipy.sparse.save_npz). Unpack it and upload the .mtx file."
        )
    infos = [info for info in infos if info.filename.removesuffix(".npy") in NAMES]
    if len(infos) != len(members.keys() & NAMES):
        raise MatrixFileError("The .npz file has two members of one name; save it with save_npz again.")
    for info in infos:
        if info.header_offset < 0 or info.flag_bits & 1 or info.compress_type not in PACKINGS:
            raise MatrixFileError(
                "The .npz file is encrypted or packed in an unusual way; save it with save_npz again."
            )
    total, packed = sum(info.file_size for info in infos), sum(info.compress_size for info in infos)
    if total > limits.decompressed_bytes:
        raise TooLargeError(
            f"The file holds {units.size(total)}; at most {units.size(limits.decompressed_bytes)} are read here."
        )
    check_effort(total, min(packed, path.stat().st_size), 1, limits, ".npz")
    return members


def _matrix(members: dict[str, zipfile.ZipInfo], archive: zipfile.ZipFile, limits: ReadLimits) -> ReadResult:
    layout = _layout(members, archive)
    arrays = {name: _array(archive, members[name]) for name in (*ARRAYS[layout], "shape", "data")}
    for name, array in arrays.items():
        if array.ndim != 1 or array.dtype.kind not in KINDS.get(name, "iuf"):
            raise MatrixFileError(
                f"The array {name} is {array.dtype} with {array.ndim} axes; expected one axis of numbers."
            )
    shape = [int(size) for size in arrays["shape"][:3]]
    if len(shape) != 2 or min(shape) < 0:
        raise MatrixFileError(f"The shape of the matrix is {quote(shape)}; expected rows and columns.")
    n_rows, n_cols = shape
    first, second = (whole(arrays[name], name) for name in ARRAYS[layout])
    names = members.keys() - {*arrays, "format", "_is_array"}
    notes = [f"{len(names)} other arrays of the file were left out."] if names else []
    if layout == "coo":
        if first.shape != second.shape or first.shape != arrays["data"].shape:
            raise MatrixFileError(
                f"There are {first.size} rows, {second.size} columns and {arrays['data'].size} values."
            )
        rows, cols = checked_indices(first, n_rows, "row"), checked_indices(second, n_cols, "column")
        return build_entries(n_rows, n_cols, Chunk(rows, cols, arrays["data"]), limits, *notes)
    indices, values = second, arrays["data"]
    if first.size and 0 <= int(first[-1]) < indices.size == values.size:
        # SciPy keeps room for entries to come behind the last one.
        indices, values = indices[: int(first[-1])], values[: int(first[-1])]
    return build(Compressed(n_rows, n_cols, first, indices, values, layout == "csc"), limits, *notes)


def _layout(members: dict[str, zipfile.ZipInfo], archive: zipfile.ZipFile) -> str:
    """csr, csc or coo; raises unless the file has its arrays and no others."""
    named = (
        _array(archive, members["format"])
        if members["format"].file_size < NPY_HEADER_MAX + TEXT_BYTES_MAX
        else np.empty(0)
    )
    layout = named.item() if named.size == 1 and named.dtype.kind in "SU" else ""
    layout = layout.decode("ascii", "backslashreplace") if isinstance(layout, bytes) else layout
    if layout not in ARRAYS:
        raise MatrixFileError(f"The matrix is saved as {quote(layout)}; call .tocsr() on it before save_npz.")
    if missing := ", ".join(sorted({*COMMON, *ARRAYS[layout]} - members.keys())):
        raise MatrixFileError(f"The file lacks {missing}, which a {layout} matrix has; save it with save_npz again.")
    return layout


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """The array of a member whose size is exactly what its header says."""
    with archive.open(info) as member:
        dtype, shape, header_bytes = _header(member, info.filename)
        if math.prod(shape) * dtype.itemsize != info.file_size - header_bytes:
            raise MatrixFileError(f"The array {quote(info.filename)} has another size than its header says.")
        content = bytearray()
        while block := member.read(BLOCK_BYTES):
            content += block
    if len(content) != info.file_size - header_bytes:
        raise MatrixFileError(f"The array {quote(info.filename)} has another size than the zip directory says.")
    if dtype.kind == "b":
        return (np.frombuffer(content, np.uint8) != 0).reshape(shape)
    return np.frombuffer(content, dtype).reshape(shape)


def _header(member: Any, name: str) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """(dtype, shape, bytes of the header) of a .npy member."""
    start = member.read(8)
    wide = start[6:7] in (b"\2", b"\3")
    length = member.read(4 if wide else 2)
    size = int.from_bytes(length, "little")
    if start[:6] != NPY_MAGIC or start[6:7] not in (b"\1", b"\2", b"\3") or size > NPY_HEADER_MAX:
        raise MatrixFileError(f"The member {quote(name)} is no NumPy array; save the matrix with save_npz again.")
    descr, shape = _described(member.read(size).decode("latin-1"), name)
    if len(shape) > 1:
        raise MatrixFileError(f"The array {quote(name)} has {len(shape)} axes; the arrays of a matrix have one.")
    return _dtype(descr, name), shape, 8 + len(length) + size


def _described(text: str, name: str) -> tuple[str, tuple[int, ...]]:
    """The type and shape in a header: a Python dictionary of three keys in any order, as NumPy's document says."""
    try:
        # Python 2 wrote large whole numbers as 7L.
        said = ast.literal_eval(re.sub(r"(?<=\d)L(?=[,)])", "", text).strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        said = None
    if isinstance(said, dict) and said.keys() == NPY_KEYS and isinstance(said["fortran_order"], bool):
        descr, shape = said["descr"], said["shape"]
        sizes = isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)
        if sizes and isinstance(descr, str) and DESCR.fullmatch(descr):
            return descr, shape
    raise MatrixFileError(
        f"The array {quote(name)} does not hold plain numbers; objects, complex numbers and records are not read."
    )


def _dtype(descr: str, name: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(descr)
    except TypeError as error:
        raise MatrixFileError(f"The array {quote(name)} has the unknown type {quote(descr)}.") from error
    if dtype.kind not in "biufSU":
        raise MatrixFileError(f"The array {quote(name)} is {dtype}, no plain numbers; save the values as float64.")
    if not 1 <= dtype.itemsize <= (8 if dtype.kind not in "SU" else TEXT_BYTES_MAX):
        raise MatrixFileError(f"The array {quote(name)} is {dtype}; save the values as float64.")
    return dtype
