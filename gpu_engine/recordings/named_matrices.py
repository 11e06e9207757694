"""The matrices that a command line names: files, folders and archives of them, and generated ones."""

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
"""Before the path of a folder or an archive: every matrix in it."""


class NamedMatrices(Mapping[str, CsrMatrix]):
    """By the name given: a path, `each:FOLDER`, `each:ARCHIVE` or `generator:name=value,…`.

    Each is read or generated when it is first asked for; only the last one is kept.
    Those of a folder or an archive are small, read at once and all kept.
    """

    def __init__(self, names: Sequence[str], options: Mapping[str, Any] | None = None) -> None:
        """Take the names, and the fields of ReadOptions for those of the files that leave them open."""
        self._options = dict(options or {})
        self._used = {name for given in names if given.startswith(EACH) for name in self._options}
        self._held = {
            f"{name.removeprefix(EACH)}/{member}": matrix
            for name in names
            if name.startswith(EACH)
            for member, matrix in read_matrices(Path(name.removeprefix(EACH)), options=ReadOptions(**self._options))
        }
        self._names = [*(name for name in names if not name.startswith(EACH)), *self._held]
        self._last: tuple[str, CsrMatrix] | None = None

    def __getitem__(self, name: str) -> CsrMatrix:
        if name in self._held:
            return self._held[name]
        if self._last is None or self._last[0] != name:
            self._last = name, self._load(name)
        return self._last[1]

    @property
    def unused(self) -> list[str]:
        """The options that no file that was read leaves open."""
        return [name for name in self._options if name not in self._used]

    def _load(self, name: str) -> CsrMatrix:
        """A file's matrix, or a generated one: `generator:name=value,name=value`."""
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
    """Where the values of a named matrix come from, as a recording says it."""
    call = _call(name)
    return uploaded(Path(name).name) if call is None else generated(*call)


def _call(name: str) -> tuple[str, Any] | None:
    """The family and the parameters of a generator's call; None for a file."""
    generator, colon, text = name.partition(":")
    if not colon or Path(name).exists():
        return None
    return generator, assignments(find_generator(generator).Params, text)
