"""WORKLOADS one by one: what each checks, what its times are made of, and what it says of itself."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError, ParameterError
from gpu_engine.generators import generate
from gpu_engine.multigpu import sampler, workloads
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.from_host.strategies import STRATEGIES, find_strategy
from gpu_engine.multigpu.merge import MergePlace
from gpu_engine.multigpu.pagerank_workload import RANKS
from gpu_engine.multigpu.resident import BATCH
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import VirtualDevice, virtual_devices
from gpu_engine.multigpu.workload import Setting, Workload, WorkloadData, WorkloadName, stored_bytes
from gpu_engine.multigpu.workloads import WORKLOADS
from gpu_engine.pagerank.graph import PageRankParams, transition_matrix
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.pagerank.run import iterate
from gpu_engine.pagerank.schedule import iterations_by_segments
from gpu_engine.verify import EPSILON
from tests.battery import dense
from tests.gpu_engine.multigpu.devices import LoggingDevice, logging_devices
from tests.gpu_engine.multigpu.from_host.packable import PACKABLE

GRID = generate("stencil", {"points": 5, "nx": 9, "ny": 8})
STENCIL = generate("stencil", {"points": 5, "nx": 30, "ny": 20})
WIDE = dense([[1, 0, 2, 0], [0, 0, 0, 5]])
CUT = dense([[1, 2, 3, 4], [0, 0, 0, 0], [5, 6, 0, 0], [0, 0, 7, 8]])
"""Eight entries; two devices get four each, three cut row 0 and row 2."""


class Ticks:
    """A clock that goes on by one second whenever it is read."""

    def __init__(self, tick: float = 1.0) -> None:
        self.reads, self.tick = 0, tick

    def __call__(self) -> float:
        self.reads += 1
        return self.reads * self.tick


def setting(work: WorkloadName, variant: str = "", devices: int = 3, **fields: Any) -> Setting:
    return Setting(work, fields.pop("partitioning", "pCSR"), variant or work, devices, **fields)


SETTINGS = (
    setting("cold", "baseline", merge="host"),
    setting("cold", "p*", merge="device"),
    setting("cold", "p*-opt", merge="device", partitioning="pCSC"),
    setting("cold", "p*-opt", merge="host", partitioning="pCOO"),
    setting("resident"),
    setting("resident", partitioning="pCOO"),
    setting("iterate", exchange="all-gather"),
    setting("iterate", overlap=True),
)
every_product = pytest.mark.parametrize("chosen", SETTINGS, ids=lambda s: f"{s.kernel} {dict(s.axes)}")


@pytest.fixture
def devices() -> Iterator[tuple[LoggingDevice, ...]]:
    with logging_devices(3) as opened:
        yield opened


def made(chosen: Setting, matrix: CsrMatrix, devices: tuple[Any, ...], tick: float = 1.0) -> Workload:
    return WORKLOADS[chosen.workload](WorkloadData(matrix), chosen, devices[: chosen.devices], Ticks(tick))


@every_product
@pytest.mark.parametrize("matrix", [GRID, CUT], ids=["grid", "cut rows"])
def test_products_are_right_and_say_where_their_entries_are(
    chosen: Setting, matrix: CsrMatrix, devices: tuple[LoggingDevice, ...]
) -> None:
    work = made(chosen, matrix, devices)
    work.check()
    fields = work.fields()
    assert 0.0 <= fields["max_error"] <= 20.0
    assert sum(fields["nonzeros_by_device"]) == matrix.nnz
    assert len(fields["nonzeros_by_device"]) == 3
    if chosen.variant != "baseline":
        assert max(fields["nonzeros_by_device"]) - min(fields["nonzeros_by_device"]) <= 1
    index = {"pCSR": 4 * (matrix.n_rows + 3), "pCSC": 4 * (matrix.n_cols + 3), "pCOO": 4 * matrix.nnz}
    cut = fields["stored_bytes"] - 12 * matrix.nnz - index[chosen.partitioning]
    # A compressed line that is cut has a pointer more in each part after its first.
    assert cut in ({0} if chosen.partitioning == "pCOO" else {0, 4, 8})
    assert work.moved_bytes == fields["stored_bytes"] + 8 * matrix.n_rows


@every_product
def test_a_wrong_product_of_one_device_is_found(
    chosen: Setting, devices: tuple[LoggingDevice, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    right = VirtualDevice.call

    def wrong(self: VirtualDevice, function: Any, *arguments: Any) -> None:
        right(self, function, *arguments)
        if self.name == "virtual:2" and function is self.operations.multiply:
            right(self, _spoil, arguments[-1])

    monkeypatch.setattr(VirtualDevice, "call", wrong)
    with pytest.raises(KernelError, match="Wrong result: row"):
        made(chosen, GRID, devices).check()


def _spoil(partial: Any) -> None:
    partial[partial.size // 2] += 1e-9


@pytest.mark.parametrize("overlap", [False, True])
def test_an_exchange_that_only_works_once_is_found(
    overlap: bool, devices: tuple[LoggingDevice, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch, fetched = VirtualDevice.fetch, list[int]()

    def stale(self: VirtualDevice, peer: Any, array: Any) -> None:
        if array.size == 1 or len(fetched) < transfers:
            fetch(self, peer, array)
        fetched.extend([array.size] * (array.size > 1))

    chosen = setting("iterate", overlap=overlap)
    work = made(chosen, GRID, devices)
    transfers = len(work._matrix.transfers)  # type: ignore[attr-defined]
    monkeypatch.setattr(VirtualDevice, "fetch", stale)
    with pytest.raises(KernelError, match="Wrong result"):
        work.check()


def test_later_products_may_carry_the_errors_of_those_before() -> None:
    matrix = dense([[0.1, 0.7], [0.0, 0.3]])
    iterated, once = WorkloadData(matrix).iterated_reference, WorkloadData(matrix).reference
    a = np.linalg.matrix_power(matrix.to_scipy().toarray(), BATCH)
    np.testing.assert_allclose(iterated.y, a @ once.x, rtol=16 * EPSILON)
    np.testing.assert_allclose(iterated.scale, a @ abs(once.x), rtol=16 * EPSILON)
    assert iterated.limit.tolist() == [6.0 + (BATCH - 1) * 6.0, 4.0 + (BATCH - 1) * 6.0]


def test_of_cold_products_all_is_timed(devices: tuple[LoggingDevice, ...]) -> None:
    """A clock that ticks when it is read: a block that is timed takes one second, and so does what lies between two."""
    phases = {"partition": 1.0, "distribute": 2.0, "compute": 1.0, "merge": 2.0}
    for variant, partitions in (("baseline", 1.0), ("p*", 1.0), ("p*-opt", 2.0)):
        work = made(setting("cold", variant, merge="host"), GRID, devices)
        work.check()
        assert work.fields()["phases_s"] == {}
        blocks = 5 + partitions
        assert work.turn() == 2 * blocks + 1
        assert work.fields()["phases_s"] == phases | {"partition": partitions}
        assert work.fields()["strategy"] == variant


@pytest.mark.parametrize("variant", [strategy.name for strategy in STRATEGIES if strategy.in_chunks])
def test_cold_products_in_chunks(variant: str, devices: tuple[LoggingDevice, ...]) -> None:
    """A pipelined one is one block on the clock, and its phases are timed apart; what is sent bounds them."""
    matrix, strategy = PACKABLE["two values"](), find_strategy(variant)
    work = made(setting("cold", variant, merge="host"), matrix, devices)
    work.check()
    assert work.turn() == (1.0 if strategy.pipelined else 2 * 5 + 1)
    fields = work.fields()
    names = ("partition", "distribute", "compute", "merge", *(["packing"] if strategy.packed else []))
    assert fields["phases_s"] == dict.fromkeys(names, 1.0)
    sent = fields["phase_bytes"]["distribute"] - 3 * 8 * matrix.n_cols
    whole = 12 * matrix.nnz + 4 * (matrix.n_rows + 1)
    assert sent == whole if not strategy.packed else sent < whole / 3
    assert work.moved_bytes == sent + 8 * matrix.n_rows
    # Copies of eight bytes an entry, and reads of twelve, took a second.
    assert fields["bounds_s"]["distribute"] == fields["phase_bytes"]["distribute"] / (8 * matrix.nnz)
    assert ("packing" in fields["bounds_s"]) == (strategy.packed and not strategy.prepacked)
    assert fields.get("packing_s") == (1.0 if strategy.prepacked else None)


@pytest.mark.parametrize(
    ("partitioning", "merge", "vectors"),
    [("pCSR", "host", (3, 1)), ("pCSC", "host", (1, 3)), ("pCSC", "device", (1, 1))],
)
def test_bytes_of_the_phases_of_cold_products(
    partitioning: str, merge: MergePlace, vectors: tuple[int, int], devices: tuple[LoggingDevice, ...]
) -> None:
    """So many times all of x is sent, and all of y sent back."""
    work = made(setting("cold", "p*", merge=merge, partitioning=partitioning), GRID, devices)
    work.check()
    fields = work.fields()
    sent = fields["stored_bytes"] + vectors[0] * 8 * GRID.n_cols
    assert fields["phase_bytes"]["distribute"] == sent
    assert fields["phase_bytes"]["merge"] == vectors[1] * 8 * GRID.n_rows
    assert fields["phase_bytes"]["compute"] == sent + (3 if partitioning == "pCSC" else 1) * 8 * GRID.n_rows


def test_a_long_product_is_sampled_once_a_turn(devices: tuple[LoggingDevice, ...]) -> None:
    for tick, products in ((workloads.LONG_S / 12, 1), (workloads.LONG_S / 14, sampler.SAMPLES)):
        work = made(setting("cold", "baseline", merge="host"), GRID, devices, tick)
        work.check()
        devices[0].launches()
        work.turn()
        assert devices[0].launches().count("multiply") == products


@pytest.mark.parametrize("variant", ["resident", "iterate"])
def test_short_products_are_repeated(variant: Any, devices: tuple[LoggingDevice, ...]) -> None:
    work = made(setting(variant), GRID, devices, sampler.SAMPLE_S / 8)
    work.check()
    devices[0].launches()
    assert work.turn() == pytest.approx(sampler.SAMPLE_S / 8 / 8)
    of_phases = 8 if variant == "iterate" else 0
    assert devices[0].launches().count("multiply") == 8 * sampler.SAMPLES + of_phases


def test_no_sample_has_more_iterations_than_a_vector_stands(devices: tuple[LoggingDevice, ...]) -> None:
    """Each sample begins with the same x: a hundred steps of this matrix stay in range, a thousand would not."""
    growing = dense([[0, 500.0, 0], [0, 0, 500.0], [500.0, 0, 0]])
    work = made(setting("iterate"), growing, devices, 1e-9)
    work.check()
    for _ in range(5):
        work.turn()
    x = np.empty(3)
    work._matrix.read(x)  # type: ignore[attr-defined]
    assert (abs(x) < 500.0**sampler.REPEATS_MAX).all()
    assert (abs(x) > 0.0).all()


def test_the_phases_of_an_iteration_are_its_product_and_its_exchange(devices: tuple[LoggingDevice, ...]) -> None:
    work = made(setting("iterate"), GRID, devices, sampler.SAMPLE_S)
    work.check()
    for device in devices:
        device.launches()
    work.turn()
    assert work.fields()["phases_s"] == pytest.approx({"compute": sampler.SAMPLE_S, "exchange": sampler.SAMPLE_S})
    assert devices[1].launches().count("multiply") == sampler.SAMPLES + 1


def test_bytes_that_cross_in_an_iteration(devices: tuple[LoggingDevice, ...]) -> None:
    """Nine rows of a band of one, rows 0–2 | 3–5 | rest of 5, 6–8: the first wants 3, the next 2, the last 5."""
    band = generate("stencil", {"points": 5, "nx": 9, "ny": 1})
    for exchange, elements in (("halo", 3), ("all-gather", 2 * 9)):
        work = made(setting("iterate", exchange=exchange), band, devices)
        assert work.fields()["exchanged_bytes"] == 8 * (elements + 1)


@pytest.mark.parametrize("work", ["resident", "iterate", "pagerank", "solve"])
def test_what_stays_on_the_devices_needs_a_square_matrix(work: Any, devices: tuple[LoggingDevice, ...]) -> None:
    chosen = setting(work, "pagerank+fp64" if work == "pagerank" else "")
    with pytest.raises(ParameterError, match=r"square.*2 × 4|2 × 4.*square"):
        made(chosen, WIDE, devices)
    made(setting("cold", "p*", merge="host"), WIDE, devices).check()


@pytest.fixture
def plain_devices() -> Iterator[tuple[VirtualDevice, ...]]:
    with virtual_devices(simulated((3,))) as opened:
        yield opened


@pytest.mark.parametrize("variant", RANKS)
@pytest.mark.parametrize("count", [1, 3])
def test_ranks_take_the_iterations_that_they_take_on_one_device(
    variant: str, count: int, plain_devices: tuple[VirtualDevice, ...]
) -> None:
    params, kernel = PageRankParams(), RANKS[variant]
    graph = transition_matrix(GRID, params)
    alone = RankKernel("csr/thread", kernel.segments).ranks(graph, params, np)
    expected = iterate(alone, params, kernel.schedule({}))
    work = made(setting("pagerank", variant, count), GRID, plain_devices)
    work.check()
    assert work.turn() == 1.0
    fields = work.fields()
    assert (fields["iterations"], fields["note"]) == (len(expected.gammas), "")
    assert fields["phases_s"] == {"compute": 1.0, "exchange": 1.0}
    assert sum(fields["nonzeros_by_device"]) == graph.pull.nnz
    assert fields["residual"] < 1e-10
    assert (fields["exchanged_bytes"] == 0) == (count == 1)
    if kernel.segments:
        assert fields["iterations_by_segments"] == iterations_by_segments(expected.written, kernel.schedule({}))


@pytest.mark.parametrize("overlap", [False, True])
def test_the_timed_runs_find_the_same_ranks(overlap: bool, plain_devices: tuple[VirtualDevice, ...]) -> None:
    """With the exchange by itself too."""
    work: Any = made(setting("pagerank", "pagerank+cpms2", overlap=overlap), GRID, plain_devices)
    work.check()
    first = work._ranks.ranks()
    work.turn()
    np.testing.assert_array_equal(work._ranks.ranks(), first)


def test_wrong_ranks_are_found(plain_devices: tuple[VirtualDevice, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each device counts the others' pages as what they were at the start: that has a limit, another one."""
    monkeypatch.setattr(VirtualDevice, "fetch", lambda self, peer, array: self.call(array.fill, 1 / GRID.n_rows))
    with pytest.raises(KernelError, match="Wrong ranks"):
        made(setting("pagerank", "pagerank+fp64"), GRID, plain_devices).check()


def test_ranks_that_do_not_settle_are_said_to(
    plain_devices: tuple[VirtualDevice, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpu_engine.multigpu.pagerank_workload.RANK_PARAMS", PageRankParams(iterations_max=3))
    work = made(setting("pagerank", "pagerank+fp64"), GRID, plain_devices)
    work.check()
    assert work.fields()["note"].endswith("after 3 iterations, not under ε")


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("overlap", [False, True])
def test_a_solve_is_verified_and_its_iterations_are_timed(
    count: int, overlap: bool, plain_devices: tuple[VirtualDevice, ...]
) -> None:
    work = made(setting("solve", "solve", count, overlap=overlap), STENCIL, plain_devices)
    work.check()
    fields = work.fields()
    assert 30 <= fields["iterations"] <= 200
    assert fields["residual"] <= 1e-8
    assert sum(fields["nonzeros_by_device"]) == STENCIL.nnz
    assert (fields["exchanged_bytes"] == 0) == (count == 1)
    assert work.moved_bytes == fields["stored_bytes"] + 13 * 8 * STENCIL.n_rows
    # A tick of a second per sample, of one iteration each.
    assert work.turn() == 1.0


def test_systems_that_cg_does_not_solve_are_refused(plain_devices: tuple[VirtualDevice, ...]) -> None:
    with pytest.raises(ParameterError, match="not symmetric"):
        made(setting("solve", "solve"), CUT, plain_devices)
    negative = CsrMatrix(*STENCIL.shape, STENCIL.indptr, STENCIL.indices, -STENCIL.values)
    with pytest.raises(ParameterError, match="positive definite"):
        made(setting("solve", "solve"), negative, plain_devices).check()


def test_a_wrong_solution_is_found(plain_devices: tuple[VirtualDevice, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """The devices read elements of r with the wrong sign, which no new residual can mend."""
    fetch = VirtualDevice.fetch

    def wrong(self: VirtualDevice, peer: Any, array: Any) -> None:
        fetch(self, peer, array)
        if array.size > 2:
            self.call(np.negative, array, array)

    monkeypatch.setattr(VirtualDevice, "fetch", wrong)
    with pytest.raises(KernelError, match="without a solution"):
        made(setting("solve", "solve"), STENCIL, plain_devices).check()


def test_lines_override_what_a_strategy_cuts(plain_devices: tuple[VirtualDevice, ...]) -> None:
    parts = {}
    for cut in ("nonzeros", "rows"):
        work = made(setting("cold", "p*-opt", 3, merge="host", balance=cut), CUT, plain_devices)
        work.check()
        parts[cut] = work.fields()["nonzeros_by_device"]
    assert parts == {"nonzeros": (2, 3, 3), "rows": (4, 0, 4)}


def test_axes_say_what_applies() -> None:
    assert dict(setting("cold", "p*", 2, merge="device").axes) == {
        "devices": "2",
        "workload": "cold",
        "merge": "device",
    }
    assert dict(setting("cold", "p*", 2, merge="host", balance="rows").axes)["balance"] == "rows"
    resident = {"devices": "4", "workload": "resident", "balance": "rows", "kernel_library": "cusparse"}
    assert dict(setting("resident", devices=4, balance="rows", kernel_library="cusparse").axes) == resident
    iterated = {"devices": "3", "workload": "iterate", "exchange": "halo", "overlap": "on"}
    assert dict(setting("iterate", overlap=True).axes) == iterated
    assert dict(setting("iterate", exchange="all-gather").axes)["overlap"] == "off"
    ranks = setting("pagerank", "pagerank+cpms2", exchange="all-gather")
    assert dict(ranks.axes) == {"devices": "3", "workload": "pagerank", "exchange": "all-gather", "overlap": "off"}
    solve = setting("solve", "solve", overlap=True)
    assert (solve.kernel, dict(solve.axes)["exchange"], dict(solve.axes)["overlap"]) == ("pCSR/solve", "halo", "on")


def test_a_mapped_matrix_is_read_before_anything_is_timed(tmp_path: Any) -> None:
    np.save(tmp_path / "values.npy", GRID.values)
    mapped = np.load(tmp_path / "values.npy", mmap_mode="r")
    held = WorkloadData(CsrMatrix(*GRID.shape, GRID.indptr, GRID.indices, mapped)).matrix
    assert type(held.values) is np.ndarray
    np.testing.assert_array_equal(held.values, GRID.values)
    assert held.indptr is GRID.indptr


def test_the_order_of_entries_is_made_once_for_a_partitioning() -> None:
    data = WorkloadData(CUT)
    stored = data.stored("pCSC")
    assert data.stored("pCSC") is stored
    assert data.stored("pCOO").partitioning.name == "pCOO"


def test_pointers_of_a_cut_row_count_in_each_of_its_parts() -> None:
    """Entries 0, 1 | 2 … 4 | 5 … 7: rows 0 | 0, 1, 2 | 2, 3."""
    for name, index in (("pCSR", 4 * (2 + 4 + 3)), ("pCOO", 4 * 8)):
        stored = WorkloadData(CUT).stored(name)
        assert stored_bytes(stored, cut_by_entries(stored, (3,))) == 12 * 8 + index
