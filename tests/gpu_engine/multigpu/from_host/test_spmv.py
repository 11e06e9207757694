"""Products of all strategies, by value against SciPy; what is done where, and which phase it belongs to."""

import gc
import itertools
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import InputError, ParameterError
from gpu_engine.multigpu.base import Device
from gpu_engine.multigpu.from_host.spmv import PHASES, DistributedMatrix, Phases
from gpu_engine.multigpu.from_host.strategies import PAPER_STRATEGIES, STRATEGIES, Strategy, find_strategy
from gpu_engine.multigpu.merge import MERGES
from gpu_engine.multigpu.partition import PARTITIONINGS, Partitioning, StoredMatrix, find_partitioning
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import virtual_devices
from gpu_engine.verify import EPSILON, POISON, Reference, check, reference
from tests.battery import BATTERY, dense
from tests.gpu_engine.multigpu.devices import LoggingDevice, logging_devices

partitionings = pytest.mark.parametrize("partitioning", PARTITIONINGS, ids=lambda p: p.name)
strategies = pytest.mark.parametrize("strategy", PAPER_STRATEGIES, ids=lambda s: s.name)

MOST_DEVICES = 44
"""More than the rows, and than the columns, of the smaller matrices of the battery."""


@pytest.fixture(scope="module")
def devices() -> Iterator[tuple[LoggingDevice, ...]]:
    with logging_devices(MOST_DEVICES) as found:
        yield found


def no_clock() -> Phases:
    return Phases(lambda: 0.0)


def check_scaled(matrix: CsrMatrix, expected: Reference, y: Any, y_old: Any, alpha: float, beta: float) -> None:
    """As `verify.check`, for y := α·A·x + β·y: two more roundings a row, and |β·y| in the scale."""
    scale = abs(alpha) * expected.scale + abs(beta * y_old)
    check(Reference(expected.x, alpha * expected.y + beta * y_old, scale, expected.limit + 4.0), y)


def device_counts(stored: StoredMatrix) -> Iterator[int]:
    yield from (1, 2, 3, 8)
    if stored.n_lines + 2 <= MOST_DEVICES:
        yield stored.n_lines + 2


def check_products(distributed: DistributedMatrix, matrix: CsrMatrix, expected: Reference) -> None:
    """Without y, which is poisoned, then with it."""
    y = np.full(matrix.n_rows, POISON)
    distributed.multiply(expected.x, y, no_clock())
    check(expected, y)
    y_old = np.random.default_rng(1).uniform(-1.0, 1.0, matrix.n_rows)
    y = y_old.copy()
    distributed.multiply(expected.x, y, no_clock(), alpha=2.0, beta=-0.5)
    check_scaled(matrix, expected, y, y_old, 2.0, -0.5)


@partitionings
@pytest.mark.parametrize("name", BATTERY)
def test_products(devices: Sequence[LoggingDevice], name: str, partitioning: Partitioning) -> None:
    """Every strategy on every number of devices, y poisoned where it must not be read; then with y, as resident."""
    matrix = BATTERY[name]()
    stored, expected = partitioning.store(matrix), reference(matrix)
    for strategy, count in itertools.product(PAPER_STRATEGIES, device_counts(stored)):
        with DistributedMatrix(stored, devices[:count], strategy, no_clock()) as distributed:
            check_products(distributed, matrix, expected)


@partitionings
@strategies
@pytest.mark.parametrize("place", MERGES)
@pytest.mark.parametrize("name", ["small_by_hand", "empty_rows_and_columns", "one_dense_row", "one_dense_column"])
def test_products_merged_elsewhere_than_in_the_paper(
    devices: Sequence[LoggingDevice], name: str, place: Any, strategy: Strategy, partitioning: Partitioning
) -> None:
    matrix = BATTERY[name]()
    stored, expected = partitioning.store(matrix), reference(matrix)
    y_old = np.random.default_rng(1).uniform(-1.0, 1.0, matrix.n_rows)
    for count in (1, 3, 8):
        with DistributedMatrix(stored, devices[:count], strategy, no_clock(), place) as distributed:
            y = np.full(matrix.n_rows, POISON)
            distributed.multiply(expected.x, y, no_clock(), alpha=-3.0)
            check_scaled(matrix, expected, y, np.zeros(matrix.n_rows), -3.0, 0.0)
            y = y_old.copy()
            distributed.multiply(expected.x, y, no_clock(), alpha=2.0, beta=-0.5)
            check_scaled(matrix, expected, y, y_old, 2.0, -0.5)


@partitionings
@strategies
def test_a_row_in_many_parts_by_hand(partitioning: Partitioning, strategy: Strategy) -> None:
    """Row 1 has 7 of 9 entries: with five parts it lies in at least three. All numbers are exact in fp64."""
    matrix = dense([[1, 0, 0, 0, 0, 0, 0], [1, 2, 3, 4, 5, 6, 7], [0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0, 8]])
    y = np.array([10.0, 20.0, 30.0, 40.0])
    stored = partitioning.store(matrix)
    with logging_devices(5) as devices, DistributedMatrix(stored, devices, strategy, no_clock()) as distributed:
        distributed.multiply(np.arange(1.0, 8.0), y, no_clock(), alpha=0.5, beta=-1.0)
    assert y.tolist() == [-9.5, 50.0, -30.0, -12.0]


@partitionings
@strategies
def test_a_wrong_part_is_found(
    devices: Sequence[LoggingDevice], partitioning: Partitioning, strategy: Strategy
) -> None:
    """A value of the matrix that changes by 10⁻⁶ shows, so that `check` would see a part multiplied wrongly."""
    matrix = BATTERY["band"]()
    stored, expected = partitioning.store(matrix), reference(matrix)
    stored.values[stored.nnz // 2] *= 1 + 1e-6
    y = np.full(matrix.n_rows, POISON)
    with DistributedMatrix(stored, devices[:3], strategy, no_clock()) as distributed:
        distributed.multiply(expected.x, y, no_clock())
    errors = abs(y - expected.y) / (EPSILON * expected.scale)
    assert np.count_nonzero(errors > expected.limit) == 1


@partitionings
@strategies
def test_devices_have_copies_of_their_parts(partitioning: Partitioning, strategy: Strategy) -> None:
    matrix = BATTERY["band"]()
    stored, expected = partitioning.store(matrix), reference(matrix)
    with logging_devices(3) as devices, DistributedMatrix(stored, devices, strategy, no_clock()) as distributed:
        for array in (stored.minor, stored.values, stored.major):
            array[:] = 0
        y = np.full(matrix.n_rows, POISON)
        distributed.multiply(expected.x, y, no_clock())
    check(expected, y)


def log_of(
    name: str, strategy: str, nodes: tuple[int, ...] = (0, 0, 0), beta: float = 0.0
) -> tuple[list[list[str]], list[list[str]], list[set[int]]]:
    """(launches while the matrix is distributed, those of a product, host threads that sent parts) of each device."""
    matrix = BATTERY["band"]()
    x, y = np.ones(matrix.n_cols), np.ones(matrix.n_rows)
    with logging_devices(len(nodes), nodes) as devices:
        stored = find_partitioning(name).store(matrix)
        with DistributedMatrix(stored, devices, find_strategy(strategy), no_clock()) as distributed:
            threads = [{thread for name, thread in device.log if name == "copyto"} for device in devices]
            first = [device.launches() for device in devices]
            distributed.multiply(x, y, no_clock(), beta=beta)
            return first, [device.launches() for device in devices], threads


@partitionings
def test_the_matrix_is_sent_once(partitioning: Partitioning) -> None:
    """A resident product sends x alone, and copies partial results back."""
    first, product, _ = log_of(partitioning.name, "baseline")
    assert first == [["copyto"] * 3] * 3
    assert product == [["copyto", "multiply", "copyto"]] * 3


def test_p_opt_lets_devices_write_their_lines_and_the_first_gather_columns() -> None:
    for partitioning in PARTITIONINGS:
        assert log_of(partitioning.name, "p*")[0] == [["copyto"] * 3] * 3
        first, product, _ = log_of(partitioning.name, "p*-opt", beta=1.0)
        assert first == [["copyto"] * 3 + ["rewrite"]] * 3
        if partitioning.axis == "rows":
            assert product == [["copyto", "multiply", "copyto"]] * 3
        else:
            # The first has y too; it waits for the others' results, adds each, scales and sends.
            added = ["result"] * 2 + ["copyto", "add"] * 2
            assert product[0] == ["copyto", "copyto", "multiply", *added, "combine", "copyto"]
            assert product[1:] == [["copyto", "multiply"]] * 2


def test_threads_of_the_host() -> None:
    """The baseline sends all parts from the caller's thread, the others none."""
    assert log_of("pCSR", "baseline")[2] == [{threading.get_ident()}] * 3
    for strategy in ("p*", "p*-opt"):
        assert all(threading.get_ident() not in threads for threads in log_of("pCSR", strategy)[2])


def test_threads_that_are_given_are_left_to_their_owner() -> None:
    """Those that a matrix starts end with it."""
    strategy, stored = find_strategy("p*"), find_partitioning("pCSR").store(BATTERY["band"]())
    with logging_devices(2) as devices:
        given = strategy.start_threads(devices)
        with DistributedMatrix(stored, devices, strategy, no_clock(), threads=given):
            pass
        assert [thread.submit(int).result() for thread in given] == [0, 0]
        for thread in given:
            thread.shutdown()
        with DistributedMatrix(stored, devices, strategy, no_clock()) as matrix:
            own = matrix._threads
        assert len(own) == 2
        for thread in own:
            with pytest.raises(RuntimeError):
                thread.submit(int)


def test_threads_of_the_host_work_at_the_same_time() -> None:
    """Each waits for the others where its part is sent: one after the other would never get there."""
    barrier = threading.Barrier(3, timeout=60.0)

    class Meeting(LoggingDevice):
        def synchronize(self) -> None:
            if not barrier.broken and not met.is_set():
                barrier.wait()
                met.set()
            super().synchronize()

    met = threading.Event()
    devices = [Meeting(f"virtual:{i}") for i in range(3)]
    try:
        stored = find_partitioning("pCSR").store(BATTERY["band"]())
        with DistributedMatrix(stored, devices, find_strategy("p*"), no_clock()):
            assert met.is_set()
            assert not barrier.broken
    finally:
        for device in devices:
            device.close()


def test_only_p_opt_cuts_among_nodes_first() -> None:
    """Of ten entries the three devices of the first node get seven together; the baseline gives one device all."""
    stored = find_partitioning("pCOO").store(dense([[1.0] * 10]))
    with logging_devices(4, (0, 0, 0, 1)) as devices:
        starts = {s.name: [span.start for span in s.cut(stored, devices)] for s in PAPER_STRATEGIES}
    assert starts == {"baseline": [0, 0, 0, 0], "p*": [0, 2, 5, 7], "p*-opt": [0, 2, 4, 7]}


@pytest.mark.parametrize(
    ("strategy", "partition"), [("baseline", 1.0), ("p*", 1.0), ("p*-opt", 2.0)], ids=lambda value: str(value)
)
def test_phases_are_timed_apart(devices: Sequence[LoggingDevice], strategy: str, partition: float) -> None:
    """By a clock that advances a second at each look, of which a block has two; room for the merge is made in one."""
    matrix = BATTERY["band"]()
    seconds = itertools.count()
    cold = Phases(lambda: float(next(seconds)))
    x, y = np.ones(matrix.n_cols), np.ones(matrix.n_rows)
    stored = find_partitioning("pCSR").store(matrix)
    with DistributedMatrix(stored, devices[:2], find_strategy(strategy), cold) as distributed:
        distributed.multiply(x, y, cold)
        resident = Phases(lambda: float(next(seconds)))
        distributed.multiply(x, y, resident)
    assert cold.seconds == {"partition": partition, "distribute": 2.0, "compute": 1.0, "merge": 2.0}
    assert resident.seconds == {"partition": 0.0, "distribute": 1.0, "compute": 1.0, "merge": 1.0}
    assert tuple(cold.seconds) == PHASES


class CountedPhases(Phases):
    """Which phase it is, or none."""

    now = ""

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self.now = name
        with super().phase(name):
            yield
        self.now = ""


@partitionings
@strategies
@pytest.mark.parametrize("place", MERGES)
def test_all_that_is_allocated_or_launched_lies_in_a_phase(
    place: Any, strategy: Strategy, partitioning: Partitioning
) -> None:
    phases, found = CountedPhases(lambda: 0.0), set()

    class Watched(LoggingDevice):
        def allocate(self, size: int, dtype: Any) -> Any:
            found.add(phases.now)
            return super().allocate(size, dtype)

        def _launch(self, work: Any, *arguments: Any) -> None:
            found.add(phases.now)
            super()._launch(work, *arguments)

    devices = [Watched(f"virtual:{i}") for i in range(3)]
    try:
        matrix = BATTERY["band"]()
        stored = partitioning.store(matrix)
        threads = strategy.start_threads(devices)
        with DistributedMatrix(stored, devices, strategy, phases, place, threads) as distributed:
            distributed.multiply(np.ones(matrix.n_cols), np.ones(matrix.n_rows), phases, 2.0, 3.0)
        for thread in threads:
            assert thread.submit(int, "1").result() == 1, "the caller's go on"
            thread.shutdown()
    finally:
        for device in devices:
            device.close()
    assert found <= set(PHASES)


def test_the_work_lies_in_the_phase_that_is_named_for_it() -> None:
    """A clock that only the device advances: by what it is asked for, and by its product when the host waits for it."""
    now, waited = [0.0], threading.Event()

    class Slow(LoggingDevice):
        def upload(self, host: Any, array: Any) -> None:
            now[0] += 1.0
            super().upload(host, array)

        def call(self, function: Any, *arguments: Any) -> None:
            super().call(function, *arguments)
            now[0] += {"rewrite": 10.0, "combine": 1000.0}.get(function.__name__, 0.0)
            if function is self.operations.multiply:
                waited.clear()
                self._launch(self._end_of_product)

        def _end_of_product(self) -> None:
            waited.wait(60.0)
            now[0] += 100.0

        def synchronize(self) -> None:
            waited.set()
            super().synchronize()

    device, phases, matrix = Slow("virtual:0"), Phases(lambda: now[0]), BATTERY["band"]()
    try:
        stored = find_partitioning("pCSC").store(matrix)
        with DistributedMatrix(stored, [device], find_strategy("p*-opt"), phases) as distributed:
            # Three arrays, x, and y, which is read.
            distributed.multiply(np.ones(matrix.n_cols), np.ones(matrix.n_rows), phases, beta=1.0)
    finally:
        device.close()
    assert phases.seconds == {"partition": 10.0, "distribute": 5.0, "compute": 100.0, "merge": 1000.0}


@strategies
def test_what_fails_on_a_device_is_raised(strategy: Strategy) -> None:
    class Failing(LoggingDevice):
        def call(self, function: Any, *arguments: Any) -> None:
            super().call(function, *arguments)
            if function is self.operations.multiply:
                self._launch(lambda: 1 // 0)

    matrix = BATTERY["band"]()
    devices: list[Device] = [LoggingDevice("virtual:0"), Failing("virtual:1")]
    try:
        stored = find_partitioning("pCSR").store(matrix)
        x, y = np.ones(matrix.n_cols), np.ones(matrix.n_rows)
        distributed = DistributedMatrix(stored, devices, strategy, no_clock())
        with distributed, pytest.raises(ZeroDivisionError):
            distributed.multiply(x, y, no_clock())
    finally:
        for device in devices:
            assert isinstance(device, LoggingDevice)
            device.close()


@pytest.mark.parametrize(
    ("x", "y", "words"),
    [
        (np.ones(4), np.ones(4), r"x is float64 \(4,\), but a matrix of 4 × 5 needs float64 \(5,\)"),
        (np.ones(5), np.ones(5), r"y is float64 \(5,\), but a matrix of 4 × 5 needs float64 \(4,\)"),
        (np.ones(5, np.float32), np.ones(4), "x is float32"),
    ],
)
def test_vectors_that_do_not_fit_are_refused(devices: Sequence[LoggingDevice], x: Any, y: Any, words: str) -> None:
    stored = find_partitioning("pCSR").store(BATTERY["small_by_hand"]())
    distributed = DistributedMatrix(stored, devices[:2], STRATEGIES[0], no_clock())
    with distributed, pytest.raises(InputError, match=words):
        distributed.multiply(x, y, no_clock())


@strategies
def test_no_device_is_refused(strategy: Strategy) -> None:
    with pytest.raises(ParameterError, match="at least one device"):
        DistributedMatrix(find_partitioning("pCSR").store(BATTERY["band"]()), [], strategy, no_clock())


def test_names_find_their_strategies() -> None:
    assert [find_strategy(s.name) for s in STRATEGIES] == list(STRATEGIES)
    with pytest.raises(ParameterError, match=r"'p'; known strategies: baseline, p\*, p\*-opt"):
        find_strategy("p")


def test_memory_is_given_back_at_once() -> None:
    """Without the collector of cycles: a product after the other would need room for all of them."""
    with virtual_devices(simulated((2,))) as devices:
        stored = find_partitioning("pCSR").store(BATTERY["band"]())
        gc.disable()
        try:
            for place in MERGES:
                with DistributedMatrix(stored, devices, find_strategy("p*-opt"), no_clock(), place) as matrix:
                    matrix.multiply(np.ones(stored.n_cols), np.empty(stored.n_rows), no_clock())
                held = weakref.ref(matrix)
                del matrix
                assert held() is None
        finally:
            gc.enable()
