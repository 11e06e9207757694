"""UnfusedRanks: what is launched, on which precision, and where the ranks and values end; kernels are NumPy's here."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import generate
from gpu_engine.pagerank import PageRankParams, Schedule, reference, transition_matrix, unfused
from gpu_engine.pagerank.cpu_ranks import PlainRanks, SegmentedRanks
from gpu_engine.pagerank.cuda_pulls import pointer_of
from gpu_engine.pagerank.kernels import KERNELS, RankKernel
from gpu_engine.pagerank.run import iterate, replayed
from gpu_engine.pagerank.unfused import UnfusedRanks
from gpu_engine.parameters import parse_params
from tests.gpu_engine.pagerank.emulated import emulate
from tests.gpu_engine.pagerank.graphs import WORKED
from tests.gpu_engine.pagerank.launches import NumpySource

PARAMS = PageRankParams()
WEB = transition_matrix(generate("web", {"n": 700, "mean": 3.0, "max_length": 60, "seed": 3}), PARAMS)
LAYOUTS = pytest.mark.parametrize("layout", ["csr/thread", "ell/thread"])
SEGMENTS = pytest.mark.parametrize("segments", [2, 4])


@pytest.fixture
def source(monkeypatch: pytest.MonkeyPatch) -> NumpySource:
    found = NumpySource()
    monkeypatch.setattr(unfused, "source_of", lambda *_: found)
    return found


def kinds(names: list[str], kernel: str) -> list[str]:
    """The types that a kernel was launched with, one after the other."""
    return [name.partition("<")[2][:-1] for name in names if name.startswith(kernel)]


@LAYOUTS
@SEGMENTS
def test_segments_take_the_iterations_of_the_paper(source: NumpySource, layout: str, segments: int) -> None:
    schedule = parse_params(Schedule, {"segments": segments})
    ranks: Any = UnfusedRanks(WEB, PARAMS, layout, segments, np)
    run, expected = iterate(ranks, PARAMS, schedule), emulate(WEB, PARAMS, schedule)
    assert (run.written, run.converged) == (expected.written, True)
    np.testing.assert_allclose(run.gammas, expected.gammas, rtol=1e-6, atol=1e-15)
    np.testing.assert_allclose(ranks.ranks(), expected.p, rtol=1e-9)
    # A run after it finds its segments again.
    assert iterate(ranks, PARAMS, schedule).gammas == run.gammas


@LAYOUTS
@pytest.mark.parametrize("norm", ["L1", "L2", "Linf"])
def test_fp64_goes_the_way_of_the_reference(source: NumpySource, layout: str, norm: str) -> None:
    params = parse_params(PageRankParams, {"norm": norm})
    ranks: Any = UnfusedRanks(WEB, params, layout, 0, np)
    run, (expected, gammas) = iterate(ranks, params), reference(WEB, params)
    np.testing.assert_allclose(run.gammas, gammas, rtol=1e-4)
    np.testing.assert_allclose(ranks.ranks(), expected, rtol=1e-12)
    assert not kinds(source.launched, "scale_ranks")


@SEGMENTS
def test_everything_is_fp64_from_full_precision_on(source: NumpySource, segments: int) -> None:
    ranks: Any = UnfusedRanks(WEB, PARAMS, "csr/thread", segments, np)
    run = iterate(ranks, PARAMS, parse_params(Schedule, {"segments": segments}))
    raised = run.written.index(segments)
    products = kinds(source.launched, "csr_thread")
    below, whole = f"Head<{segments}, {segments - 1}>", f"Head<{segments}, {segments}>"
    # The last change of precision still writes segments: they are scaled, then joined in place.
    assert products[raised].endswith(f"{below}, {below}, {whole}")
    assert {name.partition(", ")[2] for name in products[raised + 1 :]} == {"Fp64, Fp64, Fp64"}
    assert kinds(source.launched, "scale_ranks") == [f"{segments}, {k}, Ieee" for k in range(2, segments + 1)]
    stored = ranks._stored
    np.testing.assert_array_equal(stored.values[: WEB.pull.nnz], WEB.pull.values)
    np.testing.assert_array_equal(stored.p[: WEB.n], ranks.ranks())


def test_what_stays_in_segments_is_read_from_all_of_them(source: NumpySource) -> None:
    ranks: Any = UnfusedRanks(WEB, PARAMS, "csr/thread", 4, np, convert=False)
    run = iterate(ranks, PARAMS, Schedule(4))
    assert kinds(source.launched, "csr_thread")[-1].endswith("Head<4, 4>, Head<4, 4>, Head<4, 4>")
    assert np.abs(ranks.ranks() - reference(WEB, PARAMS)[0]).sum() < 1.2e-9
    assert run.converged


@pytest.mark.parametrize("convert", [True, False])
def test_a_schedule_may_begin_with_all_segments(source: NumpySource, convert: bool) -> None:
    ranks: Any = UnfusedRanks(WEB, PARAMS, "csr/thread", 2, np, convert=convert)
    run = iterate(ranks, PARAMS, Schedule(2, start_segments=2))
    assert set(run.written) == {2}
    np.testing.assert_allclose(ranks.ranks(), reference(WEB, PARAMS)[0], rtol=1e-12)


@SEGMENTS
def test_a_run_can_be_replayed(source: NumpySource, segments: int) -> None:
    schedule = parse_params(Schedule, {"segments": segments})
    ranks: Any = UnfusedRanks(WEB, PARAMS, "csr/thread", segments, np)
    run = iterate(ranks, PARAMS, schedule)
    expected, rewind = ranks.ranks(), ranks.rewinder(schedule.start_segments)
    for _ in range(2):
        rewind()
        for _, _, act in replayed(ranks, schedule, run.steps):
            act()
        np.testing.assert_array_equal(ranks.ranks(), expected)


@pytest.mark.parametrize("name", WORKED)
@pytest.mark.parametrize("segments", [0, 2, 4])
def test_ranks_worked_out_by_hand(source: NumpySource, name: str, segments: int) -> None:
    worked = WORKED[name]
    graph = transition_matrix(worked.adjacency, worked.params)
    ranks: Any = UnfusedRanks(graph, worked.params, "csr/thread", segments, np)
    schedule = next(k for k in KERNELS if k.segments == segments).schedule({})
    assert iterate(ranks, worked.params, schedule).converged
    np.testing.assert_allclose(ranks.ranks(), worked.ranks, rtol=0, atol=1e-9 if segments else 1e-14)


@SEGMENTS
def test_as_many_bytes_as_on_a_cpu(source: NumpySource, segments: int) -> None:
    csr, ell = UnfusedRanks(WEB, PARAMS, "csr/thread", segments, np), UnfusedRanks(WEB, PARAMS, "ell/thread", 0, np)
    assert csr.stored_bytes == SegmentedRanks(WEB, PARAMS, "csr", segments).stored_bytes
    assert ell.stored_bytes == PlainRanks(WEB, PARAMS, "ell", np.float64).stored_bytes


@pytest.mark.parametrize("kernel", [k for k in KERNELS if not k.fused], ids=lambda kernel: kernel.name)
@pytest.mark.parametrize("convert", [True, False])
def test_every_launch_is_of_a_kernel_that_is_compiled(
    monkeypatch: pytest.MonkeyPatch, kernel: RankKernel, convert: bool
) -> None:
    compiled = unfused.source_of(kernel.layout, kernel.segments, pointer_of(WEB.pull), kernel.short).instantiations
    source = NumpySource()
    monkeypatch.setattr(unfused, "source_of", lambda *_: source)
    iterate(kernel.ranks(WEB, PARAMS, np, convert), PARAMS, kernel.schedule({}))
    assert set(source.launched) <= set(compiled)
