"""A matrix as one file: the .npz of `scipy.sparse.save_npz`, made as it is sent."""

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from gpu_engine.errors import NotFoundError, quote
from server.store import Store

BLOCK = 2**20
MEMBERS = {"indptr": "indptr", "indices": "indices", "data": "values"}
"""The arrays of the file, and what the store calls them."""


def file_name(name: str) -> str:
    """A name with nothing in it that a header or a file system minds."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "matrix"


def npz_blocks(store: Store, matrix_id: str) -> Iterator[bytes]:
    """Return the bytes of the file, a block at a time.

    Raises NotFoundError where the store has no values. Its files are open from here on: a matrix that is deleted
    meanwhile is sent to its end.
    """
    meta = store.meta(matrix_id)
    with ExitStack() as stack:
        try:
            sources = {name: stack.enter_context(store.open(matrix_id, f"{MEMBERS[name]}.npy")) for name in MEMBERS}
        except FileNotFoundError:
            raise NotFoundError(f"The values of matrix {quote(matrix_id)} were deleted just now.") from None
        return _blocks(stack.pop_all(), meta, sources)


def _blocks(stack: ExitStack, meta: dict[str, Any], sources: dict[str, Any]) -> Iterator[bytes]:
    small = {"format": np.array(b"csr"), "shape": np.array((meta["n_rows"], meta["n_cols"]))}
    sent = _Sink()
    # Numbers hardly get smaller by what a zip can do, and SciPy maps nothing: stored as they are.
    with stack, zipfile.ZipFile(sent, "w") as file:
        for name, array in small.items():
            with file.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        for name, source in sources.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                while block := source.read(BLOCK):
                    member.write(block)
                    yield sent.taken()
    yield sent.taken()


class _Sink(io.RawIOBase):
    """Takes what is written and gives it away; a zip file that cannot go back writes its lengths behind."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        block = memoryview(data)  # type: ignore[arg-type]
        self._held += block
        return block.nbytes

    def taken(self) -> bytes:
        block = bytes(self._held)
        self._held.clear()
        return block
