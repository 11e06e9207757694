"""cuSPARSE on a batch, with SciPy in its place: what is asked of the library, and of the streams. tests/gpu asks it."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from gpu_engine.batched import KERNELS
from gpu_engine.batched.composition import Composition
from gpu_engine.competitors import cusparse, cusparse_library
from gpu_engine.competitors.batches import BRANCHES, DIAGONALS, LOOPS, PEERS, peer_names, peers_on
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.formats import ell
from gpu_engine.formats.base import max_row_length
from tests.battery import dense
from tests.gpu_engine.launches import noted

A = dense([[1, 0, 2], [0, 0, 0], [3, 4, 0]])
B = dense([[0, 5, 0, 0, 0]])
NOTHING = CsrMatrix.from_scipy(np.zeros((2, 4)))

BY_NAME = {kernel.name: kernel for kernel in (*PEERS, *DIAGONALS)}


class Log:
    """A GPU that keeps what it was told, in order; `now` is the current stream, `handle` that of the library."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any, Any]] = []
        self.now: Any = None
        self.handle: Any = None


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Log:
    """Streams, events and the library's product, all in Python."""
    log = Log()

    class Event:
        def __init__(self, disable_timing: bool) -> None:
            assert disable_timing

    class Stream:
        def __init__(self, non_blocking: bool = True) -> None:
            assert non_blocking

        def use(self) -> None:
            log.now = self

        def __enter__(self) -> None:
            log.now = self

        def __exit__(self, *_: object) -> None:
            # As CuPy does: the stream of the `with` around this one, not the one in `use`.
            log.now = None

        def record(self, event: Event) -> Event:
            log.said.append(("record", self, event))
            return event

        def wait_event(self, event: Event) -> None:
            log.said.append(("wait", self, event))

    def bind(matrix: Any, algorithm: int, x: Any, y: Any, adds: bool) -> Callable[[], None]:
        assert algorithm == cusparse.CSR_ALG1
        log.said.append(("bind", log.now, matrix))

        def multiply() -> None:
            # On the stream that the handle was set to, whichever is current.
            log.said.append(("multiply", log.handle, matrix))
            y[:] = matrix @ x + (y if adds else 0.0)

        return multiply

    def shared_handle() -> None:
        log.handle = log.now

    log.now = Stream()
    cuda = SimpleNamespace(Event=Event, Stream=Stream, get_current_stream=lambda: log.now)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda))
    monkeypatch.setattr(cusparse, "csr", CsrMatrix.to_scipy)
    monkeypatch.setattr(cusparse, "bind", bind)
    monkeypatch.setattr(cusparse_library, "shared_handle", shared_handle)
    monkeypatch.setattr(CudaSource, "bound", noted(lambda name, *launch: ELL_KERNELS[name](*launch)))
    return log


def ell_kernel(adds: bool) -> Callable[..., None]:
    """What a launch of our kernel of ELL does."""

    def launch(blocks: int, threads: int, arguments: Any, _: int) -> None:
        n_rows, width, columns, values, x, y = arguments
        assert blocks * threads >= n_rows
        assert columns.shape == values.shape == (width, n_rows)
        totals = np.where(columns >= 0, values * x[np.maximum(columns, 0)], 0.0).sum(axis=0)
        y[:] = totals + (y if adds else 0.0)

    return launch


ELL_KERNELS = {f"ell_thread<{str(adds).lower()}, {ell.AHEAD}>": ell_kernel(adds) for adds in (False, True)}


def mixed(count: int) -> Composition:
    return Composition.mixed([A, NOTHING, B], count)


@pytest.mark.parametrize("name", peer_names("cuda")[:-1])
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("count", [3, 50])
def test_every_problem_multiplies_its_part_of_x_into_its_part_of_y(name: str, adds: bool, count: int, log: Log) -> None:
    composition = mixed(count)
    batch, expected = composition.batch(np), composition.reference(adds=adds)
    layout = BY_NAME[name].store(batch)
    y = composition.start() if adds else np.full(expected.y.size, np.nan)
    product: Callable[..., None] | None = BY_NAME[name].cuda
    assert product is not None
    for _ in range(2):
        product(layout, expected.x, y, adds)
        np.testing.assert_allclose(y, expected.y, atol=1e-14)
        y[...] = composition.start() if adds else np.nan
    assert layout.to_batch() is batch
    if name.startswith("cusparse"):
        # The library is not asked for what has no entries, and prepares each product once.
        filled = sum(batch.problem(p).nnz > 0 for p in range(count))
        asked = [said for said, _, _ in log.said]
        assert (asked.count("bind"), asked.count("multiply")) == (filled, 2 * filled)
        assert layout.stored_bytes == batch.indptr.nbytes + batch.indices.nbytes + batch.values.nbytes
    else:
        assert layout.stored_bytes == BY_NAME[name].bytes_needed(batch)
        # Columns of all slots, values of entries.
        slots = sum(m.n_rows * max_row_length(m) for m in map(batch.problem, range(count)))
        assert BY_NAME[name].layout_bytes(layout) == 4 * slots + 8 * batch.nnz


def test_other_vectors_have_calls_of_their_own(log: Log) -> None:
    kernel, composition = BY_NAME["ell/loop"], mixed(9)
    assert kernel.cuda is not None
    layout = kernel.store(composition.batch(np))
    for seed in (0, 1):
        expected = composition.reference(seed)
        y = np.full(expected.y.size, np.nan)
        kernel.cuda(layout, expected.x, y, False)
        np.testing.assert_allclose(y, expected.y, atol=1e-14)


def test_a_loop_is_timed_with_its_launches() -> None:
    assert [kernel.name for kernel in PEERS if not kernel.captured] == ["cusparse/loop", "ell/loop"]
    assert all(kernel.captured for kernel in (*KERNELS, *DIAGONALS))


def test_branches_fork_and_join_and_share_the_problems_equally(log: Log) -> None:
    current, composition = log.now, Composition.mixed([A, B], 50)
    kernel = BY_NAME["cusparse/branches"]
    assert kernel.cuda is not None
    kernel.cuda(kernel.store(composition.batch(np)), np.zeros(composition.n_cols), np.zeros(composition.n_rows), False)
    assert log.now is current
    # What is prepared stays out of the graph.
    log.said = [entry for entry in log.said if entry[0] != "bind"]
    forks = [event for said, stream, event in log.said if said == "record" and stream is current]
    joins = {stream: event for said, stream, event in log.said if said == "record" and stream is not current}
    assert (len(forks), len(joins)) == (1, BRANCHES)
    for stream, join in joins.items():
        own = [(said, what) for said, where, what in log.said if where is stream]
        # It waits for the fork, multiplies its share and records its end, for which the current stream waits.
        assert own[0] == ("wait", forks[0])
        assert [said for said, _ in own[1:-1]] == ["multiply"] * (len(own) - 2)
        assert len(own) - 2 in (50 // BRANCHES, 50 // BRANCHES + 1)
        assert own[-1] == ("record", join)
        assert log.said.index(("wait", current, join)) > log.said.index(("record", stream, join))


def test_the_chain_runs_on_the_current_stream(log: Log) -> None:
    kernel, composition = BY_NAME["cusparse/chain"], mixed(5)
    assert kernel.cuda is not None
    kernel.cuda(kernel.store(composition.batch(np)), np.zeros(composition.n_cols), np.zeros(composition.n_rows), True)
    assert {stream for _, stream, _ in log.said} == {log.now}


def test_the_block_diagonal_matrix_takes_the_bytes_of_its_format() -> None:
    batch = Composition((A, B), np.array([0, 1, 0])).batch(np)
    needed = {kernel.name: kernel.bytes_needed(batch) for kernel in DIAGONALS}
    # 9 entries in 7 rows, the longest of 2, and columns of its own.
    assert needed == {
        "cusparse/csr_alg1": 12 * 9 + 4 * 8 + 4 * 9,
        "cusparse/csr_alg2": 12 * 9 + 4 * 8 + 4 * 9,
        "cusparse/coo_alg1": 16 * 9 + 4 * 9,
        "cusparse/coo_alg2": 16 * 9 + 4 * 9,
        "cusparse/sell_alg1": 12 * 32 * 2 + 4 * 9,
    }


def test_algorithms_of_one_format_share_a_layout() -> None:
    stores = {name: kernel.store for name, kernel in BY_NAME.items()}
    assert stores["cusparse/csr_alg1"] is stores["cusparse/csr_alg2"]
    assert stores["cusparse/coo_alg1"] is stores["cusparse/coo_alg2"]
    # A loop and its capture are the same calls.
    assert stores["cusparse/loop"] is stores["cusparse/chain"]
    assert stores["ell/loop"] is stores["ell/chain"]
    assert len(set(stores.values())) == len(stores) - 4


def test_the_names_of_a_backend() -> None:
    # A batch is multiplied by what multiplies any matrix, and adds to y.
    diagonals = tuple(f"cusparse/{variant}" for variant in cusparse.ALGORITHMS)
    assert tuple(kernel.name for kernel in DIAGONALS) == diagonals
    loops = ("cusparse/loop", "cusparse/chain", "cusparse/branches", "ell/loop", "ell/chain")
    assert peer_names("cuda") == (*loops, "cusparse/best")
    assert peer_names("cpu") == ("scipy/loop",)
    assert (*loops, "scipy/loop") == LOOPS
    assert [kernel.name for kernel in peers_on("cuda")] == [*loops, *diagonals]
