"""PETSc's binary files that are refused: name → (file, words of the message)."""

import gzip
from collections.abc import Callable

import numpy as np

from tests.gpu_engine.matrix_files import PETSC_MATRIX, PETSC_VALUES, petsc

BAD = {
    "complex": (petsc(scalar="c16"), "complex, of another precision"),
    "single precision": (petsc(scalar="f4"), "single precision"),
    "quadruple precision": (petsc(values=np.append(PETSC_VALUES, PETSC_VALUES)), "of another precision"),
    "a vector": (petsc(kind=PETSC_MATRIX - 2), "begins with a vector"),
    "an index set": (petsc(kind=PETSC_MATRIX + 2), "begins with an index set"),
    "dense": (petsc(nnz=-1), "dense matrix"),
    "negative nonzeros": (petsc(nnz=-2), "none can be negative"),
    "negative rows": (petsc(shape=(-3, 3)), "none can be negative"),
    "negative rows of 8 bytes": (petsc("i8", shape=(-3, 3)), "none can be negative"),
    "more rows": (petsc(shape=(4, 3)), "too early"),
    "fewer columns": (petsc(shape=(3, 1)), "more entries than columns"),
    "more nonzeros": (petsc(nnz=6), "too early|run from|precision"),
    "10,000 rows": (petsc(shape=(10_000, 3)), "too early"),
    "a negative length": (petsc(lengths=[3, -1, 3]), "negative length"),
    "lengths that overflow": (petsc("i8", lengths=[2**62, 2**62, 5 - 2**63]), "negative length"),
    "lengths that add up to less": (petsc(lengths=[2, 1, 1]), "to 4"),
    "a column outside": (petsc(columns=[0, 2, 3, 0, 2]), "column index 3"),
    "a column of 2^40": (petsc("i8", columns=[0, 2, 2**40, 0, 2]), "column index 1099511627776"),
    "a negative column": (petsc(columns=[0, 2, -1, 0, 2]), "column index -1"),
    "NaN": (petsc(values=PETSC_VALUES * np.nan), "not finite"),
    "rubbish behind the values": (petsc(tail=b"rubbish!"), "damaged"),
    "a byte behind the values": (petsc(tail=b"\0"), "too early"),
    "a wrong checksum": (gzip.compress(petsc())[:-8] + bytes(8), "damaged"),
}

LARGE: dict[str, Callable[[], bytes]] = {
    "PETSc of 2·10^9 rows": lambda: petsc(shape=(2_000_000_000, 3)),
    "PETSc of 10^12 columns": lambda: petsc("i8", shape=(3, 10**12)),
    "PETSc of 2^62 nonzeros": lambda: petsc("i8", nnz=2**62),
    "PETSc of 2·10^9 nonzeros": lambda: petsc(nnz=2 * 10**9),
}
