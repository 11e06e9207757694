"""KERNELS: their names, where they run, and that each CPU kernel finds the ranks in the precision of its name."""

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, Schedule, reference, transition_matrix
from gpu_engine.pagerank.kernels import KERNELS, RankKernel, kernels_on
from gpu_engine.pagerank.run import PLAIN, iterate

PARAMS = PageRankParams()
STORED = ["fp64", "fp32", "cpms2", "cpms4"]
FREE = ["pattern", "pattern-cpms2", "pattern-cpms4"]
UNFUSED = ["unfused-fp64", "unfused-cpms2", "unfused-cpms4"]
SHORT = ["short-cpms2", "short-cpms4"]

ON_CPU = [f"csr/thread+{p}" for p in (*STORED, "pattern")] + [f"ell/thread+{p}" for p in STORED]
ON_CPU += [f"csr/thread+{p}" for p in SHORT]
ON_CUDA = [
    *(f"csr/thread+{precision}" for precision in (*STORED, *FREE, *UNFUSED)),
    *(f"ell/thread+{precision}" for precision in (*STORED, *UNFUSED)),
    *(f"sellp/thread+{precision}" for precision in (*STORED, *FREE)),
    *(f"split/tile+{precision}" for precision in (*STORED, *FREE)),
    *(f"{layout}+ir{bits}" for layout in ("sellp/thread", "split/tile") for bits in (32, 64)),
    *(f"csr/vector+{precision}" for precision in ("fp64", "cpms2", "cpms4")),
    *(f"{layout}+{p}" for layout in ("csr/thread", "ell/thread", "sellp/thread", "split/tile") for p in SHORT),
    *(f"{layout}+pattern-short-cpms2" for layout in ("sellp/thread", "split/tile")),
    *(f"{layout}+unfused-{p}" for layout in ("csr/thread", "ell/thread") for p in SHORT),
]


def web() -> CsrMatrix:
    """A graph with dangling pages."""
    return generate("web", {"n": 600, "mean": 3.0, "max_length": 100, "seed": 3})


def test_the_kernels_of_each_backend_in_the_order_of_the_list() -> None:
    assert [kernel.name for kernel in kernels_on("cpu")] == ON_CPU
    assert [kernel.name for kernel in kernels_on("cuda")] == ON_CUDA
    assert [kernel.name for kernel in KERNELS] == ON_CUDA


def test_kernels_are_chosen_by_name_in_the_order_of_the_list() -> None:
    chosen = kernels_on("cpu", ("ell/thread+fp32", "csr/thread+pattern", "csr/thread+pattern"))
    assert chosen == (RankKernel("csr/thread", free=True), RankKernel("ell/thread", single=True))


@pytest.mark.parametrize("name", ["csr/thread", "split/tile+fp64", "csr/thread+pattern-cpms2"])
def test_a_kernel_that_the_backend_has_not_is_refused_with_those_it_has(name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        kernels_on("cpu", ("csr/thread+fp64", name))
    listed = ", ".join(ON_CPU)
    assert caught.value.message == f"Unknown PageRank kernel '{name}' on cpu. Known kernels: {listed}."


def test_only_segments_have_a_schedule() -> None:
    fields = {"start_segments": 2, "raise_at": 4.0}
    assert RankKernel("csr/thread", segments=4).schedule(fields) == Schedule(4, 2, 4.0)
    assert RankKernel("csr/thread", segments=4, short=True).schedule(fields) == Schedule(4, 2, 4.0, short=True)
    for kernel in (
        RankKernel("csr/thread"),
        RankKernel("csr/thread", single=True),
        RankKernel("csr/thread", free=True),
    ):
        assert kernel.schedule(fields) is PLAIN


def test_the_mantissa_is_that_of_the_values_at_full_precision() -> None:
    bits = {kernel.precision: kernel.mantissa_bits for kernel in KERNELS}
    short = (*SHORT, "pattern-short-cpms2", *(f"unfused-{precision}" for precision in SHORT))
    assert bits == dict.fromkeys((*STORED, *FREE, *UNFUSED, "ir32", "ir64", *short), 52) | {"fp32": 23}


@pytest.mark.parametrize("kernel", kernels_on("cpu"), ids=lambda kernel: kernel.name)
def test_a_kernel_finds_the_ranks_in_the_precision_of_its_name(kernel: RankKernel) -> None:
    params = PageRankParams(epsilon=1e-6) if kernel.single else PARAMS
    graph = transition_matrix(web(), params)
    ranks = kernel.ranks(graph, params, np)
    run = iterate(ranks, params, kernel.schedule({}))
    assert run.converged
    # 43 bits are enough for ε: of four short segments the last one is not needed.
    four = {1, 2, 3} if kernel.short else {1, 2, 3, 4}
    assert set(run.written) == ({1, 2} if kernel.segments == 2 else four if kernel.segments else {2})
    distance = np.abs(ranks.ranks() - reference(graph, params)[0]).sum()
    low, high = (1e-9, 1e-6) if kernel.single else (1e-15, 1e-9) if kernel.segments else (0.0, 1e-14)
    assert low <= distance < high


@pytest.mark.parametrize("kernel", kernels_on("cpu"), ids=lambda kernel: kernel.name)
def test_a_kernel_stores_what_its_name_says(kernel: RankKernel) -> None:
    # Every page has 3 links in the pattern of the ring: ELL pads nothing.
    n = 64
    ring = sum(np.roll(np.eye(n), shift, axis=1) for shift in (1, 2, 5))
    graph = transition_matrix(CsrMatrix.from_scipy(ring), PARAMS)
    number = 4 if kernel.single else 8
    pointers = 0 if kernel.layout == "ell/thread" else graph.pull.indptr.itemsize * (n + 1)
    # Without values: the shares, and p over the out-degree, old and new.
    values = 3 * n * 8 if kernel.free else number * 3 * n
    assert kernel.ranks(graph, PARAMS, np).stored_bytes == pointers + 4 * 3 * n + values + 2 * number * n
