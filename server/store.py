"""Store: the arrays of matrices, a folder per matrix, on a local disk or anywhere that fsspec reaches."""

import json
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
from fsspec.implementations.local import LocalFileSystem

from gpu_engine.csr_matrix import CsrMatrix, canonical
from gpu_engine.errors import NotFoundError, UnavailableError, quote

ARRAYS = ("indptr", "indices", "values")
META = "meta.json"
FILES = (*(f"{name}.npy" for name in ARRAYS), META)
INCOMING = ".incoming"
KEY = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Store:
    """`indptr.npy indices.npy values.npy meta.json` per matrix id, uncompressed, so that they can be memory-mapped.

    A matrix is there whole or not at all: on a local disk its folder is written elsewhere and renamed; anywhere else
    `meta.json`, which makes it a matrix, comes last.
    """

    def __init__(self, url: str) -> None:
        """url  a folder, or any fsspec URL (`s3://bucket/matrices`)."""
        self.fs: Any
        self.fs, self.root = fsspec.core.url_to_fs(url)
        self.is_local = isinstance(self.fs, LocalFileSystem)

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """A new local folder to write a matrix into; it is gone after the block unless `commit` took it."""
        parent = None
        if self.is_local:
            # On the store's own disk, so that the commit is a rename.
            parent = Path(self.root) / INCOMING
            parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def commit(self, matrix_id: str, folder: Path) -> None:
        """Takes a staged folder as the matrix of this id, once its arrays have passed the check of a load."""
        read_matrix(folder)
        target = self._path(matrix_id)
        if self.is_local:
            for name in FILES:
                _sync(folder / name)
            os.replace(folder, target)
            _sync(Path(self.root))
            return
        for name in FILES:
            self.fs.put_file(str(folder / name), f"{target}/{name}")

    def folder(self, matrix_id: str) -> Path:
        """The folder of a matrix, to be mapped by others; UnavailableError where the store is none that hosts mount."""
        if not self.is_local:
            raise UnavailableError(
                "The store is no folder; several hosts read one that they all have at the same path."
            )
        return Path(self._existing(matrix_id))

    def load(self, matrix_id: str) -> CsrMatrix:
        """The matrix, memory-mapped read-only where the store is a local folder; NotFoundError if it is not there."""
        path = self._existing(matrix_id)
        if self.is_local:
            return read_matrix(Path(path))
        arrays = {name: self._fetch(f"{path}/{name}.npy") for name in ARRAYS}
        meta = self.meta(matrix_id)
        return canonical(int(meta["n_rows"]), int(meta["n_cols"]), **arrays)

    def meta(self, matrix_id: str) -> dict[str, Any]:
        """What was computed when the matrix came in: n_rows, n_cols, fingerprint, notes, features, row_lengths, spy."""
        document: dict[str, Any] = json.loads(self.fs.cat_file(f"{self._existing(matrix_id)}/{META}"))
        return document

    def open(self, matrix_id: str, name: str) -> Any:
        """One of the FILES of a matrix, to read its bytes; raises FileNotFoundError."""
        return self.fs.open(f"{self._path(matrix_id)}/{name}", "rb")

    def size(self, matrix_id: str, name: str) -> int:
        """The bytes of one of the FILES; raises FileNotFoundError."""
        return int(self.fs.size(f"{self._path(matrix_id)}/{name}"))

    def bytes(self, matrix_id: str) -> int:
        """What the matrix takes; 0 where it is not there."""
        path = self._path(matrix_id)
        return int(self.fs.du(path)) if self.fs.exists(path) else 0

    def delete(self, matrix_id: str) -> None:
        """Removes the matrix; nothing happens if it is not there."""
        path = self._path(matrix_id)
        if self.fs.exists(path):
            self.fs.rm(path, recursive=True)

    def ids(self) -> set[str]:
        """Every matrix in the store."""
        if not self.fs.exists(self.root):
            return set()
        self.fs.invalidate_cache()
        return {Path(path).name for path in self.fs.ls(self.root, detail=False)} - {INCOMING}

    def sweep(self, known: Collection[str]) -> list[str]:
        """Removes whatever a crash left: staged folders, and matrices that are not `known`; returns the latter."""
        incoming = f"{self.root}/{INCOMING}"
        if self.fs.exists(incoming):
            self.fs.rm(incoming, recursive=True)
        orphans = sorted(self.ids() - set(known))
        for name in orphans:
            self.fs.rm(f"{self.root}/{name}", recursive=True)
        return orphans

    def _fetch(self, path: str) -> np.ndarray[Any, Any]:
        with self.fs.open(path, "rb") as file:
            return np.lib.format.read_array(file, allow_pickle=False)

    def _path(self, matrix_id: str) -> str:
        if not KEY.fullmatch(matrix_id):
            raise NotFoundError(f"{quote(matrix_id)} is not the id of a matrix.")
        return f"{self.root}/{matrix_id}"

    def _existing(self, matrix_id: str) -> str:
        path = self._path(matrix_id)
        if not self.fs.exists(f"{path}/{META}"):
            raise NotFoundError(f"The values of matrix {quote(matrix_id)} are not in the store. Upload it again.")
        return path


def write_matrix(folder: Path, matrix: CsrMatrix, meta: dict[str, Any]) -> None:
    """Writes the files of a matrix into an empty local folder; `meta` gains its shape."""
    for name in ARRAYS:
        _write_array(folder / f"{name}.npy", getattr(matrix, name))
    document = {"n_rows": matrix.n_rows, "n_cols": matrix.n_cols, "nnz": matrix.nnz, **meta}
    (folder / META).write_text(json.dumps(document, allow_nan=False), encoding="utf-8")


def _write_array(path: Path, array: np.ndarray[Any, Any]) -> None:
    """Write a .npy file as NumPy does, whose own writing tells of a full disk without saying that it is one."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(np.ascontiguousarray(array).data)


def read_matrix(folder: Path) -> CsrMatrix:
    """The matrix of a local folder, memory-mapped read-only; raises InputError unless it is safe to compute with."""
    meta = json.loads((folder / META).read_bytes())
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS}
    # Arrays that have the canonical types are passed on as they are, not copied.
    return canonical(int(meta["n_rows"]), int(meta["n_cols"]), **arrays)


def _sync(path: Path) -> None:
    """Returns when the file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
