"""PageRank over several devices, by value: against one device, ranks worked out by hand, and the bytes that cross."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.multigpu.graph_shards import whole_rows
from gpu_engine.multigpu.pagerank import DistributedRanks
from gpu_engine.multigpu.partition import find_partitioning
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import virtual_devices
from gpu_engine.pagerank import PageRankParams, Schedule, transition_matrix
from gpu_engine.pagerank.cpu_ranks import PlainRanks, SegmentedRanks
from gpu_engine.pagerank.run import PLAIN, iterate
from gpu_engine.pagerank.schedule import iterations_by_segments
from gpu_engine.parameters import parse_params
from tests.battery import with_row_lengths
from tests.gpu_engine.multigpu.scheduled import CHANGED, Order, scheduled_devices
from tests.gpu_engine.multigpu.test_exchange import scattered
from tests.gpu_engine.pagerank.graphs import WORKED

counts = pytest.mark.parametrize("count", [1, pytest.param(2, marks=CHANGED), 3, 5])
precisions = pytest.mark.parametrize("segments", [0, 2, 4])
overlaps = pytest.mark.parametrize("overlap", [False, True], ids=["in turn", "overlap"])

GRAPHS: dict[str, Callable[[], CsrMatrix]] = {
    "web": lambda: generate("web", {"n": 3000, "mean": 3.0, "seed": 3}),
    "stencil": lambda: generate("stencil", {"points": 9, "nx": 37, "ny": 31}),
    "lists": lambda: scattered(400),
}


def schedule_of(segments: int, first: int = 1) -> Schedule:
    return parse_params(Schedule, {"segments": segments, "start_segments": first}) if segments else PLAIN


def check_against_one_device(
    matrix: CsrMatrix, params: PageRankParams, count: int, segments: int, first: int = 1, overlap: bool = False
) -> Any:
    """Runs on so many devices, in poisoned memory, and on one as other modules do; the ranks."""
    graph, schedule = transition_matrix(matrix, params), schedule_of(segments, first)
    if segments:
        single: Any = SegmentedRanks(graph, params, "csr", segments)
    else:
        single = PlainRanks(graph, params, "csr", np.float64)
    expected = iterate(single, params, schedule)
    devices = scheduled_devices(count)
    ranks = DistributedRanks(graph, params, devices, segments, overlap=overlap)
    for _ in range(2):
        run = iterate(ranks, params, schedule)
        assert iterations_by_segments(run.written, schedule) == iterations_by_segments(expected.written, schedule)
        assert (run.read, run.converged) == (expected.read, expected.converged)
        np.testing.assert_allclose(run.gammas, expected.gammas, rtol=1e-6, atol=1e-16)
        found = ranks.ranks()
        assert np.abs(found - single.ranks()).sum() < 1e-12
    return found


@counts
@precisions
@pytest.mark.parametrize("name", WORKED)
def test_graphs_worked_out_by_hand(name: str, segments: int, count: int) -> None:
    """More devices than pages, too. Runs in segments are held against one device alone."""
    worked = WORKED[name]
    found = check_against_one_device(worked.adjacency, worked.params, count, segments)
    if not segments:
        np.testing.assert_allclose(found, worked.ranks, rtol=0, atol=1e-14)


@counts
@precisions
@pytest.mark.parametrize("graph", GRAPHS)
def test_several_devices_are_one(graph: str, segments: int, count: int) -> None:
    check_against_one_device(GRAPHS[graph](), PageRankParams(), count, segments)


@precisions
@pytest.mark.parametrize("graph", GRAPHS)
def test_what_arrives_meanwhile_counts_too(graph: str, segments: int) -> None:
    check_against_one_device(GRAPHS[graph](), PageRankParams(), 3, segments, overlap=True)


@precisions
@overlaps
def test_threads_find_the_same(overlap: bool, segments: int) -> None:
    params = PageRankParams()
    graph, found = transition_matrix(GRAPHS["web"](), params), []
    with virtual_devices(simulated((2, 1))) as threads:
        for devices in (threads, scheduled_devices(3)):
            ranks = DistributedRanks(graph, params, devices, segments, overlap=overlap)
            iterate(ranks, params, schedule_of(segments))
            found.append(ranks.ranks())
    np.testing.assert_array_equal(found[0], found[1])


@precisions
@pytest.mark.parametrize("norm", ["L2", "Linf"])
def test_each_norm_is_that_of_all_pages(norm: str, segments: int) -> None:
    params = parse_params(PageRankParams, {"norm": norm, "iterations_max": 12})
    check_against_one_device(GRAPHS["web"](), params, 3, segments)


@pytest.mark.parametrize(("segments", "first"), [(2, 2), (4, 2), (4, 4)])
def test_more_segments_from_the_start(segments: int, first: int) -> None:
    check_against_one_device(GRAPHS["web"](), PageRankParams(), 3, segments, first)


@pytest.mark.parametrize(("segments", "read", "write"), [(2, 1, 1), (2, 1, 2), (4, 1, 1), (4, 2, 3), (4, 3, 4)])
def test_a_step_reads_and_writes_the_first_segments_and_no_more(segments: int, read: int, write: int) -> None:
    """Bit for bit what one device writes: where nobody dangles no sum over devices has a part in it."""
    params = PageRankParams()
    graph = transition_matrix(GRAPHS["stencil"](), params)
    single = SegmentedRanks(graph, params, "csr", segments)
    devices = scheduled_devices(3)
    ranks = DistributedRanks(graph, params, devices, segments)
    for each in (single, ranks):
        each.reset(read)
        each.pull(read, write)
        each.norm()
    np.testing.assert_array_equal(ranks.ranks(), single.ranks())
    assert ranks.gamma() == pytest.approx(single.gamma(), rel=1e-12)
    for each in (single, ranks):
        each.scale(write)
    # One unit of what was written, or the roundings of the scaling.
    unit = 2.0 ** -min(64 // segments * write - 12, 46)
    np.testing.assert_allclose(ranks.ranks(), single.ranks(), rtol=unit, atol=0)
    assert ranks.ranks().sum() == pytest.approx(1.0, abs=2 * unit)


@pytest.mark.parametrize("exchange", ["all-gather", "halo"])
@precisions
def test_what_crosses_is_what_the_precision_reads(segments: int, exchange: Any) -> None:
    """A stencil of 37 × 31 on three devices: its links reach one line and one page away."""
    params = PageRankParams()
    graph = transition_matrix(GRAPHS["stencil"](), params)
    order = Order(1)
    devices = [order.device(f"virtual:{i}") for i in range(3)]
    ranks = DistributedRanks(graph, params, devices, segments, exchange)
    elements = {"all-gather": 2 * graph.n, "halo": 4 * 38}[exchange]
    ranks.reset(1)
    for read in range(1, segments + 1) if segments else (1,):
        before = order.fetched_bytes
        if read == segments:
            ranks.convert()
        ranks.pull(read, read)
        ranks.norm()
        expected = elements * 8 * read // segments if segments else elements * 8
        assert order.fetched_bytes - before == ranks.exchanged_bytes(read) == expected


def test_links_to_a_page_stay_together() -> None:
    """Row 1 has 90 of 100 entries: equal parts of 25 would cut it three times."""
    stored = find_partitioning("pCSR").store(with_row_lengths([2, 90, 1, 1, 1, 5, 0], 100, 1))
    spans = whole_rows(stored, 4)
    assert [(s.start, s.end, s.first, s.stop, s.start_flag) for s in spans] == [
        (0, 92, 0, 2, False),
        (92, 92, 2, 2, False),
        (92, 92, 2, 2, False),
        (92, 100, 2, 7, False),
    ]


def test_bytes_of_all_devices_are_those_of_one_and_the_ranks_of_each() -> None:
    params = PageRankParams()
    graph = transition_matrix(GRAPHS["stencil"](), params)
    pull = graph.pull
    devices = scheduled_devices(3)
    ranks = DistributedRanks(graph, params, devices)
    pointers = pull.indptr.nbytes + 2 * pull.indptr.itemsize
    own = pointers + pull.indices.nbytes + pull.values.nbytes
    # Of others' pages there are 38 on both sides of two borders.
    assert ranks.stored_bytes == own + 2 * 8 * (graph.n + 4 * 38)
    # On both sides of two borders 38 pages have links from others' pages: pointers and numbers of their own.
    more = 4 * (4 * 38 + 3) + 4 * 4 * 38
    assert DistributedRanks(graph, params, devices, overlap=True).stored_bytes == ranks.stored_bytes + more


def test_no_device_and_two_kinds_of_devices_are_refused() -> None:
    graph, devices = transition_matrix(GRAPHS["stencil"](), PageRankParams()), scheduled_devices(2)
    devices[1].virtual = False
    for found, words in (((), "got no device"), (devices, "got virtual:0, virtual:1")):
        with pytest.raises(ParameterError, match=words):
            DistributedRanks(graph, PageRankParams(), found)
