"""Launch shapes of one thread a page: by the layout, the mean of the links, and the segments that are read."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.cuda.load import CudaSource
from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, cuda_pulls, transition_matrix
from gpu_engine.pagerank.cuda_pulls import CsrPull, EllPull, types_of
from gpu_engine.pagerank.launch_shapes import CSR_BLOCKS, CSR_THREADS, ELL_THREADS, WHOLE, segments_of_values
from gpu_engine.pagerank.products import Product, products_in

XP: Any = np


def graph(points: int, nz: int = 1) -> Any:
    return transition_matrix(generate("stencil", {"points": points, "nx": 32, "ny": 32, "nz": nz}), PageRankParams())


def test_the_tables_have_the_segments_of_all_runs_and_products() -> None:
    runs = {
        segments_of_values(types[0])
        for storage, short in ((2, False), (4, False), (2, True), (4, True))
        for types in types_of(storage, False, short)
    }
    products = {segments_of_values(product.types) for product in products_in(("128", "separate"))}
    assert runs == products == set(CSR_BLOCKS) == set(ELL_THREADS)


@pytest.mark.parametrize(
    ("types", "segments"),
    [
        ("Head<4, 3>, Head<4, 3>, Fp64", (4, 3)),
        ("Head<2, 1, Short>, Head<2, 1, Short>, Head<2, 2, Short>", (2, 1)),
        ("Fp64, Fp64, Fp64", WHOLE),
        ("None, Head<4, 3>, Head<4, 3>", WHOLE),
        (Product().types, WHOLE),
        (Product(4, 3).types, (4, 3)),
        (Product(4, 2, "A", "separate").types, (4, 2)),
        (Product(4, 2, "p").types, WHOLE),
    ],
)
def test_the_segments_of_the_values_count_not_those_of_the_ranks(types: str, segments: tuple[int, int]) -> None:
    assert segments_of_values(types) == segments


@pytest.mark.parametrize(("points", "long"), [(5, False), (27, True)])
def test_blocks_in_csr(monkeypatch: pytest.MonkeyPatch, points: int, long: bool) -> None:
    monkeypatch.setitem(CSR_BLOCKS, WHOLE, (60, 30))
    monkeypatch.setitem(CSR_BLOCKS, (4, 3), (3, 2))
    of = graph(points, 32 if long else 1)
    pull = CsrPull(of, XP, False)
    for types in ("Head<4, 3>, Head<4, 3>, Fp64", Product(4, 3).types):
        assert pull.blocks(types) == (2 if long else 3)
    most = -(-of.n // CSR_THREADS)
    for types in ("Fp64, Fp64, Fp64", "None, Head<4, 3>, Head<4, 3>", Product().types):
        assert pull.blocks(types) == min(most, 30 if long else 60)


def test_threads_in_ellpack(monkeypatch: pytest.MonkeyPatch) -> None:
    launches: list[tuple[int, int]] = []
    monkeypatch.setitem(ELL_THREADS, (4, 3), 64)

    def function(source: CudaSource, name: str) -> Any:
        return lambda grid, block, arguments: launches.append((grid[0], block[0]))

    monkeypatch.setattr(CudaSource, "function", function)
    pull = EllPull(graph(5), XP, False)
    for types in ("Head<4, 3>, Head<4, 3>, Fp64", Product(4, 3).types, Product().types):
        pull.launch(cuda_pulls.source_of("ell/thread", 4, False, "int"), types, pull.values, ())
    assert launches == [(16, 64), (16, 64), (8, 128)]
