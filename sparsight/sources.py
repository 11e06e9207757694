"""Source: what a command takes for a matrix: a file, a folder of files, a matrix of the server, a generator's call."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gpu_engine.errors import ConflictError, InputError, MatrixFileError, NotFoundError, ParameterError, quote
from server.documents import MATRICES_MAX
from sparsight.addresses import Address, matrix_address
from sparsight.problems import COMMAND

ID = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Call:
    """The call of a generator."""

    generator: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """One matrix as it was named, and what that is.

    options  how the file is to be read: fields of ReadOptions that differ from their defaults
    """

    text: str
    what: Path | Address | Call
    options: Mapping[str, Any] = field(default_factory=dict)


def find_sources(texts: Sequence[str], options: Mapping[str, Any]) -> list[Source]:
    """The sources that are named; no server is asked. Each error says which of them is refused.

    options  of the files among them that leave something open, such as edge lists
    Raises InputError and its kinds for what is nothing of the kind, a file that is no matrix, one of which something
    has yet to be said, options that no file leaves open, and more matrices than a job takes.
    """
    found = [source for text in texts for source in _sources(text, options)]
    if superfluous := [name for name in options if not any(name in source.options for source in found)]:
        raise ParameterError(f"None of these files leaves that open; leave --{' --'.join(superfluous)} out.")
    if len(found) > MATRICES_MAX:
        raise ParameterError(f"A job takes at most {MATRICES_MAX} matrices, and these are {len(found)}.")
    return found


def parse_call(text: str) -> Call:
    """The call `generator:name=value,…`; raises ParameterError for a family, a name or a value that is none."""
    from gpu_engine.generators import find_generator
    from gpu_engine.parameters import assignments, parse_params

    generator, _, rest = text.partition(":")
    parameters = find_generator(generator).Params
    values = assignments(parameters, rest)
    parse_params(parameters, values)
    return Call(generator, values)


@contextmanager
def naming(text: str) -> Iterator[None]:
    """Puts what was named in front of the reason why it is refused."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{quote(text)}: It cannot be read: {error.strerror or error}.") from error
    except (InputError, NotFoundError, ConflictError) as error:
        raise type(error)(f"{quote(text)}: {error.message}") from error


def _sources(text: str, options: Mapping[str, Any]) -> list[Source]:
    # Path raises where the text is too long for a path, and os.path does not.
    if os.path.isdir(text):
        with naming(text):
            files = sorted(entry for entry in Path(text).iterdir() if entry.is_file())
        if not files:
            raise InputError(f"{quote(text)}: There is no file in this folder; expected matrix files.")
        return [_file(str(path), path, options) for path in files]
    if os.path.exists(text):
        return [_file(text, Path(text), options)]
    if "://" in text:
        return [Source(text, matrix_address(text))]
    if ":" in text:
        with naming(text):
            return [Source(text, parse_call(text))]
    if not ID.fullmatch(text):
        raise InputError(
            f"{quote(text)} is not there; expected a matrix file, a folder of them, the id of a matrix or "
            "GENERATOR:NAME=VALUE,…."
        )
    return [Source(text, Address(text))]


def _file(text: str, path: Path, options: Mapping[str, Any]) -> Source:
    """The file, with the options of what it leaves open, as its head says."""
    from gpu_engine.matrix_io import ReadLimits, ReadOptions, read_head, reader_of

    with naming(text):
        head = read_head(path, ReadLimits())
        reader = reader_of(head)
        own = {name: value for name, value in options.items() if name in reader.leaves_open(head)}
        refusal = reader.told(ReadOptions(**own)).refusal(head)
        if refusal and refusal.hint:
            raise MatrixFileError(f"{refusal.message} {COMMAND[refusal.hint]}")
        return Source(text, path, own)
