"""Matrix uploads: a file, or a sparse matrix of another library as the .npz file of SciPy."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from gpu_engine.errors import InputError, quote
from gpu_engine.matrices.matrix_adapters import INDICES, parts


@contextmanager
def open_source(source: Any) -> Iterator[tuple[str, BinaryIO]]:
    """Return the file name and the open file of a path or a matrix; raise InputError if the path cannot be opened."""
    if not isinstance(source, str | Path):
        with tempfile.TemporaryFile() as npz_file:
            write_npz(npz_file, source)
            npz_file.seek(0)
            yield "matrix.npz", npz_file
        return
    path = Path(source)
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"Cannot read {quote(path)}: {error.strerror or error}.") from error
    with file:
        yield path.name, file


def write_npz(file: Any, matrix: Any) -> None:
    """Write a matrix of SciPy, CuPy, or PyTorch as `scipy.sparse.save_npz` does; raise ParameterError for others."""
    layout, shape, arrays = parts(matrix)
    # A client without NumPy has no matrix to pass.
    import numpy as np

    names = dict(zip((*INDICES[layout], "data"), map(_on_host, arrays), strict=True))
    np.savez(file, allow_pickle=False, format=np.array(layout.encode()), shape=np.array(shape), **names)


def _on_host(array: Any) -> Any:
    """Return an array of CuPy or a tensor of PyTorch in host memory; other arrays are returned unchanged."""
    if hasattr(array, "get"):
        return array.get()
    return array.detach().cpu().numpy() if hasattr(array, "detach") else array


def form_fields(options: Mapping[str, Any]) -> dict[str, str]:
    """Return fields of ReadOptions as form fields; raise ParameterError for an invalid one."""
    if not options:
        return {}
    # The readers take seconds to import.
    from gpu_engine.matrix_io.options import ReadOptions, chosen
    from gpu_engine.parameters import parse_params

    parsed = chosen(parse_params(ReadOptions, options))
    return {name: json.dumps(value) if isinstance(value, bool) else str(value) for name, value in parsed.items()}


class CountingFile:
    """File that reports the number of bytes read from it.

    on_read  called with the size of each block in bytes
    """

    def __init__(self, file: BinaryIO, on_read: Callable[[int], None]) -> None:
        self._file = file
        self._on_read = on_read

    def read(self, size: int = -1) -> bytes:
        """Return the next block and report its size."""
        block = self._file.read(size)
        self._on_read(len(block))
        return block

    def fileno(self) -> int:
        """Return the file descriptor, from which httpx reads the length of the file."""
        return self._file.fileno()
