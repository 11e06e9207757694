"""How many blocks one thread a page of CSR is launched with: by the mean of the links and by the segments read."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, cuda_pulls, transition_matrix
from gpu_engine.pagerank.cuda_pulls import BLOCKS_BY_SEGMENTS, CSR_BLOCK, CsrPull, types_of


def test_all_types_of_values_in_segments_have_their_number() -> None:
    kinds = {types[0] for storage in (2, 4) for types in types_of(storage, False)} - {"Fp64"}
    assert set(BLOCKS_BY_SEGMENTS) == kinds


@pytest.mark.parametrize(("points", "long"), [(5, False), (27, True)])
def test_the_segments_of_the_values_decide(monkeypatch: pytest.MonkeyPatch, points: int, long: bool) -> None:
    monkeypatch.setattr(cuda_pulls, "CSR_BLOCKS", (60, 30))
    monkeypatch.setitem(BLOCKS_BY_SEGMENTS, "Head<4, 3>", (3, 2))
    grid = {"nx": 32, "ny": 32} | ({"nz": 32} if long else {})
    graph = transition_matrix(generate("stencil", {"points": points, **grid}), PageRankParams())
    xp: Any = np
    pull = CsrPull(graph, xp, False)
    assert pull.blocks("Head<4, 3>, Head<4, 3>, Fp64") == (2 if long else 3)
    most = -(-graph.n // CSR_BLOCK)
    for types in ("Fp64, Fp64, Fp64", "None, Head<4, 3>, Head<4, 3>"):
        assert pull.blocks(types) == min(most, 30 if long else 60)
