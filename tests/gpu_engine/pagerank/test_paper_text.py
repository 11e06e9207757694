"""The product's runs on a CPU against the text of the paper in NumPy: iterations of each precision, and ranks."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, transition_matrix
from gpu_engine.pagerank.kernels import kernels_on
from gpu_engine.pagerank.run import Run, iterate
from gpu_engine.pagerank.schedule import iterations_by_segments
from gpu_engine.parameters import parse_params
from tests.gpu_engine.pagerank.paper_text import Result, pagerank, strict_lower

GRAPHS: dict[str, tuple[str, dict[str, Any], str]] = {
    "web": ("web", {"n": 4000}, "full"),
    "web with dangling pages": ("web", {"n": 4000, "mean": 2.0, "seed": 1}, "full"),
    "rmat": ("rmat", {"scale": 11}, "full"),
    "delaunay": ("delaunay", {"n": 4000}, "full"),
    "delaunay, lower": ("delaunay", {"n": 4000}, "lower"),
    "rgg, lower": ("rgg", {"n": 4000, "order": "strips"}, "lower"),
    "road, lower": ("road", {"length": 150, "width": 40}, "lower"),
    "grid, lower": ("stencil", {"nx": 90, "ny": 70}, "lower"),
}


def of_the_text(matrix: CsrMatrix, triangle: str, segments: int) -> Result:
    """The result of the paper's text for a host matrix."""
    sources = np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr))
    targets = np.asarray(matrix.indices)
    if triangle == "lower":
        sources, targets = strict_lower(sources, targets)
    return pagerank(matrix.n_rows, sources, targets, segments)


def of_the_product(matrix: CsrMatrix, triangle: str, segments: int) -> tuple[Run, Any]:
    """The run of the product and its ranks."""
    (kernel,) = kernels_on("cpu", (f"csr/thread+cpms{segments}" if segments > 1 else "csr/thread+fp64",))
    params = parse_params(PageRankParams, {"triangle": triangle})
    ranks = kernel.ranks(transition_matrix(matrix, params), params, np)
    return iterate(ranks, params, kernel.schedule({})), ranks.ranks()


@pytest.mark.parametrize("segments", [1, 2, 4])
@pytest.mark.parametrize("name", GRAPHS)
def test_the_product_makes_the_iterations_of_the_text(name: str, segments: int) -> None:
    generator, params, triangle = GRAPHS[name]
    matrix = generate(generator, params)
    expected = of_the_text(matrix, triangle, segments)
    run, ranks = of_the_product(matrix, triangle, segments)
    counts = (len(run.gammas),) if segments == 1 else iterations_by_segments(run.written, run.schedule)
    assert counts == expected.counts
    np.testing.assert_allclose(ranks, expected.ranks, rtol=1e-10)


@pytest.mark.parametrize(
    ("nx", "ny", "counts"),
    # A stall test on the γ of the first raise gives 1/1/105/4 and 1/1/99/6.
    [(90, 70, (1, 44, 62, 4)), (512, 832, (1, 32, 68, 6))],
)
def test_the_jump_of_the_change_after_sixteen_bits_is_no_stall(nx: int, ny: int, counts: tuple[int, ...]) -> None:
    matrix = generate("stencil", {"nx": nx, "ny": ny})
    run, _ = of_the_product(matrix, "lower", 4)
    assert iterations_by_segments(run.written, run.schedule) == counts == of_the_text(matrix, "lower", 4).counts
