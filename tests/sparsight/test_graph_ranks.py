"""pagerank: seeds in every form, warm starts, and graphs of any storage order."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import sparsight
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate

GRAPH = generate("rmat", {"scale": 7, "edge_factor": 4}).to_scipy()
N = GRAPH.shape[0]


def expected(v: Any, damping: float = 0.85) -> Any:
    """Ranks by a dense solve; the rank of dangling pages goes to the seeds."""
    links = (GRAPH.toarray() != 0).astype(float)
    degrees = links.sum(axis=1)
    shares = np.where(degrees[:, None] > 0, links / np.maximum(degrees, 1.0)[:, None], v)
    return np.linalg.solve(np.eye(N) - damping * shares.T, (1.0 - damping) * v)


def vector(weights: dict[int, float]) -> Any:
    v = np.zeros(N)
    v[list(weights)] = list(weights.values())
    return v / v.sum()


@pytest.mark.parametrize(
    "seeds",
    ["3; 5, 9:0.5; ", [{3: 2.0}, {5: 1.0, 9: 0.5}, {}], [[3], {5: 2, 9: 1}, []]],
    ids=["text", "weights", "pages"],
)
@pytest.mark.parametrize("stored", ["csr", "csc", "coo"])
def test_ranks_of_seed_sets(seeds: Any, stored: Any) -> None:
    run = sparsight.pagerank(GRAPH.asformat(stored), seeds, epsilon=1e-13)
    assert run.ranks.shape == (N, 3)
    assert run.converged.all()
    for column, v in enumerate((vector({3: 1.0}), vector({5: 1.0, 9: 0.5}), np.full(N, 1.0 / N))):
        np.testing.assert_allclose(run.ranks[:, column], expected(v), atol=1e-12)


def test_without_seeds_all_pages_are_alike() -> None:
    run = sparsight.pagerank(GRAPH, damping=0.5, epsilon=1e-13)
    np.testing.assert_allclose(run.ranks[:, 0], expected(np.full(N, 1.0 / N), 0.5), atol=1e-12)


def test_a_warm_start_continues() -> None:
    cold = sparsight.pagerank(GRAPH, "3; 7")
    warm = sparsight.pagerank(GRAPH, "3; 7", start=cold.ranks)
    assert (warm.iterations <= 2).all()
    assert (cold.iterations > 10).all()


@pytest.mark.parametrize(
    ("graph", "seeds", "options"),
    [
        (GRAPH, "1000000", {}),
        (GRAPH, "1:-2", {}),
        (GRAPH, [], {}),
        (GRAPH, "", {"damping": 2.0}),
        (GRAPH, "", {"colour": 1}),
        (GRAPH, "", {"start": np.zeros(N)}),
        (scipy.sparse.csr_array(np.ones((2, 3))), "", {}),
    ],
)
def test_invalid_input_is_refused(graph: Any, seeds: Any, options: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        sparsight.pagerank(graph, seeds, **options)


def test_the_example_of_the_document() -> None:
    text = (Path(__file__).parents[2] / "docs" / "pagerank.md").read_text(encoding="utf-8")
    example = next(e for e in re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S) if "sparsight.pagerank" in e)
    names: dict[str, Any] = {}
    exec(compile(example, "docs/pagerank.md", "exec"), names)
    assert names["run"].ranks.shape == (1000, 3)
    assert (names["again"].iterations < names["run"].iterations).all()
