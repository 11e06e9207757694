"""Meshes of equal cells whose numbering is chosen, as it decides the lower triangle: colors, or patches at random."""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT, CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators.base import PART, SEED, SEED_MAX, VALUES, Generator, entry_values, from_lower_keys
from gpu_engine.generators.numbering import lower_keys, shuffled_numbers
from gpu_engine.parameters import parameter


@dataclass(frozen=True, slots=True)
class MeshParams:
    """Parameters of a mesh of nx × ny points, numbered along x first unless something else is chosen."""

    nx: int = parameter(300, "Points in x.", ge=1, le=100_000)
    ny: int = parameter(300, "Points in y.", ge=1, le=100_000)
    shape: Literal["grid", "honeycomb"] = parameter(
        "grid", "Four neighbors per point, or three: a honeycomb lacks every other edge in y."
    )
    colors_x: int = parameter(
        1, "Colors in x: points of one color, at equal places of cells, have consecutive numbers.", ge=1, le=1_000
    )
    colors_y: int = parameter(1, "Colors in y; colors_x · colors_y points form a cell.", ge=1, le=1_000)
    shuffled: float = parameter(0.0, "Share of the patches whose points exchange their numbers at random.", ge=0, le=1)
    patch: int = parameter(1, "Points along a side of a patch.", ge=1, le=100_000)
    part: Literal["full", "lower"] = parameter("full", PART)
    values: Literal["random", "ones"] = parameter("random", VALUES)
    seed: int = parameter(0, SEED, ge=0, le=SEED_MAX)

    def __post_init__(self) -> None:
        if self.nx * self.ny > INDEX_LIMIT:
            raise ParameterError(f"The mesh has {self.nx * self.ny} points; expected at most {INDEX_LIMIT}.")


def _edges_in_y(params: MeshParams) -> int:
    columns = params.ny - 1
    if params.shape == "grid":
        return params.nx * columns
    return columns // 2 * params.nx + columns % 2 * (params.nx // 2)


def estimate_nnz(params: MeshParams) -> int:
    """Return the exact number of nonzeros: one or two per edge."""
    return (2 if params.part == "full" else 1) * ((params.nx - 1) * params.ny + _edges_in_y(params))


def build(params: MeshParams) -> CsrMatrix:
    """Return the adjacency matrix, or its strict lower triangle."""
    rng = np.random.default_rng(params.seed)
    point = np.arange(params.nx * params.ny, dtype=np.int64)
    y, x = np.divmod(point, params.nx)
    down = y > 0 if params.shape == "grid" else (y > 0) & ((x + y) % 2 == 0)
    numbers = _numbers(rng, params, x, y)
    one = np.concatenate([numbers[x > 0], numbers[down]])
    other = np.concatenate([numbers[point[x > 0] - 1], numbers[point[down] - params.nx]])
    keys = lower_keys(point.size, one, other)
    return from_lower_keys(point.size, keys, entry_values(rng, keys.size, params.values), params.part)


def _numbers(rng: np.random.Generator, params: MeshParams, x: Any, y: Any) -> Any:
    """Return the numbers of the points, int64 [n]."""
    color = y % params.colors_y * params.colors_x + x % params.colors_x
    numbers = np.empty(x.size, np.int64)
    numbers[np.argsort(color, kind="stable")] = np.arange(x.size)
    if params.shuffled > 0.0:
        patches = y // params.patch * -(-params.nx // params.patch) + x // params.patch
        numbers = numbers[shuffled_numbers(rng, patches, params.shuffled)]
    return numbers


GENERATOR = Generator(
    "mesh", "Grid or honeycomb, numbered by colors or in part at random.", MeshParams, estimate_nnz, build
)
