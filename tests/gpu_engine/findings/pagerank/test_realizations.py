import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.layouts import layout_gains
from gpu_engine.findings.pagerank.realizations import CSR, ELL, graph_runs, realizations
from gpu_engine.findings.pagerank.runs import Run
from gpu_engine.findings.pagerank.shares import CHANGE, precision_shares
from tests.samples.pagerank import CHANGE_S, PULL_S, SETTLE_S, luxembourg, ran, shown

UNFUSED = tuple(ran(f"csr/thread+unfused-{p}", n) for p, n in (("fp64", 113), ("cpms2", (47, 66))))


def test_the_papers_kernels_are_drawn_and_fused_ones_only_on_a_device_without() -> None:
    both = shown(*luxembourg("cuda:0"), *UNFUSED, *luxembourg(matrix="del"))
    assert [(r.group.device, r.kernels) for r in realizations(both) if r.runs] == [
        ("cuda:0", "csr, fused"),
        ("cpu", "csr"),
    ]
    assert [r.kernels for r in realizations(shown(*luxembourg())) if r.runs] == ["csr, fused"]


def test_iterations_are_counted_where_all_three_ran_csr_and_unfused_first() -> None:
    (graph,) = graph_runs(shown(*luxembourg(), *UNFUSED))
    assert graph.complete is graph.fused[CSR]
    (graph,) = graph_runs(shown(*luxembourg(), *UNFUSED, ran("csr/thread+unfused-cpms4", (1, 46, 61, 5))))
    assert graph.complete is graph.unfused[CSR]
    assert graph.unfused[ELL].runs == ()
    (graph,) = graph_runs(shown(*UNFUSED))
    assert graph.complete is None
    assert graph_runs(StudyData()) == ()


def test_shares_are_of_the_bits_that_iterations_write() -> None:
    m, trace = ran("csr/thread+unfused-cpms2", (47, 66))
    total = 48 * PULL_S[32] + 65 * PULL_S[64] + 113 * SETTLE_S + 2 * CHANGE_S
    assert precision_shares(Run(m, trace)) == {
        CHANGE: pytest.approx(2 * CHANGE_S / total),
        32: pytest.approx(47 * (PULL_S[32] + SETTLE_S) / total),
        64: pytest.approx((PULL_S[32] + 65 * PULL_S[64] + 66 * SETTLE_S) / total),
    }
    plain = Run(*ran("csr/thread+fp64", 113))
    assert precision_shares(plain) == {CHANGE: 0.0, 64: pytest.approx(1.0)}
    assert precision_shares(Run(m)) == {}


def test_other_layouts_are_held_against_the_faster_of_the_papers() -> None:
    times = {"csr/thread+fp64": 1.0, "ell/thread+fp64": 0.8, "sellp/thread+fp64": 0.5, "split/tile+fp64": 0.4}
    runs = [ran(kernel, 113, time) for kernel, time in times.items()]
    fewer = [ran(kernel, 28, time, matrix="del") for kernel, time in times.items() if "split" not in kernel]
    lower = [ran(kernel, 28, time, matrix="low", axes=(("triangle", "lower"),)) for kernel, time in times.items()]
    (gain,) = layout_gains(shown(*runs, *fewer, *lower))
    assert (gain.device, gain.graphs) == ("cpu", 2)
    assert gain.speedup == pytest.approx((2.0 * 1.6) ** 0.5)
    assert layout_gains(shown(*runs[:2])) == layout_gains(StudyData()) == ()
