"""Ranks on a CPU, by value: against SciPy in fp64, masked bits in segments, ranks worked out by hand."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, Schedule, TransitionMatrix, reference, transition_matrix, verify
from gpu_engine.pagerank.cpu_ranks import FreeRanks, PlainRanks, SegmentedRanks
from gpu_engine.pagerank.run import PATIENCE, PLAIN, Ranks, Run, iterate, replayed
from gpu_engine.parameters import parse_params
from tests.gpu_engine.pagerank.emulated import cut, emulate
from tests.gpu_engine.pagerank.graphs import WORKED

Make = Callable[[TransitionMatrix, PageRankParams], Ranks]

PARAMS = PageRankParams()
FP64: dict[str, Make] = {
    "csr": lambda graph, params: PlainRanks(graph, params, "csr", np.float64),
    "ell": lambda graph, params: PlainRanks(graph, params, "ell", np.float64),
    "pattern": FreeRanks,
}
LAYOUTS = ("csr", "ell")


def schedule(segments: int, start_segments: int = 1) -> Schedule:
    return parse_params(Schedule, {"segments": segments, "start_segments": start_segments})


def web() -> CsrMatrix:
    """Dangling pages, and more rows than a strip has."""
    return generate("web", {"n": 3000, "mean": 3.0, "seed": 3})


@pytest.mark.parametrize("layout", FP64)
def test_fp64_goes_the_way_of_scipy(layout: str) -> None:
    matrix = web()
    graph = transition_matrix(matrix, PARAMS)
    assert graph.dangling.size > 100
    expected, gammas = reference(graph, PARAMS)
    ranks = FP64[layout](graph, PARAMS)
    run = iterate(ranks, PARAMS)
    np.testing.assert_allclose(run.gammas, gammas, rtol=1e-5)
    np.testing.assert_allclose(ranks.ranks(), expected, rtol=1e-13)
    assert (run.converged, set(run.read), set(run.written)) == (True, {2}, {2})


@pytest.mark.parametrize("layout", FP64)
@pytest.mark.parametrize("norm", ["L1", "L2", "Linf"])
def test_each_norm_is_that_of_the_change(layout: str, norm: str) -> None:
    params = parse_params(PageRankParams, {"norm": norm, "iterations_max": 2})
    graph = transition_matrix(web(), params)
    run = iterate(FP64[layout](graph, params), params)
    np.testing.assert_allclose(run.gammas, reference(graph, params)[1], rtol=1e-12)
    assert not run.converged


@pytest.mark.parametrize("layout", LAYOUTS)
def test_fp32_comes_as_near_as_its_bits(layout: str) -> None:
    params = PageRankParams(epsilon=1e-6)
    graph = transition_matrix(web(), params)
    ranks = PlainRanks(graph, params, layout, np.float32)
    assert iterate(ranks, params).converged
    assert 1e-9 < np.abs(ranks.ranks() - reference(graph, PARAMS)[0]).sum() < 1e-5


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("segments", "read", "write"),
    [(2, 1, 1), (2, 1, 2), (4, 1, 1), (4, 1, 2), (4, 2, 2), (4, 2, 3), (4, 3, 3), (4, 3, 4)],
)
def test_a_step_reads_and_writes_the_first_segments_and_no_more(
    layout: str, segments: int, read: int, write: int
) -> None:
    matrix = generate("stencil", {"points": 9, "nx": 37, "ny": 31})
    graph = transition_matrix(matrix, PARAMS)
    bits = 64 // segments
    start = cut(np.full(graph.n, 1.0 / graph.n), bits * read)
    pull = graph.pull
    values = cut(pull.values, bits * read)
    spread = scipy.sparse.csr_array((values, pull.indices, pull.indptr), shape=pull.shape) @ start
    expected = cut(PARAMS.damping * spread + (1.0 - PARAMS.damping) / graph.n, bits * write)
    ranks = SegmentedRanks(graph, PARAMS, layout, segments)
    ranks.reset(read)
    ranks.pull(read, write)
    ranks.norm()
    np.testing.assert_array_equal(ranks.ranks(), expected)
    assert ranks.gamma() == pytest.approx(np.abs(expected - start).sum(), rel=1e-12)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("segments", [2, 4])
def test_segments_find_the_ranks_of_fp64_by_the_emulated_schedule(layout: str, segments: int) -> None:
    matrix = web()
    graph = transition_matrix(matrix, PARAMS)
    expected, gammas = reference(graph, PARAMS)
    ranks = SegmentedRanks(graph, PARAMS, layout, segments)
    run = iterate(ranks, PARAMS, schedule(segments))
    assert run.written == emulate(graph, PARAMS, schedule(segments)).written
    assert len(run.gammas) <= len(gammas) + segments // 2
    found = verify(matrix, PARAMS, ranks.ranks(), expected)
    assert found.residual < PARAMS.epsilon
    assert found.mass_error < 1e-12
    assert found.distance is not None
    assert found.distance < 1.2e-9
    assert [step.transition for step in run.steps] == [r < w for r, w in zip(run.read, run.written, strict=True)]


@pytest.mark.parametrize("segments", [2, 4])
def test_a_transition_leaves_a_norm_of_one_and_counts_the_dangling_pages_anew(segments: int) -> None:
    graph = transition_matrix(web(), PARAMS)
    ranks = SegmentedRanks(graph, PARAMS, "csr", segments)
    ranks.reset(1)
    ranks.pull(1, 2)
    ranks.norm()
    assert ranks.ranks().sum() < 1 - 1e-9
    ranks.scale(2)
    if segments == 2:
        ranks.convert()
    p = ranks.ranks()
    cut_away = max(2.0 ** -(128 // segments - 13), 1e-13)
    assert p.sum() == pytest.approx(1.0, abs=cut_away)
    ranks.pull(2, 2)
    base = (1 - PARAMS.damping + PARAMS.damping * p[graph.dangling].sum()) / graph.n
    expected = PARAMS.damping * (graph.pull.to_scipy() @ p) + base
    np.testing.assert_allclose(ranks.ranks(), expected, rtol=4 * cut_away)


@pytest.mark.parametrize("segments", [2, 4])
@pytest.mark.parametrize(
    ("generator", "params"),
    [("web", {"n": 3000, "mean": 3.0, "seed": 3}), ("stencil", {"points": 27, "nx": 12, "ny": 11, "nz": 10})],
)
def test_short_exponents_read_fewer_bits_and_find_the_same_ranks(
    segments: int, generator: str, params: dict[str, Any]
) -> None:
    matrix = generate(generator, params)
    graph = transition_matrix(matrix, PARAMS)
    expected, gammas = reference(graph, PARAMS)
    plain, short = (
        (
            SegmentedRanks(graph, PARAMS, "csr", segments, own),
            parse_params(Schedule, {"segments": segments, "short": own}),
        )
        for own in (False, True)
    )
    runs = [iterate(ranks, PARAMS, own) for ranks, own in (plain, short)]
    assert runs[1].written == emulate(graph, PARAMS, short[1]).written
    assert len(runs[1].gammas) <= len(gammas) + segments // 2
    found = verify(matrix, PARAMS, short[0].ranks(), expected)
    assert (found.residual < PARAMS.epsilon, found.mass_error < 1e-12) == (True, True)
    assert found.distance is not None
    assert found.distance < 1.2e-9
    few = [sum(64 // segments * k for k in run.written) for run in runs]
    assert few[1] < 0.9 * few[0]
    # Of heads of 16 bits the first one no longer serves a single iteration.
    assert segments == 2 or (runs[0].written.count(1), runs[1].written.count(1) > 3) == (1, True)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("segments", [2, 4])
def test_a_second_run_is_the_first_one_again(layout: str, segments: int) -> None:
    graph = transition_matrix(web(), PARAMS)
    ranks = SegmentedRanks(graph, PARAMS, layout, segments)
    first = iterate(ranks, PARAMS, schedule(segments))
    p = ranks.ranks()
    again = iterate(ranks, PARAMS, schedule(segments))
    assert (again.gammas, again.written) == (first.gammas, first.written)
    np.testing.assert_array_equal(ranks.ranks(), p)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_segments_from_the_start_are_fp64(layout: str) -> None:
    graph = transition_matrix(web(), PARAMS)
    ranks, plain = SegmentedRanks(graph, PARAMS, layout, 2), PlainRanks(graph, PARAMS, layout, np.float64)
    assert iterate(ranks, PARAMS, schedule(2, start_segments=2)).gammas == iterate(plain, PARAMS, PLAIN).gammas
    np.testing.assert_array_equal(ranks.ranks(), plain.ranks())


@pytest.mark.parametrize("name", WORKED)
@pytest.mark.parametrize("layout", FP64)
def test_ranks_worked_out_by_hand(name: str, layout: str) -> None:
    worked = WORKED[name]
    graph = transition_matrix(worked.adjacency, worked.params)
    if layout == "pattern" and worked.params.weights == "use":
        return
    ranks = FP64[layout](graph, worked.params)
    run: Run = iterate(ranks, worked.params)
    np.testing.assert_allclose(ranks.ranks(), worked.ranks, rtol=0, atol=1e-14)
    assert run.converged


@pytest.mark.parametrize("name", WORKED)
@pytest.mark.parametrize("segments", [2, 4])
def test_segments_end_at_the_ranks_worked_out_by_hand(name: str, segments: int) -> None:
    # A sum of the ranks that is not 1 is lost whenever they are scaled: no run may end with that.
    worked = WORKED[name]
    ranks = SegmentedRanks(transition_matrix(worked.adjacency, worked.params), worked.params, "csr", segments)
    assert iterate(ranks, worked.params, schedule(segments)).converged
    np.testing.assert_allclose(ranks.ranks(), worked.ranks, rtol=0, atol=1e-9)


def test_a_run_that_its_precision_does_not_let_converge_gives_up() -> None:
    # The last bits of some ranks change in turn.
    graph = transition_matrix(generate("delaunay", {"n": 300, "seed": 2}), PARAMS)
    run = iterate(PlainRanks(graph, PARAMS, "csr", np.float32), PARAMS)
    assert not run.converged
    assert min(run.gammas) > PARAMS.epsilon
    best = int(np.argmin(run.gammas))
    assert len(run.gammas) == best + 1 + PATIENCE
    assert len(run.gammas) < PARAMS.iterations_max // 10


class Scripted:
    """Ranks whose γ is given; says what was done to them."""

    scales = True
    stored_bytes = 0

    def __init__(self, gammas: Sequence[float]) -> None:
        self._gammas = iter(gammas)
        self.done: list[tuple[Any, ...]] = []

    def reset(self, first: int = 1) -> None:
        self.done.append(("reset", first))

    def rewinder(self, first: int = 1) -> Callable[[], None]:
        return lambda: self.reset(first)

    def pull(self, read: int, write: int) -> None:
        self.done.append(("pull", read, write))

    def norm(self) -> None:
        self.done.append(("norm",))

    def gamma(self) -> float:
        return next(self._gammas)

    def scale(self, k: int) -> None:
        self.done.append(("scale", k))

    def convert(self) -> None:
        self.done.append(("convert",))

    def gather(self) -> None:
        return None

    def ranks(self) -> Any:
        return np.zeros(0)


def test_patience_counts_iterations_without_a_smaller_change() -> None:
    slow = [0.5, *[0.6] * (PATIENCE - 1), 0.4, *[0.4] * PATIENCE, 0.1]
    assert iterate(Scripted(slow), PARAMS).gammas == tuple(slow[:-1])


def test_patience_begins_anew_with_every_precision() -> None:
    # γ = 0 of cut values says nothing of full ones, which come there later than in PATIENCE iterations.
    full = [0.5 * 0.7**k for k in range(2 * PATIENCE)]
    params = PageRankParams(epsilon=full[-2])
    ranks = Scripted([0.5, 0.0, 0.6, *full])
    run = iterate(ranks, params, Schedule(raise_at=0.0))
    assert run.converged
    assert run.gammas == (0.5, 0.0, 0.6, *full)
    assert run.written == (1, 1, 2, *[2] * len(full))


def test_a_graph_whose_cut_ranks_stand_still_converges_after_all() -> None:
    graph = transition_matrix(generate("stencil", {"points": 9, "nx": 20, "ny": 20}), PARAMS)
    late = parse_params(Schedule, {"segments": 4, "raise_at": 0.0})
    run = iterate(SegmentedRanks(graph, PARAMS, "csr", 4), PARAMS, late)
    assert 0.0 in run.gammas[:PATIENCE]
    assert (run.converged, run.written) == (True, emulate(graph, PARAMS, late).written)


def test_what_is_replayed_are_the_acts_of_the_run_in_order() -> None:
    first = Scripted([0.5, 1e-3, 1e-8, 1e-11])
    near = parse_params(Schedule, {"segments": 4, "start_segments": 2, "raise_at": 1e5})
    run = iterate(first, PARAMS, near)
    # 1e5 · 2⁻²⁰ is over 1e-3 and under 0.5; 1e5 · 2⁻³⁶ is over 1e-8.
    assert first.done == [
        *[("reset", 2), ("pull", 2, 2), ("norm",)],
        *[("pull", 2, 2), ("norm",)],
        *[("pull", 2, 3), ("norm",), ("scale", 3)],
        *[("pull", 3, 4), ("norm",), ("scale", 4), ("convert",)],
    ]
    again = Scripted([])
    parts = list(replayed(again, near, run.steps))
    assert again.done == []
    assert [(number, phase) for number, phase, _ in parts] == [
        *[(0, "pull"), (0, "norm")],
        *[(1, "pull"), (1, "norm")],
        *[(2, "pull"), (2, "norm"), (2, "scale")],
        *[(3, "pull"), (3, "norm"), (3, "scale"), (3, "convert")],
    ]
    for _, _, act in parts:
        act()
    assert again.done == first.done[1:]
    # Where the next pull applies the factor nothing is launched, and there is no phase to time.
    again.scales = False
    assert {phase for _, phase, _ in replayed(again, near, run.steps)} == {"pull", "norm", "convert"}
