"""Web-like graphs: most links stay within a host, others lead to popular pages; power-law out-degrees."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators.base import (
    SEED,
    SEED_MAX,
    VALUES,
    Generator,
    check_lengths,
    distinct,
    entry_values,
    from_sorted_keys,
)
from gpu_engine.generators.powerlaw import PowerlawParams, draw_lengths
from gpu_engine.parameters import parameter

POPULARITY = 3.0
"""Exponent of popularity: an external link leads to page n · u^POPULARITY in popular order, for uniform u."""


@dataclass(frozen=True, slots=True)
class WebParams:
    """Parameters of a directed graph of pages, numbered host by host."""

    n: int = parameter(100_000, "Pages: rows and columns.", ge=2, le=100_000_000)
    mean: float = parameter(10.0, "Mean number of links drawn per page; repeated links count once.", ge=0.01, le=10_000)
    exponent: float = parameter(2.2, "Exponent of the out-degrees.", ge=1.05, le=6)
    max_length: int = parameter(1_000, "Maximum number of links drawn per page, at most n.", ge=1, le=100_000_000)
    host: int = parameter(64, "Pages per host.", ge=1, le=1_000_000)
    local: float = parameter(0.8, "Share of the links that stay within the host.", ge=0, le=1)
    transposed: bool = parameter(False, "Rows hold the links to a page instead of from it, as PageRank needs them.")
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        check_lengths(self.n, self.mean, self.max_length)


def estimate_nnz(params: WebParams) -> int:
    """Return the expected nonzeros: the drawn links; repeated links count once."""
    return math.ceil(params.n * params.mean)


def build(params: WebParams) -> CsrMatrix:
    """Return the adjacency matrix of the directed graph, or its transpose."""
    rng = np.random.default_rng(params.seed)
    degrees = draw_lengths(rng, PowerlawParams(params.n, params.mean, params.exponent, params.max_length))
    rows = np.repeat(np.arange(params.n, dtype=np.int64), degrees)
    targets = _targets(rng, rows, params)
    keys = distinct(targets * params.n + rows if params.transposed else rows * params.n + targets)
    return from_sorted_keys(params.n, params.n, keys, entry_values(rng, keys.size, params.values))


def _targets(rng: np.random.Generator, rows: Any, params: WebParams) -> Any:
    """Return the target page of each link: int64, of the shape of rows."""
    first = rows - rows % params.host
    near = first + (rng.random(rows.size) * np.minimum(params.host, params.n - first)).astype(np.int64)
    popular = rng.permutation(params.n)
    far = popular[(params.n * rng.random(rows.size) ** POPULARITY).astype(np.int64)]
    return np.where(rng.random(rows.size) < params.local, near, far)


GENERATOR = Generator("web", "Links within hosts and to popular pages.", WebParams, estimate_nnz, build)
