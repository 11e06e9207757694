"""Laplacians on regular grids: equal short rows, neighbors close in memory."""

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
    """Parameters of a grid of nx × ny (× nz) points, x fastest."""

    points: Literal[5, 7, 9, 27] = parameter(5, "Points of the stencil: 5 and 9 in 2D, 7 and 27 in 3D.")
    nx: int = parameter(300, "Grid points in x.", ge=1, le=100_000)
    ny: int = parameter(300, "Grid points in y.", ge=1, le=100_000)
    nz: int = parameter(1, "Grid points in z; 1 for 2D stencils.", ge=1, le=100_000)

    def __post_init__(self) -> None:
        if self.points in (5, 9) and self.nz != 1:
            raise ParameterError(
                f"nz is {self.nz}; expected 1, because a {self.points}-point stencil is two-dimensional."
            )
        if self.nx * self.ny * self.nz > UNKNOWNS_MAX:
            raise ParameterError(f"The grid has {self.nx * self.ny * self.nz} points; expected at most {UNKNOWNS_MAX}.")


def _offsets(params: StencilParams) -> list[tuple[int, int, int]]:
    """Return (dz, dy, dx) of the stencil in ascending order of columns."""
    depth = (0,) if params.points in (5, 9) else (-1, 0, 1)
    cube = product(depth, (-1, 0, 1), (-1, 0, 1))
    return [step for step in cube if params.points in (9, 27) or sum(map(abs, step)) <= 1]


def estimate_nnz(params: StencilParams) -> int:
    """Return the exact number of nonzeros: each step of the stencil leaves the grid at one side."""
    grid = params.nz, params.ny, params.nx
    lengths = [[max(side - abs(d), 0) for side, d in zip(grid, step, strict=True)] for step in _offsets(params)]
    return sum(z * y * x for z, y, x in lengths)


def size(params: StencilParams) -> int:
    """Return the number of points of the grid."""
    return params.nx * params.ny * params.nz


def lengths(params: StencilParams, first: int, stop: int, xp: Any) -> Any:
    """Return the number of stencil points that lie on the grid: int64 [rows]."""
    counts = xp.zeros(stop - first, np.int64)
    for inside in _inside(params, first, stop, xp):
        counts += inside
    return counts


def rows(params: StencilParams, first: int, stop: int, xp: Any) -> CsrMatrix:
    """Return rows of the Laplacian with zero boundary: the number of neighbors on the diagonal, −1 per neighbor."""
    indptr = row_pointers(lengths(params, first, stop, xp), xp)
    cursor, nnz = indptr[:-1].copy(), int(indptr[-1])
    indices, values = xp.empty(nnz, np.int32), xp.empty(nnz)
    for (z, y, x), inside in zip(_offsets(params), _inside(params, first, stop, xp), strict=True):
        at = xp.flatnonzero(inside)
        position = cursor[at]
        indices[position] = at + (first + (z * params.ny + y) * params.nx + x)
        values[position] = -1.0 if (z, y, x) != (0, 0, 0) else params.points - 1.0
        cursor[at] += 1
    return CsrMatrix(stop - first, size(params), indptr, indices, values)


def _inside(params: StencilParams, first: int, stop: int, xp: Any) -> Iterator[Any]:
    """Yield, per step of the stencil, whether the point at that step lies on the grid: bool [rows]."""
    at = xp.arange(first, stop, dtype=np.int64)
    plane = at // params.nx
    coordinates = ((plane // params.ny, params.nz), (plane % params.ny, params.ny), (at % params.nx, params.nx))
    sides = [{-1: c > 0, 0: c >= 0, 1: c < length - 1} for c, length in coordinates]
    for z, y, x in _offsets(params):
        yield sides[0][z] & sides[1][y] & sides[2][x]


BY_ROWS = ByRows(size, lengths, rows)
build = BY_ROWS.build

GENERATOR = Generator("stencil", "Laplacian on a regular 2D or 3D grid.", StencilParams, estimate_nnz, build, BY_ROWS)
