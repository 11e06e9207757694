"""Reads NumPy arrays in a zip archive without NumPy's loader, which trusts the shape in the header."""

import ast
import math
import re
import zipfile
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, quote

BLOCK_BYTES = 64 * 1024
NPY_MAGIC = b"\x93NUMPY"
NPY_HEADER_MAX = 10_000
"""Maximum bytes of a header, as in NumPy, whose writers need less than 200 bytes."""

NPY_KEYS = {"descr", "fortran_order", "shape"}
DESCR = re.compile(r"[<>=|]?[A-Za-z]\w{0,15}", re.ASCII)
TEXT_BYTES_MAX = 1024
AXES_MAX = 3


def read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Any:
    """Return the array of a member; raises MatrixFileError unless its size equals the size in its header."""
    with archive.open(info) as member:
        dtype, shape, by_columns, header_bytes = _header(member, info.filename)
        if math.prod(shape) * dtype.itemsize != info.file_size - header_bytes:
            raise MatrixFileError(f"The array {quote(info.filename)} has another size than its header says.")
        content = bytearray()
        while block := member.read(BLOCK_BYTES):
            content += block
    if len(content) != info.file_size - header_bytes:
        raise MatrixFileError(f"The array {quote(info.filename)} has another size than the zip directory says.")
    order: Any = "F" if by_columns else "C"
    if dtype.kind == "b":
        return (np.frombuffer(content, np.uint8) != 0).reshape(shape, order=order)
    return np.frombuffer(content, dtype).reshape(shape, order=order)


def _header(member: Any, name: str) -> tuple[np.dtype[Any], tuple[int, ...], bool, int]:
    """Return (dtype, shape, whether by columns, bytes of the header) of a .npy member."""
    start = member.read(8)
    wide = start[6:7] in (b"\2", b"\3")
    length = member.read(4 if wide else 2)
    size = int.from_bytes(length, "little")
    if start[:6] != NPY_MAGIC or start[6:7] not in (b"\1", b"\2", b"\3") or size > NPY_HEADER_MAX:
        raise MatrixFileError(f"The member {quote(name)} is not a NumPy array; save the matrix with save_npz again.")
    descr, shape, by_columns = _described(member.read(size).decode("latin-1"), name)
    if len(shape) > AXES_MAX:
        raise MatrixFileError(f"The array {quote(name)} has {len(shape)} axes; the arrays of a matrix have up to 3.")
    return _dtype(descr, name), shape, by_columns, 8 + len(length) + size


def _described(text: str, name: str) -> tuple[str, tuple[int, ...], bool]:
    """Return type, shape, and order in a header, a Python dictionary with three keys in any order."""
    try:
        # Python 2 wrote large whole numbers as 7L.
        header = ast.literal_eval(re.sub(r"(?<=\d)L(?=[,)])", "", text).strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        header = None
    if isinstance(header, dict) and header.keys() == NPY_KEYS and isinstance(header["fortran_order"], bool):
        descr, shape = header["descr"], header["shape"]
        sizes = isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)
        if sizes and isinstance(descr, str) and DESCR.fullmatch(descr):
            return descr, shape, header["fortran_order"]
    raise MatrixFileError(
        f"The array {quote(name)} does not hold plain numbers; objects and records are not read, and pickles "
        "never loaded. Save the matrix with scipy.sparse.save_npz."
    )


def _dtype(descr: str, name: str) -> np.dtype[Any]:
    try:
        dtype = np.dtype(descr)
    except TypeError as error:
        raise MatrixFileError(f"The array {quote(name)} has the unknown type {quote(descr)}.") from error
    if dtype.kind == "c":
        raise MatrixFileError(f"The array {quote(name)} is complex. Only real matrices are supported.")
    if dtype.kind not in "biufSU":
        raise MatrixFileError(f"The array {quote(name)} is {dtype}, not plain numbers; save the values as float64.")
    if not 1 <= dtype.itemsize <= (8 if dtype.kind not in "SU" else TEXT_BYTES_MAX):
        raise MatrixFileError(f"The array {quote(name)} is {dtype}; save the values as float64.")
    return dtype
