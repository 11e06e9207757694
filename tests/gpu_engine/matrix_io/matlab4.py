"""MATLAB .mat files of version 4, built number by number; SciPy's loadmat is asked for the valid ones."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse

from tests.gpu_engine.matrix_files import mat4, saved
from tests.gpu_engine.matrix_io.case import Case, Meaning, summed
from tests.gpu_engine.matrix_io.matlab import agrees_with_scipy

__all__ = ["agrees_with_scipy", "generate"]


def table_of(rng: random.Random, dtype: str) -> tuple[Any, Meaning]:
    shape = rng.randint(1, 6), rng.randint(1, 6)
    count = rng.choice([0, 1, 5, 12])
    unsigned = dtype.startswith("u")
    entries = []
    for _ in range(count):
        number = rng.randint(0 if unsigned else -99, 99) if dtype[0] in "iu" else float(np.float32(rng.uniform(-9, 9)))
        entries.append((rng.randrange(shape[0]), rng.randrange(shape[1]), float(number)))
    table = [[row + 1, col + 1, number] for row, col, number in entries] + [[*shape, 0]]
    return table, summed(shape, entries)


#: what was done → the file of a table
BROKEN: dict[str, Any] = {
    "complex by its flag": lambda table: mat4(table, imaginary=1),
    "complex by its columns": lambda table: mat4([[*line, 1.0] for line in table]),
    "no line for the shape": lambda table: mat4([[1, 1, 2.0], [0, 0, 0]]),
    "no lines": lambda table: mat4(np.zeros((0, 3))),
    "two columns": lambda table: mat4([line[:2] for line in table]),
    "a row beyond the shape": lambda table: mat4([[99, 1, 2.0], *table]),
    "row 0": lambda table: mat4([[0, 1, 2.0], *table]),
    "a negative column": lambda table: mat4([[1, -1, 2.0], *table]),
    "a fractional row": lambda table: mat4([[0.5, 1, 2.0], *table]),
    "a row that is not finite": lambda table: mat4([[np.nan, 1, 2.0], *table]),
    "a value that is not finite": lambda table: mat4([[1, 1, np.inf], *table]),
    "a fractional shape": lambda table: mat4([[1.5, 1, 0]]),
    "a negative shape": lambda table: mat4([[-1, 1, 0]]),
    "VAX": lambda table: mat4(table, mopt=2002),
    "Cray": lambda table: mat4(table, mopt=4002),
    "an unknown type of numbers": lambda table: mat4(table, mopt=92),
    "an unknown kind": lambda table: mat4(table, mopt=5),
    "more rows than there are": lambda table: mat4(table, rows=10**6),
    "2^31 - 1 rows": lambda table: mat4(table, rows=2**31 - 1),
    "negative rows": lambda table: mat4(table, rows=-1),
    "no name": lambda table: mat4(table, name=b"\0"),
    "a name without an end": lambda table: mat4(table, name=b"ABC"),
    "a name of 2^30 bytes": lambda table: mat4(table, name_bytes=2**30),
    "dense": lambda table: mat4(table, kind=0),
    "text": lambda table: mat4(table, kind=1),
    "two sparse variables": lambda table: mat4(table) * 2,
    "rubbish behind it": lambda table: mat4(table) + b"rubbish behind the last variable",
}


def generate(rng: random.Random) -> Iterator[Case]:
    """Variables of all types in both byte orders, alone and beside others; broken, cut, and by SciPy."""
    while True:
        dtype, order = rng.choice(["f8", "f8", "f4", "i4", "i2", "u2", "u1"]), rng.choice("<>")
        table, meaning = table_of(rng, dtype)
        body = mat4(table, dtype, order, rng.choice([b"A\0", b"a_long_name_1\0"]))
        other = mat4([[1, 2], [3, 4]], "f8", order, b"x\0", 0)
        content = rng.choice([body, body, other + body, body + other])
        yield Case("MATLAB .mat v4", f"{order}{dtype}", content, meaning)
        what = rng.choice([*BROKEN])
        table = table_of(rng, "f8")[0]
        yield Case("MATLAB .mat v4", what, BROKEN[what](table), None)
        yield Case("MATLAB .mat v4", "cut", body[: rng.randrange(len(body))], None)
        if rng.random() < 0.5:
            dense = np.zeros((meaning.n_rows, meaning.n_cols))
            for (row, col), number in meaning.entries.items():
                dense[row, col] = number
            content = saved(scipy.io.savemat, {"A": scipy.sparse.csc_array(dense), "x": [1.0]}, format="4")
            nonzeros = {place: number for place, number in meaning.entries.items() if number}
            yield Case("MATLAB .mat v4", "written by SciPy", content, Meaning(*dense.shape, nonzeros))
