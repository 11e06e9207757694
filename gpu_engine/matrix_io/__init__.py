"""Files → CsrMatrix. READERS is the one list of file formats; a file's content decides which of them reads it."""

from contextlib import closing
from pathlib import Path

from gpu_engine.errors import MatrixFileError, ParameterError
from gpu_engine.matrix_io.archive import SuiteSparseArchive
from gpu_engine.matrix_io.base import MIB, Reader, ReadLimits, ReadResult
from gpu_engine.matrix_io.decompress import content_blocks
from gpu_engine.matrix_io.edge_list import EdgeList
from gpu_engine.matrix_io.explain import explain_head
from gpu_engine.matrix_io.harwell_boeing import HarwellBoeing
from gpu_engine.matrix_io.matlab import MatlabFile
from gpu_engine.matrix_io.matrix_market import MatrixMarket
from gpu_engine.matrix_io.npz import SciPyNpz
from gpu_engine.matrix_io.options import ReadOptions, chosen
from gpu_engine.matrix_io.write import market_text, write_matrix_market

__all__ = [
    "READERS",
    "ReadLimits",
    "ReadOptions",
    "ReadResult",
    "Reader",
    "find_reader",
    "market_text",
    "read_matrix",
    "write_matrix_market",
]

READERS: tuple[Reader, ...] = (
    MatrixMarket(),
    SuiteSparseArchive(),
    SciPyNpz(),
    MatlabFile(),
    HarwellBoeing(),
    EdgeList(),
)
HEAD_BYTES = MIB
"""Decompressed bytes that a reader is shown to recognise its format: room for the comments before an edge list."""

EXPLAINED_BYTES = 4096


def read_matrix(path: Path, limits: ReadLimits | None = None, options: ReadOptions | None = None) -> ReadResult:
    """The matrix of a file, plain or compressed.

    Raises MatrixFileError, with the 1-based line where one is at fault, TooLargeError over a limit, and ParameterError
    for options that the format of the file does not have.
    """
    limits, options = limits or ReadLimits(), options or ReadOptions()
    return find_reader(path, limits, options).read(path, limits)


def find_reader(path: Path, limits: ReadLimits, options: ReadOptions) -> Reader:
    """The reader of the file's format, with these options; raises as `read_matrix`."""
    with closing(content_blocks(path, limits)) as blocks:
        head = b""
        while len(head) < HEAD_BYTES and (block := next(blocks, None)) is not None:
            head += block
    for reader in READERS:
        if reader.recognises(head):
            return _with(reader, options)
    raise MatrixFileError(explain_head(head[:EXPLAINED_BYTES]), 1)


def _with(reader: Reader, options: ReadOptions) -> Reader:
    """The reader with the options; raises ParameterError where its format has none."""
    if isinstance(reader, EdgeList):
        return EdgeList(options)
    if superfluous := ", ".join(chosen(options)):
        raise ParameterError(f"The file is {reader.name}, not an edge list; leave {superfluous} out.")
    return reader
