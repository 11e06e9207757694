"""The transition matrix by value."""

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix, check_csr
from gpu_engine.errors import ParameterError
from gpu_engine.pagerank import PageRankParams, transition_matrix
from gpu_engine.parameters import parse_params
from tests.battery import BATTERY, coo, dense
from tests.gpu_engine.pagerank.graphs import PATH, TRIANGLE, TWO_PARTS, WEIGHTED, ZERO_WEIGHTS

DEFAULT = PageRankParams()
USE = PageRankParams(weights="use")
SQUARE = [name for name, make in BATTERY.items() if make().n_rows == make().n_cols]


def pulled(matrix: CsrMatrix, params: PageRankParams = DEFAULT) -> list[list[float]]:
    dense_pull: list[list[float]] = transition_matrix(matrix, params).pull.to_scipy().toarray().tolist()
    return dense_pull


def test_a_row_holds_the_links_to_a_page_and_the_share_of_each() -> None:
    assert pulled(TRIANGLE) == [[0, 0, 1], [0.5, 0, 0], [0.5, 1, 0]]
    graph = transition_matrix(TRIANGLE, DEFAULT)
    assert (graph.n, graph.triangle) == (3, "full")
    assert (graph.out_degrees.tolist(), graph.out_degrees.dtype) == ([2, 1, 1], np.int32)
    assert (graph.dangling.tolist(), graph.dangling.dtype) == ([], np.int32)


def test_values_count_only_as_weights() -> None:
    assert pulled(WEIGHTED) == pulled(TRIANGLE)
    assert pulled(WEIGHTED, USE) == [[0, 0, 1], [0.75, 0, 0], [0.25, 1, 0]]


def test_pages_without_links_dangle_and_loops_are_links_unless_dropped() -> None:
    kept = transition_matrix(TWO_PARTS, DEFAULT)
    assert (kept.dangling.tolist(), kept.out_degrees.tolist()) == ([3], [1, 1, 1, 0])
    dropped = transition_matrix(TWO_PARTS, PageRankParams(self_loops="drop"))
    assert (dropped.dangling.tolist(), dropped.out_degrees.tolist()) == ([1, 3], [1, 0, 1, 0])
    assert dropped.pull.to_scipy().toarray().tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]]


def test_explicit_zeros_are_links_but_weigh_nothing() -> None:
    links = transition_matrix(ZERO_WEIGHTS, DEFAULT)
    assert (links.pull.nnz, links.out_degrees.tolist(), links.dangling.tolist()) == (3, [2, 1, 0], [2])
    weighted = transition_matrix(ZERO_WEIGHTS, USE)
    assert (weighted.pull.nnz, weighted.dangling.tolist()) == (3, [1, 2])
    assert weighted.pull.to_scipy().toarray().tolist() == [[0, 0, 0], [1, 0, 0], [0, 0, 0]]


def test_the_lower_triangle_is_taken_of_symmetric_patterns_alone() -> None:
    lower = PageRankParams(triangle="lower")
    graph = transition_matrix(PATH, lower)
    assert (graph.triangle, graph.dangling.tolist()) == ("lower", [0])
    assert graph.pull.to_scipy().toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert transition_matrix(TRIANGLE, lower).triangle == "full"
    assert pulled(TRIANGLE, lower) == pulled(TRIANGLE)
    assert pulled(dense([[1, 1], [1, 1]]), lower) == [[0, 1], [0, 0]]


def test_a_row_may_hold_the_links_to_its_page() -> None:
    target = PageRankParams(row="target")
    # Reversed: 1 → 0, 2 → 0, 2 → 1, 0 → 2.
    assert pulled(TRIANGLE, target) == [[0, 1, 0.5], [0, 0, 0.5], [1, 0, 0]]
    reverse = transition_matrix(TWO_PARTS, target)
    assert (reverse.dangling.tolist(), reverse.out_degrees.tolist()) == ([0, 2], [0, 2, 0, 1])
    assert pulled(PATH, PageRankParams(row="target", triangle="lower")) == pulled(
        PATH, PageRankParams(triangle="lower")
    )
    weighted = pulled(WEIGHTED, PageRankParams(row="target", weights="use"))
    assert weighted == [[0, 1, 1 / 6], [0, 0, 5 / 6], [1, 0, 0]]


@pytest.mark.parametrize("name", SQUARE)
@pytest.mark.parametrize("self_loops", ["keep", "drop"])
def test_every_page_with_links_hands_on_all_its_rank(name: str, self_loops: str) -> None:
    matrix = BATTERY[name]()
    graph = transition_matrix(matrix, parse_params(PageRankParams, {"self_loops": self_loops}))
    check_csr(*graph.pull.shape, graph.pull.indptr, graph.pull.indices, graph.pull.values)
    sources = np.repeat(np.arange(matrix.n_rows), np.diff(matrix.indptr))
    linked = np.zeros(matrix.shape, bool)
    linked[matrix.indices, sources] = True
    if self_loops == "drop":
        np.fill_diagonal(linked, val=False)
    np.testing.assert_array_equal(graph.pull.to_scipy().toarray() != 0.0, linked)
    np.testing.assert_array_equal(graph.out_degrees, linked.sum(axis=0))
    np.testing.assert_array_equal(graph.dangling, np.flatnonzero(~linked.any(axis=0)))
    handed = graph.pull.to_scipy().sum(axis=0)
    np.testing.assert_allclose(handed, linked.any(axis=0), rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (-1.0, r"from 1 to 0 .* has weight -1\.0"),
        (np.nan, "has weight nan"),
        (np.inf, "has weight inf"),
    ],
)
def test_what_is_no_weight_is_refused(value: float, message: str) -> None:
    matrix = coo(3, 3, [0, 1, 1], [1, 0, 2], [1.0, value, 2.0])
    with pytest.raises(ParameterError, match=message):
        transition_matrix(matrix, USE)
    assert pulled(matrix) == [[0, 0.5, 0], [1, 0, 0], [0, 0.5, 0]]


def test_weights_whose_sum_overflows_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"row 1 .* beyond the range of fp64"):
        transition_matrix(coo(2, 2, [1, 1], [0, 1], [1.7e308, 1.7e308]), USE)


def test_the_smallest_weights_are_shared_out() -> None:
    assert pulled(coo(2, 2, [0, 0], [0, 1], [5e-324, 5e-324]), USE) == [[0.5, 0], [0.5, 0]]


def test_a_rectangle_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"40 × 9000, but PageRank needs a square one.*bipartite"):
        transition_matrix(BATTERY["wide"](), DEFAULT)


@pytest.mark.parametrize(("dangling", "factor"), [("teleport", 0.85), ("ignore", 0.0), ("as printed", 1.0)])
def test_what_becomes_of_dangling_rank(dangling: str, factor: float) -> None:
    assert parse_params(PageRankParams, {"dangling": dangling}).dangling_factor == factor


@pytest.mark.parametrize("wrong", [{"damping": 1.01}, {"epsilon": -1e-9}, {"iterations_max": 0}, {"norm": "L3"}])
def test_parameters_have_bounds(wrong: dict[str, float | str]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        parse_params(PageRankParams, wrong)


def test_undirected_is_what_has_every_link_both_ways_and_no_page_without_one() -> None:
    both_ways, one_way = dense([[0, 1, 1], [1, 0, 0], [1, 0, 0]]), dense([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert transition_matrix(both_ways, PageRankParams()).undirected
    assert not transition_matrix(both_ways, PageRankParams(weights="use")).undirected
    assert not transition_matrix(both_ways, PageRankParams(triangle="lower")).undirected
    assert not transition_matrix(one_way, PageRankParams()).undirected
    assert not transition_matrix(dense([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), PageRankParams()).undirected


def test_pages_are_counted_by_the_links_to_them() -> None:
    # Page 0 has links from all four, page 1 from two, page 2 from one, page 3 from none.
    links = np.array([[1.0, 1, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    assert transition_matrix(CsrMatrix.from_scipy(links), PageRankParams()).link_counts == (1, 1, 1, 1)
    assert transition_matrix(CsrMatrix.from_scipy(np.zeros((3, 3))), PageRankParams()).link_counts == (3,)
