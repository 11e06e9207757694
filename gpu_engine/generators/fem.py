"""Finite elements with several unknowns per node: dense b × b blocks on the 27-point neighborhood of a 3D grid."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators import stencil
from gpu_engine.generators.base import SEED, SEED_MAX, VALUES, Generator, entry_values, pointer_type
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class FemParams:
    """Parameters of a grid of nx × ny × nz nodes, x fastest, with `block` unknowns each."""

    block: int = parameter(3, "Unknowns per node: rows and columns of a block.", ge=1, le=64)
    nx: int = parameter(20, "Nodes in x.", ge=1, le=100_000)
    ny: int = parameter(20, "Nodes in y.", ge=1, le=100_000)
    nz: int = parameter(20, "Nodes in z.", ge=1, le=100_000)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        unknowns = self.block * self.nx * self.ny * self.nz
        if unknowns > INDEX_LIMIT:
            raise ParameterError(f"There are {unknowns} unknowns; expected at most {INDEX_LIMIT}.")


def _grid(params: FemParams) -> stencil.StencilParams:
    return stencil.StencilParams(27, params.nx, params.ny, params.nz)


def estimate_nnz(params: FemParams) -> int:
    """Return the exact number of nonzeros: one block per entry of the stencil."""
    return params.block**2 * stencil.estimate_nnz(_grid(params))


def build(params: FemParams) -> CsrMatrix:
    """Return the symmetric matrix; an entry is the mean of two random numbers of its row and its column."""
    grid, b = stencil.build(_grid(params)), params.block
    blocks = np.ones((grid.nnz, b, b), np.int8)
    n = b * grid.n_rows
    csr = scipy.sparse.bsr_array((blocks, grid.indices, grid.indptr), shape=(n, n)).tocsr()
    numbers = entry_values(np.random.default_rng(params.seed), n, params.values)
    values = (np.repeat(numbers, np.diff(csr.indptr)) + numbers[csr.indices]) / 2
    return CsrMatrix(n, n, csr.indptr.astype(pointer_type(csr.nnz)), csr.indices.astype(np.int32), values)


GENERATOR = Generator("fem", "Dense blocks on a 27-point grid, as in finite elements.", FemParams, estimate_nnz, build)
