"""MULTIGPU_MATRICES: the large benchmark matrices of the study `scaling`."""

import math
from collections.abc import Iterator

from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.recordings.files import collected, generated

SHARED_NNZ = 1_000_000_000
"""Nonzeros of a matrix; one GPU multiplies them in about three milliseconds."""

SKEWED_SHARE = 8
"""Factor by which the skewed matrix has fewer nonzeros, because its generation takes longest."""

RATIOS, RATIO_SHARE = (1, 2, 3, 5, 10), 4
"""Ratios of the row lengths, as in Figure 6 of the MSREP paper, and the factor by which each has fewer nonzeros."""


PAPER_MATRICES: tuple[tuple[str, int, float, float, int], ...] = (
    ("Belcastro/mouse_gene", 45_101, 642.4, 1.03, 8_032),
    ("Gleich/wb-edu", 9_845_725, 5.8, 2.13, 25_781),
    ("SNAP/com-LiveJournal", 3_997_962, 17.3, 2.40, 14_815),
    ("LAW/hollywood-2009", 1_139_905, 99.9, 1.92, 11_467),
    ("SNAP/com-Orkut", 3_072_441, 76.3, 2.13, 33_313),
    ("Fluorem/HV15R", 2_017_169, 140.3, 3.09, 484),
)
"""Table 2 of the MSREP paper: name in the collection, rows, mean row length, R, approximate longest row."""


def paper_matrices(nnz: int) -> Iterator[Subject]:
    """Yield the matrices of Table 2 of the MSREP paper, with power-law stand-ins scaled by nnz / SHARED_NNZ."""
    size = min(nnz / SHARED_NNZ, 1.0)
    for name, rows, mean, exponent, longest in PAPER_MATRICES:
        n = max(round(rows * size), 64)
        # In a small matrix rows cannot be as long as in a large one.
        law = {"n": n, "mean": min(mean, n / 8), "exponent": exponent, "max_length": min(longest, n)}
        stand_in = generated("powerlaw", law | {"columns": "powerlaw"})
        yield Subject(name.partition("/")[2], "shared paper", collected(name), stand_in=stand_in)


HEADS_PAGES, HEADS_MEAN, HEADS_NEAR = 2**25, 1.5, 1000
"""Pages of the graphs with few links, links per page, and the largest distance of local links in pages."""


def links(nnz: int) -> Iterator[Subject]:
    """Yield graphs whose exchange takes a large share of a PageRank iteration, scaled by nnz / SHARED_NNZ."""
    n = max(round(HEADS_PAGES * min(nnz / SHARED_NNZ, 1.0)), 64)
    graph = {"n": n, "mean": HEADS_MEAN, "max_length": 64, "values": "ones"}
    yield Subject("links-near", "shared links", generated("web", graph | {"local": 1.0, "host": HEADS_NEAR}))
    yield Subject("links-anywhere", "shared links", generated("powerlaw", graph | {"exponent": 2.2}))


def multigpu_matrices(nnz: int) -> tuple[Subject, ...]:
    """Return the matrices of the study `scaling` with about `nnz` nonzeros.

    A grid in space, power-law rows, long rows first; two row lengths, one matrix per ratio; the matrices of the paper
    in this size; grid and power law whose partitions the devices generate; and graphs with few links.
    """
    side, mean, factor = max(round((nnz / 27) ** (1 / 3)), 1), 24.0, 16
    rows = max(round(nnz / mean), 24)
    law = {"n": rows, "mean": mean, "exponent": 2.1, "max_length": min(rows, 5000)}
    halves = {"n": max(round(nnz / RATIO_SHARE / mean), 50), "mean": mean}
    scale = max(round(math.log2(max(nnz // SKEWED_SHARE // factor, 2))), 1)
    grid = {"points": 27, "nx": side, "ny": side, "nz": side}
    return (
        Subject("space-27", "shared", generated("stencil", grid)),
        Subject("power-law", "shared", generated("powerlaw", law)),
        Subject("skewed", "shared skewed", generated("rmat", {"scale": scale, "edge_factor": factor})),
        *(Subject(f"two-level-{r}", "shared ratio", generated("two_level", halves | {"ratio": r})) for r in RATIOS),
        *paper_matrices(nnz),
        # A different grid from that of the host, because a recording has each matrix once.
        Subject("space-27, parts", "shared parts", generated("stencil", grid | {"nz": side + 1})),
        Subject("power-law, parts", "shared parts", generated("stratified", law)),
        *links(nnz),
    )


MULTIGPU_MATRICES = multigpu_matrices(SHARED_NNZ)
"""Large matrices of the study `scaling`."""
