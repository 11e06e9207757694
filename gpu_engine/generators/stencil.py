"""Laplacians on regular grids: the same short row everywhere, neighbours near in memory."""

from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import Generator, pointer_type
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


def build(params: StencilParams) -> CsrMatrix:
    """The Laplacian with zero boundary: the number of neighbours on the diagonal, −1 for each neighbour."""
    n, nnz = params.nx * params.ny * params.nz, estimate_nnz(params)
    cursor = np.zeros(n + 1, np.int64)
    for step in _offsets(params):
        cursor[1:] += _inside(params, step)
    np.cumsum(cursor, out=cursor)
    indptr = cursor.astype(pointer_type(nnz))
    indices, values = np.empty(nnz, np.int32), np.empty(nnz)
    for step in _offsets(params):
        rows = np.flatnonzero(_inside(params, step))
        place = cursor[rows]
        indices[place] = rows + (step[0] * params.ny + step[1]) * params.nx + step[2]
        values[place] = -1.0 if any(step) else params.points - 1.0
        cursor[rows] += 1
    return CsrMatrix(n, n, indptr, indices, values)


def _inside(params: StencilParams, step: tuple[int, int, int]) -> Any:
    """bool [n]: whether the point so many steps away lies on the grid."""
    sides = []
    for length, shift in zip((params.nz, params.ny, params.nx), step, strict=True):
        at = np.arange(length) + shift
        sides.append((at >= 0) & (at < length))
    z, y, x = sides
    return (z[:, None, None] & y[None, :, None] & x[None, None, :]).ravel()


GENERATOR = Generator(
    "stencil", "Laplacian on a regular grid in a plane or in space.", StencilParams, estimate_nnz, build
)
