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
    dangling: float = parameter(0.0, "Share of the pages without links; the others have as many more.", ge=0, le=0.99)
    stars: float = parameter(
        0.0, "Share of the hosts whose pages link to the first one only, which links to all of them.", ge=0, le=1
    )
    transposed: bool = parameter(False, "Rows hold the links to a page instead of from it, as PageRank needs them.")
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        check_lengths(self.n, self.mean / (1.0 - self.dangling), self.max_length)


def estimate_nnz(params: WebParams) -> int:
    """Return the expected nonzeros: the drawn links; repeated links count once."""
    return math.ceil(params.n * params.mean)


def build(params: WebParams) -> CsrMatrix:
    """Return the adjacency matrix of the directed graph, or its transpose."""
    rng = np.random.default_rng(params.seed)
    mean = params.mean / (1.0 - params.dangling)
    degrees = draw_lengths(rng, PowerlawParams(params.n, mean, params.exponent, params.max_length))
    star = np.zeros(params.n, bool)
    if params.stars > 0.0:
        star = np.repeat(rng.random(-(-params.n // params.host)) < params.stars, params.host)[: params.n]
        degrees[star] = 0
    if params.dangling > 0.0:
        degrees[_dangling(rng, params, star)] = 0
    rows = np.repeat(np.arange(params.n, dtype=np.int64), degrees)
    targets = _targets(rng, rows, params)
    if params.stars > 0.0:
        pages = np.flatnonzero(star & (np.arange(params.n) % params.host > 0))
        first = pages - pages % params.host
        rows, targets = np.concatenate([rows, pages, first]), np.concatenate([targets, first, pages])
    keys = distinct(targets * params.n + rows if params.transposed else rows * params.n + targets)
    return from_sorted_keys(params.n, params.n, keys, entry_values(rng, keys.size, params.values))


def _dangling(rng: np.random.Generator, params: WebParams, star: Any) -> Any:
    """Return the pages without links, int64 [pages]: none of a star."""
    pages = np.flatnonzero(~star)
    return rng.choice(pages, min(round(params.dangling * params.n), pages.size), replace=False)


def _targets(rng: np.random.Generator, rows: Any, params: WebParams) -> Any:
    """Return the target page of each link: int64, of the shape of rows."""
    first = rows - rows % params.host
    near = first + (rng.random(rows.size) * np.minimum(params.host, params.n - first)).astype(np.int64)
    popular = rng.permutation(params.n)
    far = popular[(params.n * rng.random(rows.size) ** POPULARITY).astype(np.int64)]
    return np.where(rng.random(rows.size) < params.local, near, far)


GENERATOR = Generator("web", "Links within hosts and to popular pages.", WebParams, estimate_nnz, build)
