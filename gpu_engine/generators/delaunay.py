"""Delaunay triangulations of random points: short, even rows and no locality in memory."""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.spatial import Delaunay

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators.base import (
    PART,
    SEED,
    SEED_MAX,
    VALUES,
    Generator,
    entry_values,
    from_lower_keys,
)
from gpu_engine.parameters import parameter

STRIP = 2.0
"""Height of a strip, in mean distances of points."""


@dataclass(frozen=True, slots=True)
class DelaunayParams:
    """Parameters of a triangulation of `n` points in the unit square, numbered at random or in part in strips."""

    n: int = parameter(100_000, "Points: rows and columns of the matrix.", ge=4, le=8_000_000)
    coarse: float = parameter(
        1.0,
        "Share of the points numbered first, at random; the others follow from left to right in strips.",
        ge=0,
        le=1,
    )
    part: Literal["full", "lower"] = parameter("full", PART)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)


def estimate_nnz(params: DelaunayParams) -> int:
    """Return the expected nonzeros; a triangulation of n points has about 3·n edges."""
    return (6 if params.part == "full" else 3) * params.n


def build(params: DelaunayParams) -> CsrMatrix:
    """Return the adjacency matrix, or its strict lower triangle."""
    rng = np.random.default_rng(params.seed)
    points = rng.random((params.n, 2))
    if params.coarse < 1.0:
        points = points[_order(points, rng.random(params.n) < params.coarse)]
    pointers, neighbours = Delaunay(points).vertex_neighbor_vertices
    rows = np.repeat(np.arange(params.n, dtype=np.int64), np.diff(pointers))
    lower = neighbours < rows
    keys = np.sort(rows[lower] * params.n + neighbours[lower])
    values = entry_values(rng, keys.size, params.values)
    return from_lower_keys(params.n, keys, values, params.part)


def _order(points: Any, coarse: Any) -> Any:
    """Return the points in the order of their new numbers, int64 [n]: coarse ones, bool [n], then strip by strip."""
    fine = np.flatnonzero(~coarse)
    strips = np.floor(points[fine, 1] * math.sqrt(coarse.size) / STRIP)
    return np.concatenate([np.flatnonzero(coarse), fine[np.lexsort((points[fine, 0], strips))]])


GENERATOR = Generator(
    "delaunay", "Delaunay triangulation of random points in the unit square.", DelaunayParams, estimate_nnz, build
)
