"""Matrices for a batch from a folder or an archive of files, read one at a time under a common limit.

A member of an archive is unpacked under a number, never under its own name, and removed with its folder.
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
"""Most bytes of a zip directory per member, including the search for the end of the directory."""


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """Limits of a source; a larger one raises TooLargeError.

    files         members of an archive, or files of a folder
    matrix_bytes  bytes of all matrices together in CSR
    file          limits of each file; `decompressed_bytes` also of the whole archive
    """

    files: int = 20_000
    matrix_bytes: int = 4 * GIB
    file: ReadLimits = field(default_factory=ReadLimits)


def read_matrices(
    path: Path, limits: SourceLimits | None = None, options: ReadOptions | None = None
) -> Generator[tuple[str, CsrMatrix]]:
    """Yield (name, matrix) of every file of a folder, .tar, .tar.gz, .tar.bz2 or .zip, ordered by name.

    Names are paths within the source; subfolders of a folder are skipped. Unpacked files are removed when the iterator
    ends or is closed. Raise MatrixFileError or TooLargeError with the name of the member before the limits are
    exceeded, and ParameterError for options that the format of a file does not have.
    """
    limits = limits or SourceLimits()
    if path.is_dir():
        yield from _read(_files(path, limits), limits, options)
        return
    with tempfile.TemporaryDirectory(prefix="sparsight-batch-") as folder:
        yield from _read(_unpacked(path, Path(folder), limits), limits, options)


def _read(files: dict[str, Path], limits: SourceLimits, options: ReadOptions | None) -> Iterator[tuple[str, CsrMatrix]]:
    """Yield the matrix of each file, read on demand, while its CSR fits into the remaining bytes."""
    if not files:
        raise MatrixFileError("The source has no files; expected matrix files in a folder or an archive.")
    left = limits.matrix_bytes
    for name in sorted(files):
        # The reader stops at these nonzeros or rows, so that memory never exceeds the remaining bytes.
        most, free = min(limits.file.nnz_max, left // 12), min(limits.file.dimension_free, left // 4)
        file_limits = replace(limits.file, nnz_max=most, dimension_free=free)
        try:
            matrix = read_matrix(files[name], file_limits, options).matrix
        except InputError as error:
            raise _with_member_name(name, error) from error
        left -= matrix.stored_bytes
        if left < 0:
            raise TooLargeError(f"{quote(name)} and the files before it take more than {limits.matrix_bytes} bytes.")
        yield name, matrix


def _with_member_name(name: str, error: InputError) -> InputError:
    """Return an error of the same class whose message begins with the name of the member."""
    named = type(error)(f"{quote(name)}: {error.message}")
    if isinstance(named, MatrixFileError) and isinstance(error, MatrixFileError):
        named.line = error.line
    return named


def _files(folder: Path, limits: SourceLimits) -> dict[str, Path]:
    """Return the files of a folder by name; raise MatrixFileError for a link or a device."""
    files: dict[str, Path] = {}
    for entry in folder.iterdir():
        mode = entry.lstat().st_mode
        if stat.S_ISDIR(mode):
            continue
        if not stat.S_ISREG(mode):
            raise MatrixFileError(f"{quote(entry.name)} is a link, a device or the like; only files are read.")
        _count(len(files) + 1, limits)
        files[entry.name] = entry
    return files


def _count(files: int, limits: SourceLimits) -> None:
    if files > limits.files:
        raise TooLargeError(f"There are more than {limits.files} files, the limit of a batch. Use fewer files.")


def _unpacked(path: Path, folder: Path, limits: SourceLimits) -> dict[str, Path]:
    """Unpack an archive into the folder; return its members by name. The content determines the type of archive."""
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
    members: dict[str, Path] = {}
    with closing(content_blocks(path, limits.file)) as blocks:
        # Each file may have a member for its folder.
        for member, content in tar_members(blocks, 2 * limits.files + 1):
            if member.is_file:
                _count(len(members) + 1, limits)
                with _member_path(folder, member.name, members).open("xb") as file:
                    file.writelines(content)
    return members


def _unzipped(path: Path, folder: Path, limits: SourceLimits) -> dict[str, Path]:
    members: dict[str, Path] = {}
    try:
        with _Bounded(path, limits) as file:
            archive = zipfile.ZipFile(file)
            infos = [info for info in archive.infolist() if not info.is_dir()]
            _count(len(infos), limits)
            _check_sizes(infos, path, limits)
            for info in infos:
                _check_member(info)
                with archive.open(info) as member, _member_path(folder, info.filename, members).open("xb") as unpacked:
                    shutil.copyfileobj(member, unpacked, COPY_BYTES)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError, struct.error) as error:
        raise MatrixFileError(f"The zip archive is damaged ({quote(error)}). Pack it again.") from error
    return members


class _Bounded(io.BufferedReader):
    """A zip file whose directory is read only up to the bytes that the allowed members can take."""

    def __init__(self, path: Path, limits: SourceLimits) -> None:
        super().__init__(io.FileIO(path))
        self._most = DIRECTORY_BYTES * (limits.files + 256)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read bytes; raise TooLargeError beyond the limit."""
        if size is not None and size > self._most:
            raise TooLargeError(f"The directory of the zip archive has more than {self._most} bytes. Pack fewer files.")
        return super().read(self._most if size is None or size < 0 else size)


def _check_sizes(infos: list[zipfile.ZipInfo], path: Path, limits: SourceLimits) -> None:
    """Raise TooLargeError for the declared sizes of the members; none is unpacked beyond its declared size."""
    total, packed = sum(info.file_size for info in infos), sum(info.compress_size for info in infos)
    if total > limits.file.decompressed_bytes:
        raise TooLargeError(f"The archive unpacks to {total} bytes; the limit is {limits.file.decompressed_bytes}.")
    check_effort(total, min(packed, path.stat().st_size), 1, limits.file, "zip")


def _check_member(info: zipfile.ZipInfo) -> None:
    """Raise MatrixFileError for a member that an archive of matrices does not need."""
    name, mode = info.filename, info.external_attr >> 16
    if stat.S_IFMT(mode) not in (0, stat.S_IFREG):
        raise MatrixFileError(f"The member {quote(name)} is a link, a device or the like; only files are read.")
    if name.startswith("/") or "\\" in name or ".." in name.split("/"):
        raise MatrixFileError(f"The member {quote(name)} points outside the archive; expected a path within it.")
    if info.flag_bits & 1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise MatrixFileError(f"The member {quote(name)} is encrypted or packed in an unusual way; pack it plainly.")


def _member_path(folder: Path, name: str, members: dict[str, Path]) -> Path:
    """Return the path for a member and add it to `members`; raise MatrixFileError if the name exists already."""
    if name in members:
        raise MatrixFileError(f"The archive has two members named {quote(name)}. Give them different names.")
    members[name] = folder / str(len(members))
    return members[name]
