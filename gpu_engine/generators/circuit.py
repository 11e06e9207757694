"""Circuits: nodes joined to a few near ones, and rails, such as power and ground, to which most nodes are joined.

The symmetric pattern of nodal analysis, with its diagonal. With no other joints and one full rail it is an arrow.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import (
    SEED,
    SEED_MAX,
    VALUES,
    Generator,
    distinct,
    entry_values,
    from_sorted_keys,
)
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class CircuitParams:
    """Parameters of the conductance matrix of a circuit."""

    n: int = parameter(20_000, "Nodes: rows and columns.", ge=1, le=100_000_000)
    degree: float = parameter(3.0, "Mean number of connections of a node to near nodes.", ge=0, le=1_000)
    reach: float = parameter(50.0, "Mean distance, in node indices, of two connected nodes.", ge=1, le=1e8)
    rails: int = parameter(2, "Nodes that are connected to many: dense rows and columns.", ge=0, le=10_000)
    fill: float = parameter(0.15, "Share of the nodes that a rail is connected to.", ge=0, le=1)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        if self.rails > self.n:
            raise ParameterError(f"rails is {self.rails}; expected at most n = {self.n}.")


def estimate_nnz(params: CircuitParams) -> int:
    """Return the expected nonzeros: the diagonal and two per connection; repeated connections count once."""
    return math.ceil(params.n * (1.0 + params.degree + 2.0 * params.rails * params.fill))


def build(params: CircuitParams) -> CsrMatrix:
    """Build the matrix; both entries of a connection have the same value."""
    rng, n = np.random.default_rng(params.seed), params.n
    keys = distinct(np.concatenate([_near(rng, params), *_of_rails(rng, params)]))
    values = entry_values(rng, keys.size, params.values)
    rows, columns = np.divmod(keys, n)
    whole = np.concatenate([keys, columns * n + rows, np.arange(n, dtype=np.int64) * (n + 1)])
    order = np.argsort(whole, kind="stable")
    diagonal = entry_values(rng, n, params.values)
    return from_sorted_keys(n, n, whole[order], np.concatenate([values, values, diagonal])[order])


def _near(rng: np.random.Generator, params: CircuitParams) -> Any:
    """Return keys row · n + column of connections below the diagonal, possibly repeated."""
    rows = rng.integers(0, params.n, round(params.n * params.degree / 2))
    columns = rows - np.ceil(rng.exponential(params.reach, rows.size)).astype(np.int64)
    inside = (columns >= 0) & (columns < rows)
    return rows[inside] * params.n + columns[inside]


def _of_rails(rng: np.random.Generator, params: CircuitParams) -> list[Any]:
    """Return the keys below the diagonal of the connections of each rail."""
    parts = []
    for rail in rng.permutation(params.n)[: params.rails]:
        nodes = np.flatnonzero(rng.random(params.n) < params.fill)
        nodes = nodes[nodes != rail].astype(np.int64)
        parts.append(np.maximum(nodes, rail) * params.n + np.minimum(nodes, rail))
    return parts


GENERATOR = Generator(
    "circuit", "Nodes connected to near nodes and to a few dense rails.", CircuitParams, estimate_nnz, build
)
