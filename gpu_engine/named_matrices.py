"""The matrices that a command line names: files, folders and archives of them, and generated ones."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gpu_engine.batched.sources import read_matrices
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate, generator
from gpu_engine.matrix_io import ReadLimits, read_matrix
from gpu_engine.parameters import assignments
from gpu_engine.recordings import generated, uploaded

EACH = "each:"
"""Before the path of a folder or an archive: every matrix in it."""


class NamedMatrices(Mapping[str, CsrMatrix]):
    """By the name given: a path, `each:FOLDER`, `each:ARCHIVE` or `family:name=value,…`.

    Each is read or generated when it is first asked for; only the last one is kept.
    Those of a folder or an archive are small, read at once and all kept.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._held = {
            f"{name.removeprefix(EACH)}/{member}": matrix
            for name in names
            if name.startswith(EACH)
            for member, matrix in read_matrices(Path(name.removeprefix(EACH)))
        }
        self._names = [*(name for name in names if not name.startswith(EACH)), *self._held]
        self._last: tuple[str, CsrMatrix] | None = None

    def __getitem__(self, name: str) -> CsrMatrix:
        if name in self._held:
            return self._held[name]
        if self._last is None or self._last[0] != name:
            self._last = name, _load(name)
        return self._last[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def source_of(name: str) -> dict[str, Any]:
    """Where the values of a named matrix come from, as a recording says it."""
    call = _call(name)
    return uploaded(Path(name).name) if call is None else generated(*call)


def _call(name: str) -> tuple[str, Any] | None:
    """The family and the parameters of a generator's call; None for a file."""
    family, colon, text = name.partition(":")
    if not colon or Path(name).exists():
        return None
    return family, assignments(generator(family).Params, text)


def _load(name: str) -> CsrMatrix:
    """A file's matrix, or a generated one: `family:name=value,name=value`."""
    call = _call(name)
    return read_matrix(Path(name), ReadLimits()).matrix if call is None else generate(*call)
