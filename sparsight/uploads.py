"""What is sent as a matrix file: a file, or a sparse matrix of another library as the .npz file of SciPy."""

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from gpu_engine.errors import InputError, quote
from gpu_engine.matrices.foreign import INDICES, parts


@contextmanager
def opened(source: Any) -> Iterator[tuple[str, BinaryIO]]:
    """The name and the bytes of a path or a matrix; raises InputError for a path that cannot be opened."""
    if not isinstance(source, str | Path):
        with tempfile.TemporaryFile() as written:
            write_npz(written, source)
            written.seek(0)
            yield "matrix.npz", written
        return
    path = Path(source)
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"Cannot read {quote(path)}: {error.strerror or error}.") from error
    with file:
        yield path.name, file


def write_npz(file: Any, matrix: Any) -> None:
    """Writes a matrix of SciPy, CuPy or PyTorch as `scipy.sparse.save_npz` does; raises ParameterError for another."""
    layout, shape, arrays = parts(matrix)
    # Whoever has a matrix has NumPy.
    import numpy as np

    names = dict(zip((*INDICES[layout], "data"), map(_on_host, arrays), strict=True))
    np.savez(file, allow_pickle=False, format=np.array(layout.encode()), shape=np.array(shape), **names)


def _on_host(array: Any) -> Any:
    """An array of CuPy or a tensor of PyTorch in the memory of the host; others are there."""
    if hasattr(array, "get"):
        return array.get()
    return array.detach().cpu().numpy() if hasattr(array, "detach") else array


def fields_of(options: Mapping[str, Any]) -> dict[str, str]:
    """The fields of ReadOptions as form fields; raises ParameterError."""
    if not options:
        return {}
    # The readers take seconds to import.
    from gpu_engine.matrix_io.options import ReadOptions, chosen
    from gpu_engine.parameters import parse_params

    parsed = chosen(parse_params(ReadOptions, options))
    return {name: json.dumps(value) if isinstance(value, bool) else str(value) for name, value in parsed.items()}


class Counted:
    """A file that tells how many bytes are read from it."""

    def __init__(self, file: BinaryIO, on_read: Callable[[int], None]) -> None:
        self._file = file
        self._on_read = on_read

    def read(self, size: int = -1) -> bytes:
        """The next block, told of."""
        block = self._file.read(size)
        self._on_read(len(block))
        return block

    def fileno(self) -> int:
        """Of the file, whose length is asked of the system."""
        return self._file.fileno()
