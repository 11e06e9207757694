"""FrozenCollection: a list of matrices in a file, with the hash of their names: what is studied stays the same."""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpu_engine.errors import InputError, quote
from gpu_engine.host.whole_files import whole_file
from gpu_engine.parameters import parse_params

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
BYTES_MAX = 2**20
"""Of a file: many times that of all matrices there are."""


@dataclass(frozen=True, slots=True)
class FrozenCollection:
    """Matrices of the SuiteSparse Matrix Collection by name.

    where    the condition that found them
    index    sha256 of the list that it was asked of, empty: that of the wheel
    sha256   of the names, one a line, in the order of the file
    """

    name: str
    where: str
    index: str
    matrices: tuple[str, ...]
    sha256: str

    @classmethod
    def of(cls, name: str, where: str, index: str, matrices: Sequence[str]) -> "FrozenCollection":
        """A new one; raises InputError for a name that is none, and for no matrices."""
        if not NAME.fullmatch(name):
            raise InputError(f"{quote(name)} is no name of a collection; expected letters, digits, '_', '.' and '-'.")
        if not matrices:
            raise InputError(f"The condition {quote(where)} finds no matrix, so that there is nothing to keep.")
        return cls(name, where, index, tuple(matrices), hash_of(matrices))

    def write(self, path: Path) -> None:
        """Writes the file; raises InputError where there is one already, or it cannot be written."""
        try:
            with whole_file(path, "utf-8", new=True) as file:
                file.write(json.dumps(asdict(self), indent=1) + "\n")
        except FileExistsError:
            raise InputError(f"{quote(path)} is there already; name the collection otherwise.") from None
        except OSError as error:
            raise InputError(f"Cannot write {quote(path)}: {error.strerror or error}.") from error


def read_frozen(path: Path) -> FrozenCollection:
    """The collection of a file; raises InputError where it is none, or its names are not those of its hash."""
    try:
        text = path.read_bytes()[: BYTES_MAX + 1]
        document: Any = json.loads(text) if len(text) <= BYTES_MAX else None
    except OSError as error:
        raise InputError(f"Cannot read {quote(path)}: {error.strerror or error}.") from error
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InputError(f"{quote(path)} is no collection; expected what `sparsight matrix collection save` wrote.")
    found = parse_params(FrozenCollection, document)
    if hash_of(found.matrices) != found.sha256:
        raise InputError(
            f"The names in {quote(path)} are not those that it was saved with: their sha256 is another. Save it anew."
        )
    return found


def hash_of(matrices: Sequence[str]) -> str:
    """The sha256 (hex) of names, one a line, in this order."""
    return hashlib.sha256("".join(f"{name}\n" for name in matrices).encode()).hexdigest()
