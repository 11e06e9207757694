"""Readers of matrix files. READERS lists all file formats; the content of a file determines its reader."""

from pathlib import Path

from gpu_engine.errors import MatrixFileError, ParameterError
from gpu_engine.matrix_io.archive import SuiteSparseArchive
from gpu_engine.matrix_io.base import Reader, ReadLimits, ReadResult
from gpu_engine.matrix_io.decompress import read_head
from gpu_engine.matrix_io.dimacs import Dimacs
from gpu_engine.matrix_io.edge_list import EdgeList
from gpu_engine.matrix_io.explain import explain_head
from gpu_engine.matrix_io.foreign_files import explain_magic
from gpu_engine.matrix_io.foreign_texts import explain_text
from gpu_engine.matrix_io.gexf import Gexf
from gpu_engine.matrix_io.graphml import GraphML
from gpu_engine.matrix_io.harwell_boeing import HarwellBoeing
from gpu_engine.matrix_io.matlab import MatlabFile
from gpu_engine.matrix_io.matlab4 import MatlabV4File
from gpu_engine.matrix_io.matrix_market import MatrixMarket
from gpu_engine.matrix_io.npz import SciPyNpz
from gpu_engine.matrix_io.options import LIST, ReadOptions, chosen
from gpu_engine.matrix_io.petsc import PetscBinary
from gpu_engine.matrix_io.write import market_text, write_matrix_market

__all__ = [
    "READERS",
    "ReadLimits",
    "ReadOptions",
    "ReadResult",
    "Reader",
    "find_reader",
    "market_text",
    "read_head",
    "read_matrix",
    "reader_of",
    "write_matrix_market",
]

READERS: tuple[Reader, ...] = (
    MatrixMarket(),
    SuiteSparseArchive(),
    SciPyNpz(),
    MatlabFile(),
    MatlabV4File(),
    PetscBinary(),
    GraphML(),
    Gexf(),
    Dimacs(),
    HarwellBoeing(),
    EdgeList(),
)
EXPLAINED_BYTES = 4096


def read_matrix(path: Path, limits: ReadLimits | None = None, options: ReadOptions | None = None) -> ReadResult:
    """Return the matrix of a file, plain or compressed.

    Raises MatrixFileError, with the 1-based line if a line is invalid, TooLargeError over a limit, and ParameterError
    for options that do not apply to the file.
    """
    limits, options = limits or ReadLimits(), options or ReadOptions()
    return find_reader(path, limits, options).read(path, limits)


def find_reader(path: Path, limits: ReadLimits, options: ReadOptions) -> Reader:
    """Return the reader for the format of a file, with options; raises the errors of `read_matrix`."""
    head = read_head(path, limits)
    reader = reader_of(head)
    _check_options(reader, reader.leaves_open(head), options)
    return reader.with_options(options)


def reader_of(head: bytes) -> Reader:
    """Return the reader for a file with this head; raises MatrixFileError if there is none."""
    # A PDF has lines that look like edges.
    if words := explain_magic(head):
        raise MatrixFileError(words, 1)
    for reader in READERS:
        if reader.recognizes(head):
            return reader
    begin = head[:EXPLAINED_BYTES]
    raise MatrixFileError((b"\0" not in begin and explain_text(head)) or explain_head(begin), 1)


def _check_options(reader: Reader, left_open: tuple[str, ...], options: ReadOptions) -> None:
    """Raise ParameterError for options that do not apply to the file."""
    if superfluous := [name for name in chosen(options) if name not in left_open]:
        what = "not an edge list" if superfluous[0] in LIST else "not a Matrix Market file without a field"
        raise ParameterError(f"The file is {reader.name}, {what}. Remove the options: {', '.join(superfluous)}.")
