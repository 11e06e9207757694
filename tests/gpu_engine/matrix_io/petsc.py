"""PETSc's binary files of a matrix, built integer by integer from PETSc's manual page of MatLoad."""

import random
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse

from tests.gpu_engine.matrix_files import PETSC_MATRIX, PETSC_VALUES, petsc
from tests.gpu_engine.matrix_io.case import Case, Meaning, summed

VECTOR = PETSC_MATRIX - 2

BROKEN: dict[str, dict[str, Any]] = {
    "complex": {"scalar": "c16"},
    "single precision": {"scalar": "f4"},
    "quadruple precision": {"values": np.append(PETSC_VALUES, PETSC_VALUES)},
    "a vector": {"kind": VECTOR},
    "dense": {"nnz": -1},
    "negative nonzeros": {"nnz": -2},
    "negative rows": {"shape": (-3, 3)},
    "more rows": {"shape": (4, 3)},
    "fewer rows": {"shape": (2, 3)},
    "fewer columns": {"shape": (3, 2)},
    "more nonzeros": {"nnz": 6},
    "fewer nonzeros": {"nnz": 4},
    "a negative length": {"lengths": [3, -1, 3]},
    "lengths that add up to less": {"lengths": [2, 1, 1]},
    "a length beyond the columns": {"lengths": [5, 0, 0]},
    "a column outside": {"columns": [0, 2, 3, 0, 2]},
    "a negative column": {"columns": [0, 2, -1, 0, 2]},
    "NaN": {"values": PETSC_VALUES * np.nan},
    "infinity": {"values": PETSC_VALUES * np.inf},
    "rubbish behind the values": {"tail": b"rubbish!"},
    "a byte behind the values": {"tail": b"\0"},
    "little-endian": {"kind": struct.unpack("<i", struct.pack(">i", PETSC_MATRIX))[0]},
}


def generate(rng: random.Random) -> Iterator[Case]:
    """Matrices with both kinds of integers, alone and before a vector; broken and cut."""
    while True:
        shape = rng.randint(0, 6), rng.randint(0, 6)
        matrix: Any = scipy.sparse.random_array(shape, density=0.4, rng=rng.getrandbits(32), format="csr")
        given = {"lengths": np.diff(matrix.indptr), "columns": matrix.indices, "values": matrix.data}
        integer = rng.choice(["i4", "i4", "i8"])
        vector = np.array([VECTOR, 2]).astype(f">{integer}").tobytes() + bytes(16)
        tail = rng.choice([b"", b"", vector])
        rows = np.repeat(np.arange(shape[0]), np.diff(matrix.indptr))
        entries = list(zip(rows.tolist(), matrix.indices.tolist(), matrix.data.tolist(), strict=True))
        meaning: Meaning = summed(shape, entries)
        content = petsc(integer, tail=tail, shape=shape, nnz=matrix.nnz, **given)
        yield Case("PETSc binary", f"{integer}, {len(tail)} bytes behind", content, meaning)
        what = rng.choice([*BROKEN])
        yield Case("PETSc binary", what, petsc(**{"integer": integer, **BROKEN[what]}), None)
        whole = petsc(integer)
        yield Case("PETSc binary", "cut", whole[: rng.randrange(len(whole))], None)
