"""cuGraph with a library in Python in its place: what it is asked, when it is right, and what its records say."""

import dataclasses
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.sparse

from gpu_engine.competitors import cugraph
from gpu_engine.competitors.cugraph import NOT_INSTALLED, CugraphRanks, loosest_tolerance
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceMemoryError, KernelError, ParameterError
from gpu_engine.generators import generate
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench, open_bench
from gpu_engine.pagerank import PageRankParams, reference, transition_matrix
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.pagerank.run import PLAIN
from gpu_engine.records import BandwidthPoint, Case, DeviceProfile, Measurement
from gpu_engine.sampling.run import SampleRun
from gpu_engine.studies.pagerank.experiment import PageRankExperiment
from gpu_engine.studies.pagerank.graph_runs import PageRankPlan

FAST = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "")
PARAMS = PageRankParams()
OURS = Case("m", "csr/thread+fp64", "warm")
TOLERANCE_EPSILON, TOLERANCE_VERIFIED = (
    Case("m", "cugraph", "warm", (("tolerance", how),)) for how in ("epsilon", "verified")
)


class Library:
    """What pylibcugraph is asked; `looser`: how many times its tolerance a last change may be, unlike ours."""

    __version__ = "26.10.00"

    def __init__(self) -> None:
        self.looser, self.calls, self.stream = 1.0, 0, "ours"
        self.error: Exception | None = None
        self.wrong, self.doubts = 0.0, False

    def ResourceHandle(self) -> str:  # noqa: N802
        return "handle"

    def GraphProperties(self, is_symmetric: bool, is_multigraph: bool) -> tuple[bool, bool]:  # noqa: N802
        return is_symmetric, is_multigraph

    def SGGraph(  # noqa: N802
        self,
        handle: str,
        properties: Any,
        sources: Any,
        targets: Any,
        weight_array: Any,
        vertices_array: Any,
        store_transposed: bool,
        renumber: bool,
        do_expensive_check: bool,
    ) -> Any:
        assert (handle, properties, self.stream) == ("handle", (False, False), "default")
        assert (store_transposed, renumber, do_expensive_check) == (True, True, False)
        assert (sources.dtype, targets.dtype, weight_array.dtype) == (np.int32, np.int32, np.float64)
        n = vertices_array.size
        return scipy.sparse.coo_array((weight_array, (targets, sources)), shape=(n, n)).tocsr()

    def pagerank(
        self,
        handle: str,
        links: Any,
        *nothing: None,
        alpha: float,
        epsilon: float,
        max_iterations: int,
        do_expensive_check: bool,
        fail_on_nonconvergence: bool,
    ) -> tuple[Any, Any, bool]:
        assert (nothing, self.stream) == ((None,) * 4, "default")
        assert not do_expensive_check
        assert not fail_on_nonconvergence
        if self.error:
            raise self.error
        self.calls += 1
        n = links.shape[0]
        out, p, count, change = links.sum(axis=0), np.full(n, 1 / n), 0, np.inf
        while count < max_iterations and not change < self.looser * epsilon:
            shares = np.divide(p, out, out=np.zeros(n), where=out > 0)
            new = alpha * (links @ shares) + (1 - alpha + alpha * p[out == 0].sum()) / n
            count, change, p = count + 1, np.abs(new - p).sum(), new
        order = np.arange(n)[::-1]
        # It doubts what has come under ε in the last iteration that it may make.
        sure = bool(change < self.looser * epsilon) and count < max_iterations and not self.doubts
        return order, p[order] * (1 + self.wrong), sure


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    """pylibcugraph, its pool, and NumPy as CuPy with a default stream."""
    library = Library()
    streams = {
        name: SimpleNamespace(use=lambda name=name: setattr(library, "stream", name), synchronize=lambda: None)
        for name in ("ours", "default")
    }
    cuda = SimpleNamespace(
        get_current_stream=lambda: streams[library.stream], Stream=SimpleNamespace(null=streams["default"])
    )
    pools: list[int] = []
    memory = SimpleNamespace(
        CudaAsyncMemoryResource=lambda release_threshold: release_threshold, set_current_device_resource=pools.append
    )
    fakes = {
        "pylibcugraph": library,
        "rmm": SimpleNamespace(mr=memory),
        "cupy": SimpleNamespace(cuda=cuda, asarray=np.asarray, asnumpy=np.asarray, ones=np.ones),
    }
    for name, fake in fakes.items():
        monkeypatch.setitem(sys.modules, name, fake)
    cugraph._library.cache_clear()
    yield library
    cugraph._library.cache_clear()
    assert pools in ([], [cugraph.POOL_BYTES])


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with open_bench(dataclasses.replace(find_device("cpu"), cache_bytes=2**20), FAST) as opened:
        yield opened


def web() -> CsrMatrix:
    """A graph with dangling pages, and pages without any link."""
    return generate("web", {"n": 400, "mean": 3.0, "max_length": 50, "seed": 3})


def measured(bench: Bench, params: PageRankParams = PARAMS) -> dict[str, Measurement]:
    """By the key of its case: one kernel of ours, and the library in both ways."""
    plan = PageRankPlan(params, {OURS.key: (RankKernel("csr/thread"), PLAIN, True)}, 9, 0.0, 5)
    records = SampleRun(PageRankExperiment(plan, (OURS, TOLERANCE_EPSILON, TOLERANCE_VERIFIED), web(), bench)).records()
    return {r.case: r for r in records if isinstance(r, Measurement)}


def test_its_ranks_are_those_of_the_reference_in_the_order_of_the_pages(library: Library) -> None:
    graph = transition_matrix(web(), PARAMS)
    ranks = CugraphRanks(graph, PARAMS)
    expected, gammas = reference(graph, PARAMS)
    p, converged = ranks.ranks(PARAMS.epsilon, 1000)
    np.testing.assert_allclose(p, expected, rtol=1e-12)
    assert (converged, library.stream) == (True, "ours")
    assert ranks.iterations(PARAMS.epsilon, 1000) == len(gammas)
    assert ranks.iterations(PARAMS.epsilon, 5) == 5
    assert ranks.environment == {"cuGraph": "26.10.00"}


def test_a_library_with_our_rule_is_told_epsilon_in_both_cases(bench: Bench, library: Library) -> None:
    found = measured(bench)
    ours = found[OURS.key].details
    for case in (TOLERANCE_EPSILON, TOLERANCE_VERIFIED):
        m = found[case.key]
        assert (m.state, m.note, m.details.tolerance) == ("ok", "", 1e-10)
        assert (m.details.iterations, m.details.links) == (ours.iterations, ours.links)
        assert m.details.dangling_pages == ours.dangling_pages
        assert m.details.residual < 1e-10
        assert m.details.distance < 1e-12
        assert m.details.top_pages == ours.top_pages
        assert (m.environment["cuGraph"], m.median_s is not None, m.roofline_s is not None) == ("26.10.00", True, True)


def test_a_looser_rule_is_unconverged_when_told_and_right_when_sought(bench: Bench, library: Library) -> None:
    library.looser = 300.0
    found = measured(bench)
    told, sought = found[TOLERANCE_EPSILON.key], found[TOLERANCE_VERIFIED.key]
    assert (told.state, told.details.tolerance) == ("unconverged", 1e-10)
    assert told.note == f"the residual is {told.details.residual:.3g}, not under ε"
    assert told.median_s
    assert (sought.state, sought.note) == ("ok", "")
    # 300 times its tolerance is under ε from 1/300 on; three halvings come within 10^(1/8).
    assert 1e-10 / 300 / 10**0.125 < sought.details.tolerance < 1e-10 / 100
    assert sought.details.residual < 1e-10
    assert sought.details.iterations > told.details.iterations


def test_too_few_iterations_are_said_in_the_record(bench: Bench, library: Library) -> None:
    found = measured(bench, PageRankParams(iterations_max=3))
    told = found[TOLERANCE_EPSILON.key]
    assert (told.state, told.details.iterations) == ("unconverged", 3)
    assert told.note.endswith("did not converge in 3 iterations")
    assert (found[TOLERANCE_VERIFIED.key].state, found[TOLERANCE_VERIFIED.key].median_s) == ("failed", None)
    assert found[TOLERANCE_VERIFIED.key].note.startswith("The residual stays above ε = 1e-10")


def test_ranks_that_the_library_itself_doubts_do_not_count(bench: Bench, library: Library) -> None:
    library.doubts = True
    found = measured(bench)
    told = found[TOLERANCE_EPSILON.key]
    assert told.details.residual < 1e-10
    assert (told.state, told.details.iterations) == ("unconverged", 1000)
    assert found[TOLERANCE_VERIFIED.key].state == "failed"


def test_wrong_ranks_have_no_time_that_counts(bench: Bench, library: Library) -> None:
    library.wrong = 1e-6
    found = measured(bench)
    assert {found[TOLERANCE_EPSILON.key].state, found[TOLERANCE_VERIFIED.key].state} == {"unconverged", "failed"}


def test_where_the_library_is_absent_its_cases_say_so(
    bench: Bench, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pylibcugraph", None)
    found = measured(bench)
    assert found[OURS.key].state == "ok"
    for case in (TOLERANCE_EPSILON, TOLERANCE_VERIFIED):
        assert (found[case.key].state, found[case.key].median_s) == ("skipped", None)
        assert found[case.key].note.startswith(NOT_INSTALLED)


@pytest.mark.parametrize(
    ("params", "said"),
    [
        (PageRankParams(dangling="ignore"), "cuGraph does not support dangling=ignore. Use dangling=teleport."),
        (PageRankParams(norm="L2"), "cuGraph does not support norm=L2. Use norm=L1."),
        (PageRankParams(weights="use"), "cuGraph does not support weights=use. Use weights=ignore."),
    ],
)
def test_what_it_does_not_compute_is_refused(bench: Bench, library: Library, params: PageRankParams, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        CugraphRanks(transition_matrix(web(), params), params)
    found = measured(bench, params)
    assert {(found[case.key].state, found[case.key].note) for case in (TOLERANCE_EPSILON, TOLERANCE_VERIFIED)} == {
        ("skipped", said)
    }
    assert library.calls == 0


def test_part_and_self_loops_are_those_of_the_graph_that_it_gets(bench: Bench, library: Library) -> None:
    found = measured(bench, PageRankParams(triangle="lower", self_loops="drop", damping=0.5, epsilon=1e-7))
    assert {(m.state, m.details.iterations) for m in found.values()} == {("ok", found[OURS.key].details.iterations)}
    assert found[TOLERANCE_EPSILON.key].details.tolerance == 1e-7


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(MemoryError("full"), DeviceMemoryError), (RuntimeError("no"), KernelError), (ValueError("no"), KernelError)],
)
def test_its_errors_become_ours(library: Library, raised: Exception, expected: type[Exception]) -> None:
    ranks = CugraphRanks(transition_matrix(web(), PARAMS), PARAMS)
    library.error = raised
    with pytest.raises(expected, match=r"cuGraph .*(full|no)"):
        ranks.run(1e-10, 10)
    assert library.stream == "ours"


def test_an_error_of_cuda_stays_what_it_is(library: Library) -> None:
    class CUDARuntimeError(RuntimeError):
        pass

    ranks = CugraphRanks(transition_matrix(web(), PARAMS), PARAMS)
    library.error = CUDARuntimeError("lost")
    with pytest.raises(CUDARuntimeError, match="lost"):
        ranks.run(1e-10, 10)


def test_the_loosest_tolerance_is_within_an_eighth_of_a_power_of_ten() -> None:
    asked: list[float] = []

    def is_right(tolerance: float) -> bool:
        asked.append(tolerance)
        return tolerance < 3e-13

    found = loosest_tolerance(is_right, 1e-10)
    assert 3e-13 / 10**0.125 <= found < 3e-13
    assert len(asked) == 1 + 3 + 3
    assert loosest_tolerance(lambda _: True, 1e-10) == 1e-10
    with pytest.raises(KernelError, match="above ε = 1e-10 for all tolerances down to 8 powers of ten"):
        loosest_tolerance(lambda _: False, 1e-10)
