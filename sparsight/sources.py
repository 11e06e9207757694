"""Matrix arguments of a command: files, folders of files, matrices of the server, and generator calls."""

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
"""Text that can be the id of a matrix."""


@dataclass(frozen=True, slots=True)
class Call:
    """Call of a matrix generator with its parameters."""

    generator: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Source:
    """One matrix argument.

    text     the argument as the user typed it
    what     the file, the matrix on the server, or the generator call
    options  fields of ReadOptions with which the file is read, if they differ from the defaults
    """

    text: str
    what: Path | Address | Call
    options: Mapping[str, Any] = field(default_factory=dict)


def find_sources(texts: Sequence[str], options: Mapping[str, Any]) -> list[Source]:
    """Return the sources of matrix arguments, without a request to a server; each error names its argument.

    options  for the files that need them, such as edge lists
    Raises InputError or a subclass for an invalid argument, a file without a matrix, a file that needs further options,
    options that apply to no file, and too many matrices for one job.
    """
    sources = [source for text in texts for source in _sources(text, options)]
    if superfluous := [name for name in options if not any(name in source.options for source in sources)]:
        raise ParameterError(f"These options do not apply to the given files: remove --{' --'.join(superfluous)}.")
    if len(sources) > MATRICES_MAX:
        raise ParameterError(
            f"Too many matrices: {len(sources)}, but a job can have at most {MATRICES_MAX}. Use several jobs."
        )
    return sources


def parse_call(text: str) -> Call:
    """Return the call `generator:name=value,…`; raise ParameterError for an unknown generator, name, or value."""
    from gpu_engine.generators import find_generator
    from gpu_engine.parameters import assignments, parse_params

    generator, _, rest = text.partition(":")
    parameters = find_generator(generator).Params
    values = assignments(parameters, rest)
    parse_params(parameters, values)
    return Call(generator, values)


@contextmanager
def prefix_errors(text: str) -> Iterator[None]:
    """Put the argument before the message of every input error."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{quote(text)}: Cannot read it: {error.strerror or error}.") from error
    except (InputError, NotFoundError, ConflictError) as error:
        raise type(error)(f"{quote(text)}: {error.message}") from error


def _sources(text: str, options: Mapping[str, Any]) -> list[Source]:
    # Path raises an error if the text is too long for a path; os.path does not.
    if os.path.isdir(text):
        with prefix_errors(text):
            files = sorted(entry for entry in Path(text).iterdir() if entry.is_file())
        if not files:
            raise InputError(f"{quote(text)}: The folder is empty. Give a folder with matrix files.")
        return [_file(str(path), path, options) for path in files]
    if os.path.exists(text):
        return [_file(text, Path(text), options)]
    if "://" in text:
        return [Source(text, matrix_address(text))]
    if ":" in text:
        with prefix_errors(text):
            return [Source(text, parse_call(text))]
    if not ID.fullmatch(text):
        raise InputError(
            f"Not found: {quote(text)}. Give a matrix file, a folder, a matrix id, or GENERATOR:NAME=VALUE,…."
        )
    return [Source(text, Address(text))]


def _file(text: str, path: Path, options: Mapping[str, Any]) -> Source:
    """Return the source of a file with the options that its header needs; raise MatrixFileError if one is missing."""
    from gpu_engine.matrix_io import ReadLimits, ReadOptions, read_head, reader_of

    with prefix_errors(text):
        head = read_head(path, ReadLimits())
        reader = reader_of(head)
        file_options = {name: value for name, value in options.items() if name in reader.leaves_open(head)}
        refusal = reader.with_options(ReadOptions(**file_options)).refusal(head)
        if refusal and refusal.hint:
            raise MatrixFileError(f"{refusal.message} {COMMAND[refusal.hint]}")
        return Source(text, path, file_options)
