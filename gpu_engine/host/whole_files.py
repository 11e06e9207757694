"""Files that are there whole or not at all, whatever ends the process that writes them."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

PREFIX = ".writing-"
"""How the name of the folder begins, beside the file, in which it is written."""


@contextmanager
def whole_file(path: Path, encoding: str | None = None, new: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing that takes its place once the block has ended, and leaves what was there if it raises.

    encoding  of a text with the line ends of Unix; None: bytes
    new       raise FileExistsError where there is a file already

    A device or a pipe is written in place. Raises OSError as `open` does.
    """
    mode, newline = ("wb", None) if encoding is None else ("w", "\n")
    if path.exists() and not path.is_file() and not path.is_dir():
        with path.open(mode, encoding=encoding, newline=newline) as device:
            yield device
        return
    # A link stays one.
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
    """Write a file at once, whole or not at all."""
    with whole_file(path, "utf-8" if isinstance(content, str) else None) as file:
        file.write(content)
