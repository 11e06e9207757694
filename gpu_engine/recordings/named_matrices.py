"""Matrices named on a command line: files, folders, archives, and generators."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpu_engine.batched.sources import read_matrices
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import find_generator, generate
from gpu_engine.matrix_io import ReadLimits, ReadOptions, read_head, read_matrix, reader_of
from gpu_engine.parameters import assignments
from gpu_engine.recordings.files import generated, uploaded

EACH = "each:"
"""Prefix of the path of a folder or archive for all its matrices."""


class NamedMatrices(Mapping[str, CsrMatrix]):
    """Matrices by name: a path, `each:FOLDER`, `each:ARCHIVE`, or `generator:name=value,…`.

    A matrix is read or generated on access, and only the last one stays in memory. Those of folders and archives are
    small: all are read at once and stay in memory.
    """

    def __init__(self, names: Sequence[str], options: Mapping[str, Any] | None = None) -> None:
        """Store the names, and the fields of ReadOptions for files that do not determine them."""
        self._options = dict(options or {})
        self._used = {name for given in names if given.startswith(EACH) for name in self._options}
        self._members = {
            f"{name.removeprefix(EACH)}/{member}": matrix
            for name in names
            if name.startswith(EACH)
            for member, matrix in read_matrices(Path(name.removeprefix(EACH)), options=ReadOptions(**self._options))
        }
        self._names = [*(name for name in names if not name.startswith(EACH)), *self._members]
        self._last: tuple[str, CsrMatrix] | None = None

    def __getitem__(self, name: str) -> CsrMatrix:
        if name in self._members:
            return self._members[name]
        if self._last is None or self._last[0] != name:
            self._last = name, self._load(name)
        return self._last[1]

    @property
    def unused(self) -> list[str]:
        """Options that no file needed so far."""
        return [name for name in self._options if name not in self._used]

    def _load(self, name: str) -> CsrMatrix:
        """Return the matrix of a file or of a generator: `generator:name=value,name=value`."""
        if call := _call(name):
            return generate(*call)
        path, limits = Path(name), ReadLimits()
        head = read_head(path, limits)
        open_fields = reader_of(head).leaves_open(head)
        options = {field: value for field, value in self._options.items() if field in open_fields}
        self._used |= options.keys()
        return read_matrix(path, limits, ReadOptions(**options)).matrix

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def source_of(name: str) -> dict[str, Any]:
    """Return the source of a named matrix, as stored in recordings."""
    call = _call(name)
    return uploaded(Path(name).name) if call is None else generated(*call)


def _call(name: str) -> tuple[str, Any] | None:
    """Return the generator and its parameters; None for a file."""
    generator, colon, text = name.partition(":")
    if not colon or Path(name).exists():
        return None
    return generator, assignments(find_generator(generator).Params, text)
