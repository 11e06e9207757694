"""Laplacians on regular grids: the same short row everywhere, neighbours near in memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import ByRows, Generator, row_pointers
from gpu_engine.parameters import parameter

UNKNOWNS_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class StencilParams:
    """Of a grid of nx × ny (× nz) points, x fastest."""

    points: Literal[5, 7, 9, 27] = parameter(5, "Points of the stencil: 5 and 9 in a plane, 7 and 27 in space.")
    nx: int = parameter(300, "Grid points in x.", ge=1, le=100_000)
    ny: int = parameter(300, "Grid points in y.", ge=1, le=100_000)
    nz: int = parameter(1, "Grid points in z; 1 for the stencils in a plane.", ge=1, le=100_000)

    def __post_init__(self) -> None:
        if self.points in (5, 9) and self.nz != 1:
            raise ParameterError(f"nz is {self.nz}; a {self.points}-point stencil lies in a plane: nz must be 1.")
        if self.nx * self.ny * self.nz > UNKNOWNS_MAX:
            raise ParameterError(f"The grid has {self.nx * self.ny * self.nz} points; expected at most {UNKNOWNS_MAX}.")


def _offsets(params: StencilParams) -> list[tuple[int, int, int]]:
    """(dz, dy, dx) of the stencil in ascending order of columns."""
    depth = (0,) if params.points in (5, 9) else (-1, 0, 1)
    cube = product(depth, (-1, 0, 1), (-1, 0, 1))
    return [step for step in cube if params.points in (9, 27) or sum(map(abs, step)) <= 1]


def estimate_nnz(params: StencilParams) -> int:
    """The exact number: each step of the stencil misses the grid at one side."""
    grid = params.nz, params.ny, params.nx
    lengths = [[max(side - abs(d), 0) for side, d in zip(grid, step, strict=True)] for step in _offsets(params)]
    return sum(z * y * x for z, y, x in lengths)


def size(params: StencilParams) -> int:
    """Points of the grid."""
    return params.nx * params.ny * params.nz


def lengths(params: StencilParams, first: int, stop: int, xp: Any) -> Any:
    """Points of the stencil that lie on the grid: int64 [rows]."""
    found = xp.zeros(stop - first, np.int64)
    for inside in _inside(params, first, stop, xp):
        found += inside
    return found


def rows(params: StencilParams, first: int, stop: int, xp: Any) -> CsrMatrix:
    """Of the Laplacian with zero boundary: the number of neighbours on the diagonal, −1 for each neighbour."""
    indptr = row_pointers(lengths(params, first, stop, xp), xp)
    cursor, nnz = indptr[:-1].copy(), int(indptr[-1])
    indices, values = xp.empty(nnz, np.int32), xp.empty(nnz)
    for (z, y, x), inside in zip(_offsets(params), _inside(params, first, stop, xp), strict=True):
        at = xp.flatnonzero(inside)
        place = cursor[at]
        indices[place] = at + (first + (z * params.ny + y) * params.nx + x)
        values[place] = -1.0 if (z, y, x) != (0, 0, 0) else params.points - 1.0
        cursor[at] += 1
    return CsrMatrix(stop - first, size(params), indptr, indices, values)


def _inside(params: StencilParams, first: int, stop: int, xp: Any) -> Iterator[Any]:
    """bool [rows] for each step of the stencil: whether the point so many steps away lies on the grid."""
    at = xp.arange(first, stop, dtype=np.int64)
    plane = at // params.nx
    coordinates = ((plane // params.ny, params.nz), (plane % params.ny, params.ny), (at % params.nx, params.nx))
    sides = [{-1: c > 0, 0: c >= 0, 1: c < length - 1} for c, length in coordinates]
    for z, y, x in _offsets(params):
        yield sides[0][z] & sides[1][y] & sides[2][x]


BY_ROWS = ByRows(size, lengths, rows)
build = BY_ROWS.build

GENERATOR = Generator(
    "stencil", "Laplacian on a regular grid in a plane or in space.", StencilParams, estimate_nnz, build, BY_ROWS
)
