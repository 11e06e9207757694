"""Writes a CsrMatrix as Matrix Market text, which reads back bit for bit."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.host.whole_files import whole_file

ENTRIES_PER_BLOCK = 100_000


def market_text(matrix: CsrMatrix) -> Iterator[str]:
    """Yield the text of a host matrix in pieces: coordinate real general, row by row, shortest exact decimals."""
    yield f"%%MatrixMarket matrix coordinate real general\n{matrix.n_rows} {matrix.n_cols} {matrix.nnz}\n"
    for first in range(0, matrix.nnz, ENTRIES_PER_BLOCK):
        place = np.arange(first, min(first + ENTRIES_PER_BLOCK, matrix.nnz))
        rows = np.searchsorted(matrix.indptr, place, side="right").tolist()
        cols = (np.asarray(matrix.indices[place]) + 1).tolist()
        values = np.asarray(matrix.values[place]).tolist()
        yield "".join(f"{row} {col} {value!r}\n" for row, col, value in zip(rows, cols, values, strict=True))


def write_matrix_market(path: Path, matrix: CsrMatrix) -> None:
    """Write a host matrix atomically, compressed if the file name ends with .gz."""
    texts = (text.encode("ascii") for text in market_text(matrix))
    with whole_file(path) as file:
        if path.suffix == ".gz":
            # Without a time in its head, the same matrix is the same file.
            with gzip.GzipFile(path.name, "wb", fileobj=file, mtime=0) as packed:
                packed.writelines(texts)
        else:
            file.writelines(texts)
