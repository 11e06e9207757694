"""The whole matrix again, from its parts and from the order in which it was cut."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.formats.base import array_module
from gpu_engine.multigpu.partition import Part, Partitioning, StoredMatrix


def join(partitioning: Partitioning, shape: tuple[int, int], parts: Sequence[Part]) -> StoredMatrix:
    """The whole again, exactly, from all its parts in their order on one device."""
    xp = array_module(parts[0].major)
    minor, values = (xp.concatenate([getattr(part, name) for part in parts]) for name in ("minor", "values"))
    dtype = parts[0].major.dtype
    if partitioning.compressed:
        begins = [part.major[int(part.span.start_flag) : -1] + dtype.type(part.span.start) for part in parts]
        major = xp.concatenate([*begins, xp.asarray([minor.size], dtype=dtype)])
    else:
        major = xp.concatenate([part.major + dtype.type(part.span.first) for part in parts])
    return StoredMatrix(partitioning, *shape, major, minor, values)


def to_csr(stored: StoredMatrix) -> CsrMatrix:
    """The matrix on the host; entries of a row come in the order of their columns."""
    lines: Any = stored.major
    if stored.partitioning.compressed:
        lines = np.repeat(np.arange(stored.n_lines), np.diff(stored.major))
    rows, columns = (lines, stored.minor) if stored.partitioning.axis == "rows" else (stored.minor, lines)
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=stored.n_rows))]).astype(np.int32)
    return CsrMatrix(stored.n_rows, stored.n_cols, indptr, columns[order].astype(np.int32), stored.values[order])
