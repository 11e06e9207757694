"""SciPy's .npz files (scipy.sparse.save_npz): every size is checked in the zip directory before a byte is unpacked.

NumPy's loader is not used: it unpickles where it is asked to, and trusts the shapes that an array names.
"""

import io
import math
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io.assemble import Chunk
from gpu_engine.matrix_io.base import ReadLimits, ReadResult
from gpu_engine.matrix_io.compressed import Compressed, build, build_entries, checked_indices
from gpu_engine.matrix_io.decompress import check_effort

ZIP_MAGIC = b"PK\x03\x04"
DIRECTORY_BYTES_MAX = 128 * 1024
"""Enough for the zip directory of a matrix and, at most 65,557 bytes, for the search of where it begins."""

BLOCK_BYTES = 64 * 1024
ARRAYS = {"csr": ("indptr", "indices"), "csc": ("indptr", "indices"), "coo": ("row", "col")}
COMMON = ("format", "shape", "data")
NPY_MAGIC = b"\x93NUMPY"
NPY_HEADER_MAX = 1024
NPY_HEADER = re.compile(
    r"\{'descr': '([<>=|]?[biufSU]\d{1,2})', 'fortran_order': (?:True|False), 'shape': \(([\d, ]*)\),? ?\}[ ]*\n"
)


class SciPyNpz:
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
            EOFError,
            NotImplementedError,
            UnicodeDecodeError,
            struct.error,
        ) as error:
            raise MatrixFileError(f"The zip archive is damaged ({quote(error)}); save or send it again.") from error


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
    if len(members) != len(infos) or len(members) > len(COMMON) + 3:
        raise MatrixFileError("The .npz file has members beside the arrays of a matrix; save it with save_npz again.")
    for info in infos:
        if (
            info.header_offset < 0
            or info.flag_bits & 1
            or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        ):
            raise MatrixFileError(
                "The .npz file is encrypted or packed in an unusual way; save it with save_npz again."
            )
    total, packed = sum(info.file_size for info in infos), sum(info.compress_size for info in infos)
    if total > limits.decompressed_bytes:
        raise TooLargeError(f"The file holds {quote(total)} bytes; at most {limits.decompressed_bytes} are read here.")
    check_effort(total, min(packed, path.stat().st_size), 1, limits, ".npz")
    return members


def _matrix(members: dict[str, zipfile.ZipInfo], archive: zipfile.ZipFile, limits: ReadLimits) -> ReadResult:
    layout = _layout(members, archive)
    arrays = {name: _array(archive, members[name]) for name in (*ARRAYS[layout], "shape", "data")}
    for name, array in arrays.items():
        if array.ndim != 1 or array.dtype.kind not in ("iufb" if name == "data" else "iu"):
            raise MatrixFileError(
                f"The array {name} is {array.dtype} with {array.ndim} axes; expected one axis of numbers."
            )
    shape = [int(size) for size in arrays["shape"][:3]]
    if len(shape) != 2 or min(shape) < 0:
        raise MatrixFileError(f"The shape of the matrix is {quote(shape)}; expected rows and columns.")
    n_rows, n_cols = shape
    first, second = (arrays[name] for name in ARRAYS[layout])
    if layout == "coo":
        if first.shape != second.shape or first.shape != arrays["data"].shape:
            raise MatrixFileError(
                f"There are {first.size} rows, {second.size} columns and {arrays['data'].size} values."
            )
        rows, cols = checked_indices(first, n_rows, "row"), checked_indices(second, n_cols, "column")
        return build_entries(n_rows, n_cols, Chunk(rows, cols, arrays["data"]), limits)
    return build(Compressed(n_rows, n_cols, first, second, arrays["data"], layout == "csc"), limits)


def _layout(members: dict[str, zipfile.ZipInfo], archive: zipfile.ZipFile) -> str:
    """csr, csc or coo; raises unless the file has its arrays and no others."""
    named = _array(archive, members["format"]) if members["format"].file_size < 2 * NPY_HEADER_MAX else np.empty(0)
    layout = named.item() if named.shape == () and named.dtype.kind in "SU" else ""
    layout = layout.decode("ascii", "backslashreplace") if isinstance(layout, bytes) else layout
    if layout not in ARRAYS:
        raise MatrixFileError(f"The matrix is saved as {quote(layout)}; call .tocsr() on it before save_npz.")
    expected = {*COMMON, *ARRAYS[layout]}
    if members.keys() - {"_is_array"} != expected:
        names = ", ".join(sorted(expected))
        raise MatrixFileError(f"A {layout} matrix has the arrays {names}; this file has others. Save it again.")
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
    match = NPY_HEADER.fullmatch(member.read(size).decode("latin-1"))
    if match is None:
        raise MatrixFileError(
            f"The array {quote(name)} does not hold plain numbers; objects, complex numbers and records are not read."
        )
    shape = tuple(map(int, re.findall(r"\d+", match[2])))
    if len(shape) > 1:
        raise MatrixFileError(f"The array {quote(name)} has {len(shape)} axes; the arrays of a matrix have one.")
    return _dtype(match[1], name), shape, 8 + len(length) + size


def _dtype(descr: str, name: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(descr)
    except TypeError as error:
        raise MatrixFileError(f"The array {quote(name)} has the unknown type {quote(descr)}.") from error
    if not 1 <= dtype.itemsize <= (8 if dtype.kind not in "SU" else NPY_HEADER_MAX):
        raise MatrixFileError(f"The array {quote(name)} is {dtype}; save the values as float64.")
    return dtype
