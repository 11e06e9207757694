"""Reader of sparse matrices in .npz files, of SciPy and of other programs with named arrays.

Every size is checked in the zip directory before a byte is unpacked. NumPy's loader is not used: it unpickles if it
is asked to, and trusts the shape in the header of an array.
"""

import io
import lzma
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import npz_layouts
from gpu_engine.matrix_io.base import Complete, ReadLimits, ReadResult
from gpu_engine.matrix_io.decompress import check_effort
from gpu_engine.matrix_io.npy import NPY_HEADER_MAX, TEXT_BYTES_MAX, read_array
from gpu_engine.matrix_io.zip_names import refusal
from gpu_engine.text import units

ZIP_MAGIC = b"PK\x03\x04"
DIRECTORY_BYTES_MAX = 128 * 1024
"""Maximum bytes of the zip directory of a matrix, including at most 65,557 bytes to search its begin."""

PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


class SciPyNpz(Complete):
    """Reader of sparse matrices saved by SciPy, by pydata/sparse, or as separate arrays."""

    name = "SciPy .npz"

    def recognizes(self, head: bytes) -> bool:
        """Return whether the content is a zip archive; no other format is one."""
        return head.startswith(ZIP_MAGIC)

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises MatrixFileError or TooLargeError."""
        try:
            with _Bounded(path) as file:
                if file.peek(len(ZIP_MAGIC))[: len(ZIP_MAGIC)] != ZIP_MAGIC:
                    raise MatrixFileError("The .npz file is compressed twice; unpack it once.")
                archive = zipfile.ZipFile(file)
                members = {info.filename.removesuffix(".npy"): info for info in archive.infolist() if _is_array(info)}
                layout = npz_layouts.choose(members.keys(), lambda name: _mark(archive, members[name], path, limits))
                if layout is None:
                    raise refusal(archive.namelist())
                _check_members(archive, layout.names, path, limits)
                arrays = {role: read_array(archive, members[name]) for role, name in layout.members.items()}
                left_out = len(members.keys() - layout.names - npz_layouts.MARKS)
                notes = [f"{left_out} other arrays of the file were omitted."] if left_out else []
                return npz_layouts.build(layout, arrays, limits, *notes)
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


def _is_array(info: zipfile.ZipInfo) -> bool:
    return info.filename.endswith(".npy")


def _damaged(error: Exception) -> MatrixFileError:
    return MatrixFileError(f"The zip archive is damaged ({quote(error)}); save or send it again.")


class _Bounded(io.BufferedReader):
    """A file that reads at most DIRECTORY_BYTES_MAX bytes at once, so that a zip directory cannot claim more."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path))

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the bytes that are read; raises TooLargeError for more than the bound."""
        if size is not None and size > DIRECTORY_BYTES_MAX:
            raise TooLargeError(
                "The zip archive has too many members; a matrix saved by scipy.sparse.save_npz has few."
            )
        return super().read(DIRECTORY_BYTES_MAX if size is None or size < 0 else size)


def _mark(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, limits: ReadLimits) -> Any:
    """Return the array that describes the others; an empty one if it is too large."""
    _check_members(archive, {info.filename.removesuffix(".npy")}, path, limits)
    return read_array(archive, info) if info.file_size < NPY_HEADER_MAX + TEXT_BYTES_MAX else np.empty(0)


def _check_members(archive: zipfile.ZipFile, names: set[str], path: Path, limits: ReadLimits) -> None:
    """Raise MatrixFileError or TooLargeError unless the named arrays can be unpacked within the limits."""
    infos = [info for info in archive.infolist() if _is_array(info) and info.filename.removesuffix(".npy") in names]
    if len(infos) != len(names):
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
