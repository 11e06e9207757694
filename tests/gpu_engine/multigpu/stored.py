"""Folders of matrices as the store has them."""

import json
from pathlib import Path

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from tests.battery import dense


def stored(folder: Path, matrix: CsrMatrix) -> Path:
    """Writes the files of a matrix into a new folder."""
    folder.mkdir()
    for name in ("indptr", "indices", "values"):
        np.save(folder / f"{name}.npy", getattr(matrix, name))
    meta = {"n_rows": matrix.n_rows, "n_cols": matrix.n_cols, "nnz": matrix.nnz}
    (folder / "meta.json").write_text(json.dumps(meta))
    return folder


def crossed(n: int) -> CsrMatrix:
    """A skew band with a full row in its middle: small integers, so that sums are exact whatever their order.

    The row has a third of the entries: of four equal parts it lies in two or three.
    """
    matrix = np.eye(n) + np.eye(n, k=1) - np.eye(n, k=-1)
    matrix[n // 2 - 9] = 1.0
    return dense(matrix.tolist())
