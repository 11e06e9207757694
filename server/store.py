"""Store: the arrays of matrices, one folder per matrix, on a local disk or any file system of fsspec."""

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
    """Stores `indptr.npy indices.npy values.npy meta.json` per matrix id, uncompressed, so that they can be
    memory-mapped.

    A matrix is stored completely or not at all. On a local disk its folder is written elsewhere and renamed; otherwise
    `meta.json`, which marks a complete matrix, is written last.
    """

    def __init__(self, url: str) -> None:
        """Open the store.

        url  folder, or any fsspec URL (`s3://bucket/matrices`)
        """
        self.fs: Any
        self.fs, self.root = fsspec.core.url_to_fs(url)
        self.is_local = isinstance(self.fs, LocalFileSystem)

    @contextmanager
    def stage(self) -> Iterator[Path]:
        """Yield a new local folder for the files of a matrix, deleted after the block unless `commit` took it."""
        parent = None
        if self.is_local:
            # On the same disk as the store, so that the commit is a rename.
            parent = Path(self.root) / INCOMING
            parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def commit(self, matrix_id: str, folder: Path) -> None:
        """Store a staged folder as the matrix of this id, after its arrays pass the checks of a load."""
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
        """Return the folder of a matrix for mapping by other hosts. Raises UnavailableError if the store is not a
        folder.
        """
        if not self.is_local:
            raise UnavailableError(
                "Multi-host jobs need a shared folder as SPARSIGHT_STORE, mounted at the same path on every host."
            )
        return Path(self._existing(matrix_id))

    def load(self, matrix_id: str) -> CsrMatrix:
        """Return the matrix, memory-mapped read-only if the store is a local folder. Raises NotFoundError."""
        path = self._existing(matrix_id)
        if self.is_local:
            return read_matrix(Path(path))
        arrays = {name: self._fetch(f"{path}/{name}.npy") for name in ARRAYS}
        meta = self.meta(matrix_id)
        return canonical(int(meta["n_rows"]), int(meta["n_cols"]), **arrays)

    def meta(self, matrix_id: str) -> dict[str, Any]:
        """Return the metadata from the ingest: n_rows, n_cols, fingerprint, notes, features, row_lengths, spy."""
        document: dict[str, Any] = json.loads(self.fs.cat_file(f"{self._existing(matrix_id)}/{META}"))
        return document

    def open(self, matrix_id: str, name: str) -> Any:
        """Return one of the FILES of a matrix for reading bytes; raises FileNotFoundError."""
        return self.fs.open(f"{self._path(matrix_id)}/{name}", "rb")

    def size(self, matrix_id: str, name: str) -> int:
        """Return the size of one of the FILES in bytes; raises FileNotFoundError."""
        return int(self.fs.size(f"{self._path(matrix_id)}/{name}"))

    def bytes(self, matrix_id: str) -> int:
        """Return the size of the matrix in bytes; 0 if it is not stored."""
        path = self._path(matrix_id)
        return int(self.fs.du(path)) if self.fs.exists(path) else 0

    def delete(self, matrix_id: str) -> None:
        """Delete the matrix, if it is stored."""
        path = self._path(matrix_id)
        if self.fs.exists(path):
            self.fs.rm(path, recursive=True)

    def ids(self) -> set[str]:
        """Return the ids of all stored matrices."""
        if not self.fs.exists(self.root):
            return set()
        self.fs.invalidate_cache()
        return {Path(path).name for path in self.fs.ls(self.root, detail=False)} - {INCOMING}

    def sweep(self, known: Collection[str]) -> list[str]:
        """Delete leftovers of a crash: staged folders, and matrices that are not `known`. Return the ids
        of the latter.
        """
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
            raise NotFoundError(f"Invalid matrix id {quote(matrix_id)}.")
        return f"{self.root}/{matrix_id}"

    def _existing(self, matrix_id: str) -> str:
        path = self._path(matrix_id)
        if not self.fs.exists(f"{path}/{META}"):
            raise NotFoundError(f"The values of matrix {quote(matrix_id)} are not in the store. Upload it again.")
        return path


def write_matrix(folder: Path, matrix: CsrMatrix, meta: dict[str, Any]) -> None:
    """Write the files of a matrix into an empty local folder, and add its shape to `meta`."""
    for name in ARRAYS:
        _write_array(folder / f"{name}.npy", getattr(matrix, name))
    document = {"n_rows": matrix.n_rows, "n_cols": matrix.n_cols, "nnz": matrix.nnz, **meta}
    (folder / META).write_text(json.dumps(document, allow_nan=False), encoding="utf-8")


def _write_array(path: Path, array: np.ndarray[Any, Any]) -> None:
    """Write a .npy file. NumPy's own function does not report a full disk as such."""
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        file.write(np.ascontiguousarray(array).data)


def read_matrix(folder: Path) -> CsrMatrix:
    """Return the matrix of a local folder, memory-mapped read-only. Raises InputError unless it is safe to compute
    with.
    """
    meta = json.loads((folder / META).read_bytes())
    arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r", allow_pickle=False) for name in ARRAYS}
    # Arrays with canonical types are not copied.
    return canonical(int(meta["n_rows"]), int(meta["n_cols"]), **arrays)


def _sync(path: Path) -> None:
    """Wait until the file or folder is on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
