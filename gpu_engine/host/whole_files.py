"""Atomic files: a file is complete or absent, even if the process that writes it is killed."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

PREFIX = ".writing-"
"""Prefix of the temporary folder, next to the file, in which the file is written."""


@contextmanager
def whole_file(path: Path, encoding: str | None = None, new: bool = False) -> Iterator[IO[Any]]:
    """Open a file for atomic writing: it replaces the former file at the end of the block, unless the block raises.

    encoding  encoding of a text with Unix line ends; None: bytes
    new       raise FileExistsError if the file already exists

    A device or a pipe is written in place. Raises OSError as `open` does.
    """
    mode, newline = ("wb", None) if encoding is None else ("w", "\n")
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open(mode, encoding=encoding, newline=newline) as device:
            yield device
        return
    # A link stays a link.
    target = path.resolve()
    with tempfile.TemporaryDirectory(prefix=PREFIX, dir=target.parent) as folder:
        part = Path(folder) / "part"
        with part.open(mode, encoding=encoding, newline=newline) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if new and target.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
        os.replace(part, target)


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file atomically."""
    with whole_file(path, "utf-8" if isinstance(content, str) else None) as file:
        file.write(content)
