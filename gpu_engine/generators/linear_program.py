"""Linear programs: sparse constraints in blocks of variables, and a few constraints that couple nearly all of them.

Block-angular programs, as decomposition methods take them apart; as `kkt` the system of an interior-point method or of
a quadratic program. Source: Dantzig, Wolfe: Decomposition principle for linear programs, Operations Research 8 (1960).
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import SEED, SEED_MAX, VALUES, Generator, distinct, entry_values, from_sorted_keys
from gpu_engine.generators.powerlaw import distinct_keys
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class LinearProgramParams:
    """Parameters of a linear program: constraints are rows, variables are columns."""

    constraints: int = parameter(50_000, "Constraints.", ge=1, le=100_000_000)
    variables: int = parameter(60_000, "Variables.", ge=1, le=100_000_000)
    mean: float = parameter(10.0, "Mean length of the non-coupling rows, at least 1 each.", ge=1, le=100_000)
    coupling: int = parameter(1, "Rows that couple most variables, at random positions.", ge=0, le=100_000)
    fill: float = parameter(0.9, "Share of the variables in a coupling row.", ge=0, le=1)
    blocks: int = parameter(100, "Blocks of variables; a non-coupling row stays in one.", ge=1, le=1_000_000)
    form: Literal["constraints", "kkt"] = parameter(
        "constraints", "The matrix A of the constraints, or the symmetric system with the blocks D, Aᵀ, A, and 0."
    )
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        if self.coupling > self.constraints:
            raise ParameterError(f"coupling is {self.coupling}; expected at most constraints = {self.constraints}.")
        if self.mean > self.width:
            raise ParameterError(
                f"mean is {self.mean}; expected at most {self.width}, the variables of a block. Choose fewer blocks."
            )
        if self.form == "kkt" and self.constraints + self.variables > INDEX_LIMIT:
            raise ParameterError(f"constraints + variables exceed {INDEX_LIMIT}; choose fewer.")

    @property
    def width(self) -> int:
        """Variables per block, at least 1."""
        return max(1, self.variables // self.blocks)


def estimate_nnz(params: LinearProgramParams) -> int:
    """Return the expected nonzeros: mean and fill times the rows; in `kkt` twice, plus the diagonal D."""
    coupling = params.coupling * params.fill * params.variables
    of_constraints = math.ceil((params.constraints - params.coupling) * params.mean + coupling)
    return of_constraints if params.form == "constraints" else 2 * of_constraints + params.variables


def build(params: LinearProgramParams) -> CsrMatrix:
    """Build the matrix; lengths of non-coupling rows are 1 + exponential numbers, limited by the block."""
    rng = np.random.default_rng(params.seed)
    keys = _keys(rng, params)
    values = entry_values(rng, keys.size, params.values)
    of_constraints = from_sorted_keys(params.constraints, params.variables, keys, values)
    if params.form == "constraints":
        return of_constraints
    diagonal = scipy.sparse.diags_array(entry_values(rng, params.variables, params.values))
    a = of_constraints.to_scipy()
    return CsrMatrix.from_scipy(scipy.sparse.block_array([[diagonal, a.T], [a, None]], format="csr"))


def _keys(rng: np.random.Generator, params: LinearProgramParams) -> Any:
    """Return the ascending keys row · variables + column of A, int64."""
    n, width = params.constraints, params.width
    lengths = 1 + np.floor((params.mean - 1.0) * rng.exponential(1.0, n) + rng.random(n) * (params.mean > 1.0))
    lengths = np.minimum(lengths, width).astype(np.int64)
    coupling = rng.permutation(n)[: params.coupling]
    lengths[coupling] = 0
    rows, columns = np.divmod(distinct_keys(rng, lengths, width), width)
    # Consecutive constraints are of one block, as models write them.
    begins = np.arange(n) * min(params.blocks, params.variables) // n * width
    full = [row * params.variables + np.flatnonzero(rng.random(params.variables) < params.fill) for row in coupling]
    return distinct(np.concatenate([rows * params.variables + begins[rows] + columns, *full]))


GENERATOR = Generator(
    "linear_program",
    "Sparse constraints in blocks, and a few nearly full constraints.",
    LinearProgramParams,
    estimate_nnz,
    build,
)
