"""Runs that end by themselves: the iterations and the ranks of a run whose every γ the host looked at."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.errors import DeviceError
from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, transition_matrix
from gpu_engine.pagerank.kernels import KERNELS, RankKernel
from gpu_engine.parameters import parse_params

ENDING = [k for k in KERNELS if not k.segments and not k.refined and k.fused]
GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "web": ("web", {"n": 20_000, "mean": 3.0, "seed": 3, "max_length": 3000}),
    "road": ("road", {"length": 300, "width": 200, "kept": 0.6, "part": "lower", "values": "ones"}),
    "stencil": ("stencil", {"points": 9, "nx": 200, "ny": 150}),
}

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kernel", ENDING, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("most", [1000, 13])
def test_a_run_ends_where_the_host_would_end_it(kernel: RankKernel, graph: str, most: int) -> None:
    cupy = pytest.importorskip("cupy")
    family, fields = GRAPHS[graph]
    # Of 13 iterations all are needed for an ε that is not reached, and a run that is cut short is none to time.
    epsilon = 1e-5 if kernel.single else 1e-9
    params = parse_params(PageRankParams, {"epsilon": epsilon, "iterations_max": most})
    matrix = transition_matrix(generate(family, fields), params)
    own, stream = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    stream.use()
    try:
        ranks, schedule = kernel.ranks(matrix, params, cupy), kernel.schedule({})
        run = kernel.procedure.iterate(ranks, params, schedule)
        expected, rewind = ranks.ranks(), ranks.rewinder(schedule.first)
        ending = kernel.converging(ranks, run, params, cupy)
        if most == 13 and not run.converged:
            assert ending is None
            return
        assert ending is not None
        rewind()
        stream.begin_capture()
        ending.launch()
        captured = stream.end_capture()
        for _ in range(3):
            rewind()
            captured.launch(stream)
            made = ending.ended()
            # It may make more than needed where γ falls faster and faster, never fewer.
            assert len(run.gammas) <= made <= len(run.gammas) + 8
            if made == len(run.gammas):
                np.testing.assert_array_equal(ranks.ranks(), expected)
            else:
                assert np.abs(ranks.ranks() - expected).sum() < 10 * epsilon
    finally:
        own.use()


def test_what_is_not_captured_has_no_conditions() -> None:
    from gpu_engine.cuda.conditional import new_handle

    with pytest.raises(DeviceError, match="not captured"):
        new_handle(0)
