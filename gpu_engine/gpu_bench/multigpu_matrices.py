"""MULTIGPU_MATRICES: the large benchmark matrices of the study `scaling`."""

import math
from collections.abc import Iterator, Mapping

from gpu_engine.findings.scaling.paper import TABLE_2
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.recordings.files import collected, generated

SHARED_NNZ = 1_000_000_000
"""Nonzeros of a matrix; one GPU multiplies them in about three milliseconds."""

MEAN = 24.0
"""Mean row length of generated matrices."""

SKEWED_SHARE = 8
"""Factor by which the skewed matrix has fewer nonzeros, because its generation takes longest."""

RATIOS = range(1, 11)
"""Ratios of the row lengths, as in Figure 6 of the MSREP paper."""

RATIOS_NNZ = 100_000_000
"""Most nonzeros of a matrix with two row lengths: there are ten of them, and larger ones show nothing else."""

PAPER_NNZ = 28_000_000
"""Nonzeros of the reference results: no stand-in is smaller than the smallest matrix of the MSREP paper."""

PARTS_FACTOR = 4
"""Factor by which matrices that the devices generate have more nonzeros, up to SHARED_NNZ: they need no host memory."""

WEAK: Mapping[str, int] = {"half": 2, "quarter": 4}
"""Word in the name of a matrix for weak scaling → how many times fewer rows it has."""

LAWS: Mapping[str, tuple[float, float, int]] = {
    "mouse_gene": (1.19, 1.105, 8_032),
    "wb-edu": (1.0, 2.13, 25_781),
    "com-LiveJournal": (1.0, 2.37, 14_815),
    "hollywood-2009": (1.048, 1.92, 11_467),
    "com-Orkut": (1.038, 2.13, 33_313),
    "HV15R": (1.0, 3.09, 2_000),
}
"""Matrix of Table 2 → the power law of its stand-in: mean row length over that of the file, R, longest row.

Entries that are drawn twice count once, so the mean is higher than the result. `stand_ins` shows the results.
"""


def paper_matrices(nnz: int) -> Iterator[Subject]:
    """Yield the matrices of Table 2 of the MSREP paper, with stand-ins of a share of their rows.

    The share is a power of 1/2, so that a stand-in has `nnz` nonzeros to twice as many; 1 for smaller matrices.
    """
    for matrix in TABLE_2:
        factor, exponent, longest = LAWS[matrix.name]
        divisor = 1 << max(math.floor(math.log2(matrix.nnz / nnz)), 0)
        n, mean = max(matrix.n_rows // divisor, 64), factor * matrix.nnz / matrix.n_rows
        # In a small matrix rows cannot be as long as in a large one.
        law = {"n": n, "mean": min(mean, n / 8), "exponent": exponent, "max_length": min(longest, n)}
        stand_in = generated("powerlaw", law | {"columns": "powerlaw"})
        yield Subject(matrix.name, "shared paper", collected(matrix.collected), stand_in=stand_in)


def parts(nnz: int) -> Iterator[Subject]:
    """Yield a grid and a power law whose partitions the devices generate, then smaller ones for weak scaling."""
    side, n = _side(nnz), max(round(nnz / MEAN), 24)
    # A different grid from that of the host, because a recording has each matrix once.
    grid = {"points": 27, "nx": side, "ny": side, "nz": side + 1}
    yield Subject("space-27, parts", "shared parts", generated("stencil", grid))
    yield Subject("power-law, parts", "shared parts", generated("stratified", _law(n)))
    for name, times in WEAK.items():
        smaller = grid | {"nz": max((side + 1) // times, 1)}
        yield Subject(f"space-27-{name}, parts", "shared parts", generated("stencil", smaller))
        yield Subject(f"power-law-{name}, parts", "shared parts", generated("stratified", _law(max(n // times, 24))))


HEADS_PAGES, HEADS_MEAN, HEADS_NEAR = 2**25, 1.5, 1000
"""Pages of the graphs with few links, links per page, and the largest distance of local links in pages."""


def links(nnz: int) -> Iterator[Subject]:
    """Yield graphs whose exchange takes a large share of a PageRank iteration, scaled by nnz / SHARED_NNZ."""
    n = max(round(HEADS_PAGES * min(nnz / SHARED_NNZ, 1.0)), 64)
    graph = {"n": n, "mean": HEADS_MEAN, "max_length": 64, "values": "ones"}
    yield Subject("links-near", "shared links", generated("web", graph | {"local": 1.0, "host": HEADS_NEAR}))
    yield Subject("links-anywhere", "shared links", generated("powerlaw", graph | {"exponent": 2.2}))


SYSTEMS_NNZ = 100_000_000
"""Most nonzeros of a system, whose solution is verified on the host."""


def systems(nnz: int) -> Iterator[Subject]:
    """Yield symmetric positive definite grids for CG, with about `nnz` nonzeros or SYSTEMS_NNZ."""
    for points in (7, 27):
        side = round((min(nnz, SYSTEMS_NNZ) / points) ** (1 / 3))
        grid = {"points": points, "nx": side, "ny": side, "nz": side}
        yield Subject(f"space-{points}, system", "shared systems", generated("stencil", grid))


def multigpu_matrices(nnz: int) -> tuple[Subject, ...]:
    """Return the matrices of the study `scaling` with about `nnz` nonzeros.

    A grid in space, power-law rows, long rows first; two row lengths, one matrix per ratio; the matrices of the paper;
    grids and power laws whose partitions the devices generate; graphs with few links; and systems for CG.
    """
    side, rows, factor = _side(nnz), max(round(nnz / MEAN), 24), 16
    halves = {"n": max(round(min(nnz, RATIOS_NNZ) / MEAN), 50), "mean": MEAN}
    scale = max(round(math.log2(max(nnz // SKEWED_SHARE // factor, 2))), 1)
    return (
        Subject("space-27", "shared", generated("stencil", {"points": 27, "nx": side, "ny": side, "nz": side})),
        Subject("power-law", "shared", generated("powerlaw", _law(rows))),
        Subject("skewed", "shared skewed", generated("rmat", {"scale": scale, "edge_factor": factor})),
        *(Subject(f"two-level-{r}", "shared ratio", generated("two_level", halves | {"ratio": r})) for r in RATIOS),
        *paper_matrices(nnz),
        *parts(min(PARTS_FACTOR * nnz, SHARED_NNZ)),
        *links(nnz),
        *systems(nnz),
    )


def weak_divisor(subject: Subject) -> int:
    """Return how many times fewer rows a matrix has than the one that it is compared with; 1 for others."""
    return next((times for name, times in WEAK.items() if subject.name.endswith(f"-{name}, parts")), 1)


def _side(nnz: int) -> int:
    """Return the points per side of a cubic grid with about `nnz` nonzeros in its 27-point stencil."""
    return max(round(math.cbrt(nnz / 27)), 1)


def _law(n: int) -> dict[str, float]:
    """Return the parameters of `n` power-law rows."""
    return {"n": n, "mean": MEAN, "exponent": 2.1, "max_length": min(n, 5000)}


MULTIGPU_MATRICES = multigpu_matrices(SHARED_NNZ)
"""Large matrices of the study `scaling`."""
