"""Runs that end by themselves: the iterations and the ranks of a run whose every γ the host looked at."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.errors import DeviceError
from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, iterations_by_segments, transition_matrix
from gpu_engine.pagerank.converging import Converging
from gpu_engine.pagerank.kernels import KERNELS, RankKernel
from gpu_engine.parameters import parse_params

NUMBERS = [k for k in KERNELS if not k.segments and not k.refined and k.fused]
SEGMENTS = [k for k in KERNELS if k.segments and k.fused]
GRAPHS: dict[str, tuple[str, dict[str, Any]]] = {
    "web": ("web", {"n": 20_000, "mean": 3.0, "seed": 3, "max_length": 3000}),
    "road": ("road", {"length": 300, "width": 200, "kept": 0.6, "part": "lower", "values": "ones"}),
    "stencil": ("stencil", {"points": 9, "nx": 200, "ny": 150}),
}
SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    *((graph, {}) for graph in GRAPHS),
    ("stencil", {"start_segments": 2}),
    ("stencil", {"raise_at": 1.0}),
    ("web", {"raise_at": 256.0}),
    ("road", {"stall_ratio": 0.7}),
]

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.fixture
def stream() -> Iterator[Any]:
    """A stream that is current and can be captured."""
    cupy = pytest.importorskip("cupy")
    own, stream = cupy.cuda.get_current_stream(), cupy.cuda.Stream(non_blocking=True)
    stream.use()
    yield stream
    own.use()


def captured(stream: Any, ending: Converging, rewind: Callable[[], None]) -> Any:
    """The graph of a run, once launched: a rewind takes what lies there for the end of a run."""
    rewind()
    stream.begin_capture()
    ending.launch()
    graph = stream.end_capture()
    graph.launch(stream)
    return graph


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("kernel", NUMBERS, ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("most", [1000, 13])
def test_a_run_ends_where_the_host_would_end_it(stream: Any, kernel: RankKernel, graph: str, most: int) -> None:
    cupy = pytest.importorskip("cupy")
    family, fields = GRAPHS[graph]
    # Of 13 iterations all are needed for an ε that is not reached, and a run that is cut short is none to time.
    epsilon = 1e-5 if kernel.single else 1e-9
    params = parse_params(PageRankParams, {"epsilon": epsilon, "iterations_max": most})
    matrix = transition_matrix(generate(family, fields), params)
    ranks, schedule = kernel.ranks(matrix, params, cupy), kernel.schedule({})
    run = kernel.procedure.iterate(ranks, params, schedule)
    expected, rewind = ranks.ranks(), ranks.rewinder(schedule.start_segments)
    ending = kernel.converging(ranks, run, params, cupy)
    if most == 13 and not run.converged:
        assert ending is None
        return
    assert ending is not None
    graph_of_run = captured(stream, ending, rewind)
    for _ in range(3):
        rewind()
        graph_of_run.launch(stream)
        (made,) = ending.ended()
        # It may make more than needed where γ falls faster and faster, never fewer.
        assert len(run.gammas) <= made <= len(run.gammas) + 8
        if made == len(run.gammas):
            np.testing.assert_array_equal(ranks.ranks(), expected)
        else:
            assert np.abs(ranks.ranks() - expected).sum() < 10 * epsilon


@pytest.mark.parametrize(("graph", "fields"), SCHEDULES)
@pytest.mark.parametrize(
    ("kernel", "converts"),
    [(k, converts) for k in SEGMENTS for converts in ((True,) if k.free else (True, False))],
    ids=lambda value: value.name if isinstance(value, RankKernel) else f"converts={value}",
)
def test_a_run_in_segments_makes_the_steps_of_the_host(
    stream: Any, kernel: RankKernel, converts: bool, graph: str, fields: dict[str, Any]
) -> None:
    cupy = pytest.importorskip("cupy")
    params = PageRankParams(epsilon=1e-9)
    matrix = transition_matrix(generate(*GRAPHS[graph]), params)
    ranks, schedule = kernel.ranks(matrix, params, cupy, converts), kernel.schedule(fields)
    run = kernel.procedure.iterate(ranks, params, schedule)
    expected, rewind = ranks.ranks(), ranks.rewinder(schedule.start_segments)
    assert run.converged
    ending = kernel.converging(ranks, run, params, cupy)
    assert ending is not None
    runs = captured(stream, ending, rewind)
    rewind()
    runs.launch(stream)
    made, late = ending.ended(), ending.look_always()
    if late:
        # In chunks it was late to see that it had to read more; now it looks after each iteration.
        assert made != iterations_by_segments(run.written, schedule)
        rewind = ranks.rewinder(schedule.start_segments)
        runs = captured(stream, ending, rewind)
    for _ in range(2):
        rewind()
        runs.launch(stream)
        assert ending.ended() == iterations_by_segments(run.written, schedule)
        assert not ending.look_always()
        np.testing.assert_array_equal(ranks.ranks(), expected)


@pytest.mark.parametrize("epsilon", [1e-3, 1e-5])
def test_a_run_may_end_before_all_segments_are_read(stream: Any, epsilon: float) -> None:
    cupy = pytest.importorskip("cupy")
    kernel = next(k for k in SEGMENTS if k.segments == 4)
    params = PageRankParams(epsilon=epsilon)
    matrix = transition_matrix(generate(*GRAPHS["web"]), params)
    ranks, schedule = kernel.ranks(matrix, params, cupy), kernel.schedule({"raise_at": 1.0})
    run = kernel.procedure.iterate(ranks, params, schedule)
    expected, rewind = ranks.ranks(), ranks.rewinder(schedule.start_segments)
    ending = kernel.converging(ranks, run, params, cupy)
    assert ending is not None
    assert run.written[-1] < schedule.segments
    runs = captured(stream, ending, rewind)
    rewind()
    runs.launch(stream)
    assert ending.ended() == iterations_by_segments(run.written, schedule)
    np.testing.assert_array_equal(ranks.ranks(), expected)


def test_what_is_not_captured_has_no_conditions() -> None:
    from gpu_engine.cuda.conditional import new_handle

    with pytest.raises(DeviceError, match="not being captured"):
        new_handle(0)
