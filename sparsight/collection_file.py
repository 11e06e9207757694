"""Lists of matrix names in files, with a hash, so that a selection cannot change unnoticed."""

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
"""Valid name of a collection file."""

BYTES_MAX = 2**20
"""Maximum size of a collection file in bytes, many times that of all matrix names."""


@dataclass(frozen=True, slots=True)
class FrozenCollection:
    """Matrix names of the SuiteSparse Matrix Collection that matched a condition.

    where    the condition
    index    sha256 of the list that was searched; empty for the list of the release
    sha256   hash of the names, one per line, in the order of the file
    """

    name: str
    where: str
    index: str
    matrices: tuple[str, ...]
    sha256: str

    @classmethod
    def of(cls, name: str, where: str, index: str, matrices: Sequence[str]) -> "FrozenCollection":
        """Return a new collection; raise InputError for an invalid name, and if there are no matrices."""
        if not NAME.fullmatch(name):
            raise InputError(f"Invalid name {quote(name)}. Use letters, digits, '_', '.', and '-'.")
        if not matrices:
            raise InputError(f"No matrix matches {quote(where)}; nothing was saved.")
        return cls(name, where, index, tuple(matrices), hash_of(matrices))

    def write(self, path: Path) -> None:
        """Write the file; raise InputError if it exists or cannot be written."""
        try:
            with whole_file(path, "utf-8", new=True) as file:
                file.write(json.dumps(asdict(self), indent=1) + "\n")
        except FileExistsError:
            raise InputError(f"{quote(path)} already exists. Choose another name.") from None
        except OSError as error:
            raise InputError(f"Cannot write {quote(path)}: {error.strerror or error}.") from error


def read_collection(path: Path) -> FrozenCollection:
    """Return the collection of a file; raise InputError for another kind of file, and if the hash does not match."""
    try:
        text = path.read_bytes()[: BYTES_MAX + 1]
        document: Any = json.loads(text) if len(text) <= BYTES_MAX else None
    except OSError as error:
        raise InputError(f"Cannot read {quote(path)}: {error.strerror or error}.") from error
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise InputError(f"Not a collection file: {quote(path)}. Use a file of `sparsight matrix collection save`.")
    collection = parse_params(FrozenCollection, document)
    if hash_of(collection.matrices) != collection.sha256:
        raise InputError(
            f"The names in {quote(path)} were changed: their sha256 does not match. "
            "Save the collection again with `sparsight matrix collection save`."
        )
    return collection


def hash_of(matrices: Sequence[str]) -> str:
    """Return the sha256 (hex) of the names, one per line, in this order."""
    return hashlib.sha256("".join(f"{name}\n" for name in matrices).encode()).hexdigest()
