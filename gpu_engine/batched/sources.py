"""Matrices for a batch, from a folder or an archive of files: one file at a time, under one limit for all of them.

An archive's member is unpacked under a number of ours, never under its own name, and removed with the folder around it.
"""

import io
import shutil
import stat
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import InputError, MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import ReadLimits, ReadOptions, read_matrix
from gpu_engine.matrix_io.base import GIB
from gpu_engine.matrix_io.decompress import check_effort, content_blocks
from gpu_engine.matrix_io.npz import ZIP_MAGIC
from gpu_engine.matrix_io.tar import is_tar, tar_members

COPY_BYTES = 2**20
DIRECTORY_BYTES = 256
"""Most bytes of a zip directory that a member may take; they cover the search for the directory's end too."""


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """How much a source may cost before it is refused with a TooLargeError.

    files         members of an archive, or files of a folder
    matrix_bytes  CSR of all matrices together, which whoever makes a batch of them holds
    file          of each file; `decompressed_bytes` also of an archive as a whole
    """

    files: int = 20_000
    matrix_bytes: int = 4 * GIB
    file: ReadLimits = field(default_factory=ReadLimits)


def read_matrices(
    path: Path, limits: SourceLimits | None = None, options: ReadOptions | None = None
) -> Generator[tuple[str, CsrMatrix]]:
    """(name, matrix) of every file of a folder, a .tar, .tar.gz, .tar.bz2 or .zip, in the order of the names.

    Names are paths within the source; folders within a folder are left out. What was unpacked is removed when the
    iterator ends or is closed. Raises MatrixFileError or TooLargeError naming the member, before more is held than the
    limits allow, and ParameterError for options that a file's format does not have.
    """
    limits = limits or SourceLimits()
    if path.is_dir():
        yield from _read(_files(path, limits), limits, options)
        return
    with tempfile.TemporaryDirectory(prefix="sparsight-batch-") as folder:
        yield from _read(_unpacked(path, Path(folder), limits), limits, options)


def _read(files: dict[str, Path], limits: SourceLimits, options: ReadOptions | None) -> Iterator[tuple[str, CsrMatrix]]:
    """The matrix of each file, read when it is asked for, while its CSR fits what is left."""
    if not files:
        raise MatrixFileError("There is no file in it; expected matrix files in a folder or an archive.")
    left = limits.matrix_bytes
    for name in sorted(files):
        # A reader stops at so many nonzeros or rows: nothing larger than what is left is ever held.
        most, free = min(limits.file.nnz_max, left // 12), min(limits.file.dimension_free, left // 4)
        file_limits = replace(limits.file, nnz_max=most, dimension_free=free)
        try:
            matrix = read_matrix(files[name], file_limits, options).matrix
        except InputError as error:
            raise _named(name, error) from error
        left -= matrix.stored_bytes
        if left < 0:
            raise TooLargeError(f"{quote(name)} and the files before it take more than {limits.matrix_bytes} bytes.")
        yield name, matrix


def _named(name: str, error: InputError) -> InputError:
    """The same error, its message beginning with the member's name."""
    named = type(error)(f"{quote(name)}: {error.message}")
    if isinstance(named, MatrixFileError) and isinstance(error, MatrixFileError):
        named.line = error.line
    return named


def _files(folder: Path, limits: SourceLimits) -> dict[str, Path]:
    """The files of a folder by name; raises MatrixFileError for a link and whatever else is no file."""
    found: dict[str, Path] = {}
    for entry in folder.iterdir():
        mode = entry.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode):
            raise MatrixFileError(f"{quote(entry.name)} is a link, a device or the like; only files are read.")
        _count(len(found) + 1, limits)
        found[entry.name] = entry
    return found


def _count(files: int, limits: SourceLimits) -> None:
    if files > limits.files:
        raise TooLargeError(f"There are more than {limits.files} files; a batch is read from at most so many.")


def _unpacked(path: Path, folder: Path, limits: SourceLimits) -> dict[str, Path]:
    """The members of an archive by name, unpacked into the folder; the content says what kind of archive it is."""
    with path.open("rb") as file:
        if file.read(len(ZIP_MAGIC)) == ZIP_MAGIC:
            return _unzipped(path, folder, limits)
    with closing(content_blocks(path, limits.file)) as blocks:
        if not is_tar(next(blocks, b"")):
            raise MatrixFileError(
                f"{quote(path.name)} is neither a folder nor a tar or zip archive; expected matrix files in one."
            )
    return _untarred(path, folder, limits)


def _untarred(path: Path, folder: Path, limits: SourceLimits) -> dict[str, Path]:
    found: dict[str, Path] = {}
    with closing(content_blocks(path, limits.file)) as blocks:
        # Each file may come with a folder.
        for member, content in tar_members(blocks, 2 * limits.files + 1):
            if member.is_file:
                _count(len(found) + 1, limits)
                with _place(folder, member.name, found).open("xb") as file:
                    file.writelines(content)
    return found


def _unzipped(path: Path, folder: Path, limits: SourceLimits) -> dict[str, Path]:
    found: dict[str, Path] = {}
    try:
        with _Bounded(path, limits) as file:
            archive = zipfile.ZipFile(file)
            infos = [info for info in archive.infolist() if not info.is_dir()]
            _count(len(infos), limits)
            _check_sizes(infos, path, limits)
            for info in infos:
                _check_member(info)
                with archive.open(info) as member, _place(folder, info.filename, found).open("xb") as unpacked:
                    shutil.copyfileobj(member, unpacked, COPY_BYTES)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, struct.error) as error:
        raise MatrixFileError(f"The zip archive is damaged ({quote(error)}); pack it again.") from error
    return found


class _Bounded(io.BufferedReader):
    """A zip file whose directory is read only while it has no more bytes than so many members may take."""

    def __init__(self, path: Path, limits: SourceLimits) -> None:
        super().__init__(io.FileIO(path))
        self._most = DIRECTORY_BYTES * (limits.files + 256)

    def read(self, size: int | None = -1, /) -> bytes:
        """As of any file; raises TooLargeError for more than the bound."""
        if size is not None and size > self._most:
            raise TooLargeError(f"The directory of the zip archive has more than {self._most} bytes; pack fewer files.")
        return super().read(self._most if size is None or size < 0 else size)


def _check_sizes(infos: list[zipfile.ZipInfo], path: Path, limits: SourceLimits) -> None:
    """Raises TooLargeError for what the members say to hold; none is unpacked beyond what it says."""
    total, packed = sum(info.file_size for info in infos), sum(info.compress_size for info in infos)
    if total > limits.file.decompressed_bytes:
        raise TooLargeError(f"The archive holds {total} bytes; at most {limits.file.decompressed_bytes} are read here.")
    check_effort(total, min(packed, path.stat().st_size), 1, limits.file, "zip")


def _check_member(info: zipfile.ZipInfo) -> None:
    """Raises MatrixFileError for a member that no archive of matrices needs."""
    name, mode = info.filename, info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise MatrixFileError(f"The member {quote(name)} is a link, a device or the like; only files are read.")
    if name.startswith("/") or "\\" in name or ".." in name.split("/"):
        raise MatrixFileError(f"The member {quote(name)} points outside the archive; expected a path within it.")
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise MatrixFileError(f"The member {quote(name)} is encrypted or packed in an unusual way; pack it plainly.")


def _place(folder: Path, name: str, found: dict[str, Path]) -> Path:
    """Where the member goes, kept in `found`; raises MatrixFileError where the name is there already."""
    if name in found:
        raise MatrixFileError(f"The archive has two members {quote(name)}; give each a name of its own.")
    found[name] = folder / str(len(found))
    return found[name]
