"""Several CUDA devices: products, iterations, segments and PageRank; on one GPU, devices are streams of it."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from gpu_engine import cpms
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.multigpu import generated
from gpu_engine.multigpu.base import call_and_wait, copy_to
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import EXCHANGES, ExchangeName
from gpu_engine.multigpu.from_host.chunks import CHUNK_ENTRIES
from gpu_engine.multigpu.from_host.spmv import DistributedMatrix
from gpu_engine.multigpu.from_host.strategies import PAPER_STRATEGIES, Strategy
from gpu_engine.multigpu.generated import GeneratedMatrix
from gpu_engine.multigpu.merge import MERGES
from gpu_engine.multigpu.numa import host_memory
from gpu_engine.multigpu.pagerank import DistributedRanks
from gpu_engine.multigpu.partition import (
    PARTITIONINGS,
    Part,
    Partitioning,
    Span,
    find_partitioning,
    localize,
    part_of,
)
from gpu_engine.multigpu.peer_copies import PeerCopies
from gpu_engine.multigpu.resident import BATCH, ResidentMatrix
from gpu_engine.multigpu.solve import SharedSolve
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import virtual_devices
from gpu_engine.pagerank import PageRankParams, transition_matrix
from gpu_engine.pagerank.cpu_ranks import PlainRanks, SegmentedRanks
from gpu_engine.pagerank.run import iterate
from gpu_engine.pagerank.schedule import iterations_by_segments
from gpu_engine.solvers.base import Status
from gpu_engine.verify import POISON, check, reference
from tests.battery import BATTERY
from tests.gpu_engine.multigpu import test_exchange as exchange_tests
from tests.gpu_engine.multigpu import test_generated as generated_tests
from tests.gpu_engine.multigpu import test_peer_copies as segment_tests
from tests.gpu_engine.multigpu import test_solve as solve_tests
from tests.gpu_engine.multigpu.from_host import test_chunks as chunk_tests
from tests.gpu_engine.multigpu.from_host.packable import PACKABLE
from tests.gpu_engine.multigpu.from_host.test_spmv import check_products, no_clock
from tests.gpu_engine.multigpu.test_pagerank import GRAPHS, schedule_of
from tests.gpu_engine.multigpu.whole import join

pytestmark = pytest.mark.usefixtures("gpu")

COUNT = 3
HOST_MEMORY = 1
"""cudaMemoryTypeHost."""

partitionings = pytest.mark.parametrize("partitioning", PARTITIONINGS, ids=lambda p: p.name)


@pytest.fixture(scope="module")
def devices() -> Iterator[tuple[Any, ...]]:
    """Three, on as many GPUs as there are."""
    import cupy

    from gpu_engine.multigpu.cuda_device import CudaDevice, cuda_devices

    found = cupy.cuda.runtime.getDeviceCount()
    with cuda_devices(min(found, COUNT)):
        yield tuple(CudaDevice(number % found) for number in range(COUNT))


@pytest.fixture(scope="module")
def cusparse_devices(devices: Sequence[Any]) -> tuple[Any, ...]:
    """The same, with the products of cuSPARSE."""
    from gpu_engine.multigpu.cusparse_device import CusparseDevice

    return tuple(CusparseDevice(device.ordinal) for device in devices)


def poison(devices: Sequence[Any], size: int) -> None:
    """Leaves poison in the memory that the pools hand out next."""
    for device in devices:
        device.call(device.allocate(size, np.float64).fill, POISON)
        device.synchronize()


@generated_tests.calls
def test_devices_make_parts_with_the_bits_of_the_host(
    devices: Sequence[Any], monkeypatch: pytest.MonkeyPatch, generator: str, params: dict[str, Any]
) -> None:
    for size in ("PIECE", "PIECE_ON_GPU"):
        monkeypatch.setattr(generated, size, 40)
    import cupy

    made, stored = GeneratedMatrix.of(generator, params), find_partitioning("pCSR").store(generate(generator, params))
    for span, device in zip(cut_by_entries(made, (COUNT,)), devices, strict=True):
        here, there = stored.part(span, device), made.part(span, device)
        for name in ("major", "minor", "values"):
            assert getattr(there, name).get().tobytes() == getattr(here, name).tobytes()
    expected, by_host = (made.data(["resident"], xp).reference for xp in (cupy, np))
    assert (expected.y.tobytes(), expected.scale.tobytes()) == (by_host.y.tobytes(), by_host.scale.tobytes())
    x = np.random.default_rng(1).uniform(-1.0, 1.0, made.n_rows)
    for overlap in (False, True):
        found = []
        for matrix in (stored, made):
            poison(devices, 10_000)
            resident = ResidentMatrix(matrix, cut_by_entries(matrix, (COUNT,)), devices, "halo", overlap)
            resident.load(x)
            resident.advance(BATCH + 1)
            found.append(np.full(x.size, np.nan))
            resident.read(found[-1])
        assert found[0].tobytes() == found[1].tobytes()


@partitionings
@pytest.mark.parametrize("strategy", PAPER_STRATEGIES, ids=lambda s: s.name)
@pytest.mark.parametrize("name", BATTERY)
def test_products(devices: Sequence[Any], name: str, strategy: Strategy, partitioning: Partitioning) -> None:
    matrix = BATTERY[name]()
    stored, expected = partitioning.store(matrix), reference(matrix)
    for count, place in itertools.product((1, 2, COUNT), MERGES):
        poison(devices, 10_000)
        with DistributedMatrix(stored, devices[:count], strategy, no_clock(), place) as distributed:
            check_products(distributed, matrix, expected)


@pytest.mark.parametrize("strategy", chunk_tests.IN_CHUNKS, ids=lambda s: s.name)
@pytest.mark.parametrize("name", BATTERY)
def test_products_in_chunks(devices: Sequence[Any], name: str, strategy: Strategy) -> None:
    matrix = BATTERY[name]()
    expected = reference(matrix)
    for count, entries in ((1, CHUNK_ENTRIES), (COUNT, 3)):
        poison(devices, 10_000)
        with chunk_tests.chunked(matrix, strategy, devices[:count], entries) as product:
            for y in chunk_tests.products(product, expected.x, matrix.n_rows):
                check(expected, y)


@pytest.mark.parametrize("name", PACKABLE)
def test_packed_products_have_the_same_bits(devices: Sequence[Any], name: str) -> None:
    """Whatever was packed, and whatever a link took as it was; values against the processor's."""
    matrix = PACKABLE[name]()
    x, bits = np.random.default_rng(2).uniform(-1.0, 1.0, matrix.n_cols), []
    for strategy in chunk_tests.IN_CHUNKS:
        poison(devices, 10_000)
        with chunk_tests.chunked(matrix, strategy, devices[:2], -(-matrix.nnz // 4)) as product:
            bits += [y.view(np.int64) for y in chunk_tests.products(product, x, matrix.n_rows)]
    assert all((found == bits[0]).all() for found in bits)
    with np.errstate(invalid="ignore"):
        expected = matrix.to_scipy() @ x
    np.testing.assert_allclose(bits[0].view(np.float64), expected, rtol=1e-9, atol=1e-9)


@partitionings
@pytest.mark.parametrize("name", BATTERY)
def test_products_of_cusparse(cusparse_devices: Sequence[Any], name: str, partitioning: Partitioning) -> None:
    matrix = BATTERY[name]()
    stored, expected = partitioning.store(matrix), reference(matrix)
    for count, strategy in itertools.product((1, COUNT), PAPER_STRATEGIES):
        poison(cusparse_devices, 10_000)
        with DistributedMatrix(stored, cusparse_devices[:count], strategy, no_clock()) as distributed:
            for _ in range(2):
                y = np.full(matrix.n_rows, POISON)
                distributed.multiply(expected.x, y, no_clock())
                check(expected, y)


@partitionings
@pytest.mark.parametrize("name", BATTERY)
def test_cusparse_prepared_for_other_vectors(
    cusparse_devices: Sequence[Any], name: str, partitioning: Partitioning
) -> None:
    """What the library prepared belongs to the matrix, whatever vectors it saw."""
    matrix = BATTERY[name]()
    stored, whole = partitioning.store(matrix), reference(matrix)
    for device, span in zip(cusparse_devices, cut_by_entries(stored, (COUNT,)), strict=True):
        part = part_of(stored, span, localize(stored, span))
        there = Part(span, *(copy_to(device, array) for array in (part.major, part.minor, part.values)))
        prepared = call_and_wait(device, device.operations.prepare, partitioning, there, matrix.n_cols)
        by_rows, lines = partitioning.axis == "rows", span.stop - span.first
        host = whole.x if by_rows else whole.x[span.lines]
        x, y = device.allocate(host.size, np.float64), device.allocate(lines if by_rows else matrix.n_rows, np.float64)
        expected, found = np.empty(y.size), np.empty(y.size)
        for _ in range(2):
            device.upload(host, x)
            device.call(device.operations.multiply, partitioning, prepared, x, y)
            device.download(y, found)
            device.synchronize()
            with virtual_devices(simulated((1,))) as (virtual,):
                virtual.call(virtual.operations.multiply, partitioning, part, host, expected)
                virtual.synchronize()
            assert (abs(found - expected) <= 1e-12 * np.abs(part.values).sum()).all()
            host = host[::-1].copy()


@pytest.mark.parametrize("name", exchange_tests.BY_ROWS)
@pytest.mark.parametrize("matrix", list(exchange_tests.squares()))
def test_iterated_products_of_cusparse(cusparse_devices: Sequence[Any], matrix: CsrMatrix, name: str) -> None:
    matrix = exchange_tests.scaled(matrix)
    stored = find_partitioning(name).store(matrix)
    x, found = np.random.default_rng(1).uniform(-1.0, 1.0, matrix.n_rows), np.full(matrix.n_rows, np.nan)
    resident = ResidentMatrix(stored, cut_by_entries(stored, (COUNT,)), cusparse_devices, "halo", overlap=True)
    resident.load(x)
    resident.advance(2 * BATCH + 1)
    resident.read(found)
    exchange_tests.check(matrix, x, 2 * BATCH + 1, found)


@partitionings
@pytest.mark.parametrize("name", BATTERY)
def test_cut_and_joined_on_the_gpu(name: str, partitioning: Partitioning) -> None:
    """Pointers computed on the GPU are those of the CPU, and the parts give the matrix back."""
    import cupy

    matrix = BATTERY[name]()
    here, there = partitioning.store(matrix), partitioning.store(matrix.on(cupy))
    for count in (1, 2, 5, here.n_lines + 1):
        spans = cut_by_entries(here, (count,))
        assert cut_by_entries(there, (count,)) == spans
        majors = [localize(there, span) for span in spans]
        for span, major in zip(spans, majors, strict=True):
            np.testing.assert_array_equal(major.get(), localize(here, span))
        parts = [part_of(there, span, major) for span, major in zip(spans, majors, strict=True)]
        whole = join(partitioning, (matrix.n_rows, matrix.n_cols), parts)
        for field in ("major", "minor", "values"):
            np.testing.assert_array_equal(getattr(whole, field).get(), getattr(here, field))


@pytest.mark.parametrize("name", exchange_tests.BY_ROWS)
@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("overlap", [False, True], ids=["in turn", "overlap"])
@pytest.mark.parametrize("matrix", list(exchange_tests.squares()))
def test_iterated_products(
    devices: Sequence[Any], matrix: CsrMatrix, exchange: ExchangeName, overlap: bool, name: str
) -> None:
    matrix = exchange_tests.scaled(matrix)
    stored = find_partitioning(name).store(matrix)
    x = np.random.default_rng(1).uniform(-1.0, 1.0, matrix.n_rows)
    for count in (1, COUNT):
        poison(devices, 10_000)
        resident = ResidentMatrix(stored, cut_by_entries(stored, (count,)), devices[:count], exchange, overlap)
        resident.load(x)
        found = np.full(matrix.n_rows, np.nan)
        done = 0
        for iterations in (1, 3, 2 * BATCH + 1, 4 * BATCH):
            resident.advance(iterations)
            resident.read(found)
            done += iterations
            exchange_tests.check(matrix, x, done, found)
        expected, scale = exchange_tests.iterated(matrix, found, 1)
        resident.exchange(BATCH)
        for times in (1, BATCH, 3 * BATCH):
            resident.multiply(times)
            product = np.full(matrix.n_rows, np.nan)
            resident.read_product(product)
            assert (abs(product - expected) <= 1e-12 * scale).all()


@segment_tests.ways
@pytest.mark.parametrize(("segments", "k"), segment_tests.PRECISIONS)
def test_the_first_segments_arrive_bit_for_bit(devices: Sequence[Any], segments: int, k: int, packed: bool) -> None:
    """Borders lie within groups; later segments keep their bits."""
    import cupy

    n, borders = 5000, [0, 1301, 1333, 5000]
    spans = [Span(0, 0, a, b, start_flag=False) for a, b in itertools.pairwise(borders)]
    values = segment_tests.random_bits(np.random.default_rng(k), n)
    host = [segment_tests.poisoned(n, segments) for _ in spans]
    vectors = []
    for device, vector, span in zip(devices, host, spans, strict=True):
        segment_tests.pack_own(segment_tests.segmented(values, segments), vector, span.owned)
        storage = device.allocate(vector.storage.size, np.float64)
        device.upload(vector.storage, storage)
        device.synchronize()
        vectors.append(cpms.Segmented(storage, n, segments))
    wants = [slice(0, n), slice(7, 4000), slice(1300, n)]
    exchange = PeerCopies(devices, segment_tests.transfers_of(spans, wants), segments, packed)
    for _ in range(3):
        exchange.launch(vectors, k)
    for device in devices:
        device.synchronize()
    rest = np.uint64(2 ** (64 - 64 // segments * k) - 1)
    for vector, span, wanted in zip(vectors, spans, wants, strict=True):
        found = segment_tests.bits(cpms.Segmented(cupy.asnumpy(vector.storage), n, segments), segments)
        arrived = np.zeros(n, bool)
        arrived[wanted] = True
        arrived[span.owned] = False
        np.testing.assert_array_equal(found[arrived], segment_tests.keep(values, segments, k)[arrived] | rest)
        np.testing.assert_array_equal(found[span.owned], values.view(np.uint64)[span.owned])
        arrived[span.owned] = True
        assert (found[~arrived] == np.uint64(2**64 - 1)).all()


@pytest.mark.parametrize(("segments", "first"), [(0, 1), (2, 1), (2, 2), (4, 1), (4, 2), (4, 4)])
@pytest.mark.parametrize("overlap", [False, True], ids=["in turn", "overlap"])
@pytest.mark.parametrize("graph", GRAPHS)
def test_pagerank_is_that_of_one_device(
    devices: Sequence[Any], graph: str, overlap: bool, segments: int, first: int
) -> None:
    params = PageRankParams()
    transitions, schedule = transition_matrix(GRAPHS[graph](), params), schedule_of(segments, first)
    if segments:
        single: Any = SegmentedRanks(transitions, params, "csr", segments)
    else:
        single = PlainRanks(transitions, params, "csr", np.float64)
    expected = iterate(single, params, schedule)
    for count in (1, COUNT):
        ranks = DistributedRanks(transitions, params, devices[:count], segments, overlap=overlap)
        for _ in range(2):
            run = iterate(ranks, params, schedule)
            assert iterations_by_segments(run.written, schedule) == iterations_by_segments(expected.written, schedule)
            np.testing.assert_allclose(run.gammas, expected.gammas, rtol=1e-6, atol=1e-16)
            assert np.abs(ranks.ranks() - single.ranks()).sum() < 1e-12


@pytest.mark.parametrize("overlap", [False, True], ids=["in turn", "overlap"])
@pytest.mark.parametrize("k", [1, 4, 7])
@pytest.mark.parametrize("name", ["band", "single_entry", "every_row_one_entry"])
def test_iterated_columns(devices: Sequence[Any], name: str, k: int, overlap: bool) -> None:
    matrix = exchange_tests.scaled(BATTERY[name]())
    stored = find_partitioning("pCSR").store(matrix)
    x = np.random.default_rng(k).uniform(-1.0, 1.0, (matrix.n_rows, k))
    for count in (1, COUNT):
        poison(devices, 10_000)
        resident = ResidentMatrix(stored, cut_by_entries(stored, (count,)), devices[:count], "halo", overlap, k)
        resident.load(x)
        resident.advance(BATCH + 1)
        computed = np.empty_like(x)
        resident.read(computed)
        for j in range(k):
            exchange_tests.check(matrix, x[:, j], BATCH + 1, computed[:, j])


@pytest.mark.parametrize("overlap", [False, True], ids=["in turn", "overlap"])
@pytest.mark.parametrize("name", solve_tests.SYSTEMS)
def test_cg_is_that_of_simulated_devices(devices: Sequence[Any], name: str, overlap: bool) -> None:
    matrix = solve_tests.SYSTEMS[name]()
    b = solve_tests.right_hand_side(matrix)
    least = 1e-12 * float(np.linalg.norm(b))
    for count in (1, COUNT):
        with virtual_devices(simulated((count,))) as simulations:
            expected = SharedSolve(matrix, simulations, overlap=overlap).solve(b)
        poison(devices, 10_000)
        solve = SharedSolve(matrix, devices[:count], overlap=overlap)
        first, second = solve.solve(b), solve.solve(b)
        assert (first.status, first.iterations) == (expected.status, expected.iterations)
        assert first.residual <= first.bound
        np.testing.assert_allclose(first.residuals, expected.residuals, rtol=1e-4, atol=least)
        np.testing.assert_allclose(first.x, expected.x, rtol=1e-6, atol=1e-9)
        assert first.x.tobytes() == second.x.tobytes()


def test_cg_on_several_gpus_tells_an_indefinite_matrix(devices: Sequence[Any]) -> None:
    stencil = solve_tests.SYSTEMS["stencil"]()
    negative = CsrMatrix(*stencil.shape, stencil.indptr, stencil.indices, -stencil.values)
    assert SharedSolve(negative, devices).solve(np.ones(negative.n_rows)).status is Status.INDEFINITE


@pytest.mark.parametrize("norm", ["L2", "Linf"])
def test_norms(devices: Sequence[Any], norm: str) -> None:
    params = PageRankParams(norm=norm, iterations_max=12)  # type: ignore[arg-type]
    graph = transition_matrix(generate("web", {"n": 3000, "mean": 3.0, "seed": 3}), params)
    expected = iterate(PlainRanks(graph, params, "csr", np.float64), params)
    run = iterate(DistributedRanks(graph, params, devices), params)
    np.testing.assert_allclose(run.gammas, expected.gammas, rtol=1e-9, atol=1e-16)


def test_memory_of_several_nodes_is_pinned_while_it_lives() -> None:
    import cupy

    from gpu_engine.multigpu.cuda_device import CudaDevice

    devices = [CudaDevice(0, node, (node,)) for node in (0, 1)]
    memories = [host_memory(placement, devices, devices) for placement in ("one", "interleaved", "beside")]
    for memory, size in itertools.product(filter(None, memories), (3_000_000, 0, 5)):
        array = memory.allocate(size, np.float64)
        array[:] = np.arange(size)
        there, found = devices[1].allocate(size, np.float64), np.empty(size)
        devices[1].upload(array, there)
        devices[1].download(there, found)
        devices[1].synchronize()
        np.testing.assert_array_equal(found, np.arange(size))
        if size:
            assert cupy.cuda.runtime.pointerGetAttributes(array.ctypes.data).type == HOST_MEMORY
            address = array.ctypes.data
            del array
            assert cupy.cuda.runtime.pointerGetAttributes(address).type != HOST_MEMORY


def test_gpus_are_in_the_order_of_their_nodes() -> None:
    import cupy

    from gpu_engine.multigpu.cuda_device import cuda_devices

    count = cupy.cuda.runtime.getDeviceCount()
    with cuda_devices(count) as found:
        assert sorted(device.ordinal for device in found) == list(range(count))
        assert [device.node for device in found] == sorted(device.node for device in found)
        assert all(device.cpus for device in found)


def test_a_capture_that_breaks_off_leaves_the_streams_of_use(devices: Sequence[Any]) -> None:
    def broken() -> None:
        devices[0].call(array.fill, 2.0)
        raise RuntimeError("broken off")

    array, found = devices[0].allocate(4, np.float64), np.empty(4)
    devices[0].call(array.fill, 1.0)
    with pytest.raises(RuntimeError, match="broken off"):
        devices[0].capture(devices[1:], broken)
    for device in devices:
        device.download(array, found)
        device.synchronize()
        assert found.tolist() == [1.0] * 4


def test_more_devices_than_gpus_are_refused() -> None:
    from gpu_engine.multigpu.cuda_device import cuda_devices

    with pytest.raises(ParameterError, match="Cannot use 1000 GPUs"), cuda_devices(1000):
        pass
