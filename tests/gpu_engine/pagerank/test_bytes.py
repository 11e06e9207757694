"""The bytes of an iteration against numbers worked out by hand."""

import dataclasses

import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.pagerank import PageRankParams, transition_matrix
from gpu_engine.pagerank.bytes import iteration_bytes
from gpu_engine.pagerank.kernels import KERNELS
from tests.gpu_engine.pagerank.graphs import NO_LINKS, TRIANGLE

KERNEL = {kernel.name: kernel for kernel in KERNELS}


# Three pages and four links: columns 4 · 4 and pointers 4 · 4 are 32 in CSR; the rest is values, then a page's
# rank read, rank written, and one byte that says whether it dangles, or four of its out-degree.
@pytest.mark.parametrize(
    ("precision", "read", "write", "expected"),
    [
        ("fp64", 2, 2, 32 + 4 * 8 + 3 * (8 + 8 + 1)),
        ("fp32", 2, 2, 32 + 4 * 4 + 3 * (4 + 4 + 1)),
        ("cpms2", 1, 1, 32 + 4 * 4 + 3 * (4 + 4 + 1)),
        ("cpms2", 1, 2, 32 + 4 * 4 + 3 * (4 + 8 + 1)),
        ("cpms2", 2, 2, 32 + 4 * 8 + 3 * (8 + 8 + 1)),
        ("cpms4", 1, 1, 32 + 4 * 2 + 3 * (2 + 2 + 1)),
        ("cpms4", 2, 3, 32 + 4 * 4 + 3 * (4 + 6 + 1)),
        ("cpms4", 4, 4, 32 + 4 * 8 + 3 * (8 + 8 + 1)),
        ("pattern", 2, 2, 32 + 3 * (8 + 8 + 4)),
        ("pattern-cpms2", 1, 1, 32 + 3 * (4 + 4 + 4)),
        ("pattern-cpms4", 1, 2, 32 + 3 * (2 + 4 + 4)),
    ],
)
def test_each_number_moves_once_in_the_segments_that_are_read_or_written(
    precision: str, read: int, write: int, expected: int
) -> None:
    graph = transition_matrix(TRIANGLE, PageRankParams())
    assert iteration_bytes(graph, KERNEL[f"csr/thread+{precision}"], read, write) == expected


# A page's out-degree, the correction that is gathered and the one that is written, its residual, of Chebyshev's passes
# the correction before; of a pass in fp64 its rank, the residual and the first correction.
@pytest.mark.parametrize(
    ("name", "read", "expected"),
    [
        ("sellp/thread+ir32", 1, 4 + 3 * 4),
        ("sellp/thread+ir32", 2, 4 + 8 + 2 * 4),
        ("sellp/thread+ir64", 1, 4 + 3 * 8),
        ("sellp/thread+ir64", 2, 4 + 8 + 2 * 8),
    ],
)
def test_a_refinement_moves_corrections_and_residuals(name: str, read: int, expected: int) -> None:
    graph = transition_matrix(TRIANGLE, PageRankParams())
    assert not graph.undirected
    assert iteration_bytes(graph, KERNEL[name], read, read) == 32 + 3 * expected
    both_ways = dataclasses.replace(graph, undirected=True)
    more = KERNEL[name].refined / 8 if read == 1 else 0
    assert iteration_bytes(both_ways, KERNEL[name], read, read) == 32 + 3 * (expected + more)


@pytest.mark.parametrize("precision", ["fp64", "fp32", "pattern"])
def test_without_segments_their_number_says_nothing(precision: str) -> None:
    graph, kernel = transition_matrix(TRIANGLE, PageRankParams()), KERNEL[f"csr/thread+{precision}"]
    assert len({iteration_bytes(graph, kernel, *step) for step in ((0, 0), (1, 2), (2, 2))}) == 1


def test_padding_does_not_count() -> None:
    matrix = CsrMatrix.from_scipy([[0, 1, 1, 1], [1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    graph = transition_matrix(matrix, PageRankParams())
    counts = {iteration_bytes(graph, KERNEL[f"{f}+fp64"], 2, 2) for f in ("csr/thread", "ell/thread", "split/tile")}
    assert counts == {4 * 6 + 8 * 6 + 4 * 5 + 4 * (8 + 8 + 1)}


def test_a_graph_without_links_moves_its_pages() -> None:
    graph = transition_matrix(NO_LINKS, PageRankParams())
    assert iteration_bytes(graph, KERNEL["csr/thread+fp64"], 2, 2) == 4 * 6 + 5 * (8 + 8 + 1)
