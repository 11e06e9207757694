"""Random geometric graphs: points of a torus, connected if they are near; row lengths follow a Poisson law."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.spatial import cKDTree

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import PART, SEED, SEED_MAX, VALUES, Generator, entry_values, from_lower_keys
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class RggParams:
    """Parameters of a graph of `n` points in the unit square with periodic boundaries."""

    n: int = parameter(100_000, "Points: rows and columns of the matrix.", ge=2, le=20_000_000)
    degree: float = parameter(16.0, "Mean number of neighbors; it determines the radius.", ge=0.01, le=10_000)
    order: Literal["random", "strips"] = parameter(
        "random", "Number the points at random, or from left to right in one strip after the other."
    )
    strips: int = parameter(0, "Strips of order=strips; 0 makes them as high as the radius.", ge=0, le=100_000)
    part: Literal["full", "lower"] = parameter("full", PART)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        most = (self.n - 1) * math.pi / 4
        if self.degree >= most:
            raise ParameterError(f"degree is {self.degree}; {self.n} points allow less than {most:g}.")


def estimate_nnz(params: RggParams) -> int:
    """Return the expected nonzeros, n · degree if symmetric; all points have equal chances on a torus."""
    return math.ceil(params.n * params.degree / (1 if params.part == "full" else 2))


def build(params: RggParams) -> CsrMatrix:
    """Return the adjacency matrix, or its strict lower triangle."""
    rng = np.random.default_rng(params.seed)
    # A disc of this radius holds `degree` of the other n − 1 points on average.
    radius = math.sqrt(params.degree / (math.pi * (params.n - 1)))
    points = rng.random((params.n, 2))
    if params.order == "strips":
        height = 1.0 / params.strips if params.strips else radius
        points = points[np.lexsort((points[:, 0], np.floor(points[:, 1] / height)))]
    tree = cKDTree(points, boxsize=np.ones(2))
    pairs = tree.query_pairs(radius, output_type="ndarray").astype(np.int64)
    keys = np.sort(pairs.max(axis=1) * params.n + pairs.min(axis=1))
    return from_lower_keys(params.n, keys, entry_values(rng, keys.size, params.values), params.part)


GENERATOR = Generator("rgg", "Random geometric graph: near points are connected.", RggParams, estimate_nnz, build)
