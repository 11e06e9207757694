"""Convection and diffusion on regular grids: nonsymmetric matrices with equal short rows, as solvers meet them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators import stencil
from gpu_engine.generators.base import Generator
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class ConvectionParams:
    """Parameters of a grid of nx × ny (× nz) points with wind along all axes; 5 points per row in 2D, 7 in 3D."""

    nx: int = parameter(300, "Grid points in x.", ge=1, le=100_000)
    ny: int = parameter(300, "Grid points in y.", ge=1, le=100_000)
    nz: int = parameter(1, "Grid points in z; 1 for a plane.", ge=1, le=100_000)
    peclet: float = parameter(1.0, "Cell Péclet number: convection over diffusion. 0 is the Laplacian.", ge=0.0, le=1e6)
    scheme: Literal["upwind", "central"] = parameter("upwind", "Differences of the convection: upwind, or central.")

    def __post_init__(self) -> None:
        if self.nx * self.ny * self.nz > stencil.UNKNOWNS_MAX:
            points = self.nx * self.ny * self.nz
            raise ParameterError(f"The grid has {points} points; expected at most {stencil.UNKNOWNS_MAX}.")


def estimate_nnz(params: ConvectionParams) -> int:
    """Return the exact number of nonzeros."""
    return stencil.estimate_nnz(_grid(params))


def build(params: ConvectionParams) -> CsrMatrix:
    """Return the matrix with zero boundary: diffusion with −1 per neighbor, and convection along each axis."""
    matrix = stencil.build(_grid(params))
    axes, wind = 2 if params.nz == 1 else 3, params.peclet
    rows = np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr))
    side = matrix.indices - rows
    if params.scheme == "upwind":
        below, middle, above = -1.0 - wind, axes * (2.0 + wind), -1.0
    else:
        below, middle, above = -1.0 - wind / 2, 2.0 * axes, -1.0 + wind / 2
    values = np.select([side < 0, side > 0], [below, above], middle)
    return CsrMatrix(matrix.n_rows, matrix.n_cols, matrix.indptr, matrix.indices, values)


def _grid(params: ConvectionParams) -> stencil.StencilParams:
    return stencil.StencilParams(5 if params.nz == 1 else 7, params.nx, params.ny, params.nz)


GENERATOR = Generator(
    "convection", "Convection and diffusion on a regular 2D or 3D grid.", ConvectionParams, estimate_nnz, build
)
