"""Matrix as one file in the .npz form of `scipy.sparse.save_npz`, created while it is sent."""

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
"""Names of the arrays in the file and in the store."""


def file_name(name: str) -> str:
    """Return a name without characters that are special in headers or file systems."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "matrix"


def npz_blocks(store: Store, matrix_id: str) -> Iterator[bytes]:
    """Return the file in blocks of bytes.

    Raises NotFoundError if the store has no values. The files stay open, so that a matrix deleted meanwhile is still
    sent completely.
    """
    meta = store.meta(matrix_id)
    with ExitStack() as stack:
        try:
            sources = {name: stack.enter_context(store.open(matrix_id, f"{MEMBERS[name]}.npy")) for name in MEMBERS}
        except FileNotFoundError:
            raise NotFoundError(
                f"The values of matrix {quote(matrix_id)} have just been deleted. Upload or generate it again."
            ) from None
        return _blocks(stack.pop_all(), meta, sources)


def _blocks(stack: ExitStack, meta: dict[str, Any], sources: dict[str, Any]) -> Iterator[bytes]:
    small = {"format": np.array(b"csr"), "shape": np.array((meta["n_rows"], meta["n_cols"]))}
    sent = _Sink()
    # Stored without compression: zip hardly shrinks numbers.
    with stack, zipfile.ZipFile(sent, "w") as file:
        for name, array in small.items():
            with file.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, array, allow_pickle=False)
        for name, source in sources.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as member:
                while block := source.read(BLOCK):
                    member.write(block)
                    yield sent.take()
    yield sent.take()


class _Sink(io.RawIOBase):
    """Buffer that hands out what was written. It is not seekable, so that the zip file writes lengths
    after the data.
    """

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        block = memoryview(data)  # type: ignore[arg-type]
        self._held += block
        return block.nbytes

    def take(self) -> bytes:
        block = bytes(self._held)
        self._held.clear()
        return block
