"""MATLAB .mat files of version 4 that are refused: name → (file, words of the message)."""

from collections.abc import Callable

import numpy as np

from tests.gpu_engine.matrix_files import mat4

TABLE: list[list[float]] = [[1, 1, 2.0], [3, 2, 1.0], [3, 3, 0]]

BAD = {
    "complex by its flag": (mat4(TABLE, imaginary=1), "complex. Only real"),
    "complex by its columns": (mat4([[*line, 1.0] for line in TABLE]), "complex. Only real"),
    "no line for the shape": (mat4([[1, 1, 2.0], [0, 0, 0]]), "row index 0 lies outside"),
    "no lines": (mat4(np.zeros((0, 3))), "table of 0"),
    "two columns": (mat4([line[:2] for line in TABLE]), "table of 3 × 2"),
    "a row beyond the shape": (mat4([[99, 1, 2.0], *TABLE]), "row index 98"),
    "row 0": (mat4([[0, 1, 2.0], *TABLE]), "row index -1"),
    "a negative column": (mat4([[1, -1, 2.0], *TABLE]), "column index -2"),
    "a fractional row": (mat4([[0.5, 1, 2.0], *TABLE]), "not integers"),
    "a row that is not finite": (mat4([[np.nan, 1, 2.0], *TABLE]), "not integers"),
    "a value that is not finite": (mat4([[1, 1, np.inf], *TABLE]), "not finite"),
    "a fractional shape": (mat4([[1.5, 1, 0]]), "not integers"),
    "a negative shape": (mat4([[-1, 1, 0]]), "-1 × 1"),
    "VAX numbers": (mat4(TABLE, mopt=2002), "VAX D-float numbers; .*'-v7'"),
    "Cray numbers": (mat4(TABLE, mopt=4002), "Cray numbers"),
    "more rows than there are": (mat4(TABLE, rows=10**6), "too early"),
    "2^31 - 1 rows and columns": (mat4(TABLE, rows=2**31 - 1, cols=2**31 - 1), "table of"),
    "dense of 2^31 - 1 rows and columns": (mat4(TABLE, kind=0, rows=2**31 - 1, cols=2**31 - 1), "too early"),
    "dense": (mat4(TABLE, kind=0), "no sparse matrix but 'A'"),
    "text": (mat4(TABLE, kind=1), "no sparse matrix but 'A'"),
    "two sparse variables": (mat4(TABLE) * 2, "2 sparse matrices"),
    "rubbish behind it": (mat4(TABLE) + b"rubbish behind the last variable", "damaged header"),
    "a byte behind it": (mat4(TABLE) + b"x", "too early"),
    "a second name without an end": (mat4(TABLE) + mat4(TABLE, name=b"ABC"), "damaged header"),
    "a second name of 2^30 bytes": (mat4(TABLE) + mat4(TABLE, name_bytes=2**30), "damaged header"),
    "a second variable of an unknown type": (mat4(TABLE) + mat4(TABLE, mopt=92), "damaged header"),
    "a second variable with negative rows": (mat4(TABLE) + mat4(TABLE, rows=-1), "damaged header"),
    "duplicates that overflow": (mat4([[1, 1, 1e308], [1, 1, 1e308], [1, 1, 0]]), "overflows fp64"),
}

LARGE: dict[str, Callable[[], bytes]] = {
    "a .mat v4 of 10^10 rows": lambda: mat4([[1, 1, 1.0], [1e10, 1, 0]]),
    "a .mat v4 of 2·10^9 columns": lambda: mat4([[1, 1, 1.0], [1, 2e9, 0]]),
    "a .mat v4 of 1001 variables": lambda: mat4([[1.0]], kind=0) * 1001,
    "a .mat v4 of 1001 entries": lambda: mat4([[1, 1, 1.0]] * 1001 + [[1, 1, 0]]),
    "a .mat v4 with a dense variable of 200 MB": lambda: mat4(np.zeros((1, 25 * 2**20)), kind=0),
}
