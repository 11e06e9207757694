"""Products iterated by actors, by value against SciPy, and what is said and done where some are lost.

The actors are threads here; those of Ray are in test_ray.py.
"""

import itertools
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import (
    ConflictError,
    DeviceLostError,
    DeviceMemoryError,
    InputError,
    ParameterError,
    SparsightError,
    UnavailableError,
)
from gpu_engine.multigpu.cluster import ClusterMatrix, DeviceLost, actor_pool, product
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.exchange import EXCHANGES, ExchangeName
from gpu_engine.multigpu.partition import Span, StoredMatrix, find_partitioning
from gpu_engine.multigpu.placement import DeviceSlot, find_places
from tests.battery import dense
from tests.gpu_engine.multigpu.cluster.thread_ray import ThreadRay
from tests.gpu_engine.multigpu.devices import LoggingDevice
from tests.gpu_engine.multigpu.stored import crossed, stored
from tests.gpu_engine.multigpu.test_exchange import check, iterated, overlaps, scaled, squares

N = 120
X = np.arange(float(N)) % 7 - 3

PLACES = [DeviceSlot(f"virtual:{i}", host, f"id-{host}", "CPU") for i, host in enumerate("aabb")]
"""Two on each of two hosts; unlike those that are found, no two have the same name."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return stored(tmp_path / "crossed", crossed(N))


@pytest.fixture
def ray() -> ThreadRay:
    return ThreadRay(a=2, b=2)


def read(matrix: ClusterMatrix, n: int = N) -> Any:
    found = np.full(n, np.nan)
    matrix.read(found)
    return found


Event = Callable[[], None]


class Moment(NamedTuple):
    """Which product of an iteration something happens in, of so many."""

    overlap: bool
    product: int
    products: int


IN_TURN, LOCAL, REMOTE = Moment(False, 1, 1), Moment(True, 1, 2), Moment(True, 2, 2)
"""Before the local product nothing is sent, before the others what is fetched; shares always come after."""

moments = pytest.mark.parametrize("moment", [IN_TURN, LOCAL, REMOTE], ids=["in turn", "local", "remote"])


class Scripted(LoggingDevice):
    """A device with poisoned memory; `events` has what happens in its products, by their number."""

    def __init__(self, name: str, node: int = 0) -> None:
        super().__init__(name, node)
        self.events: Mapping[int, Event] = {}
        self.products = itertools.count(1)

    def call(self, function: Any, *arguments: Any) -> None:
        if function is self.operations.multiply:
            self.events.get(next(self.products), lambda: None)()
        super().call(function, *arguments)


def scripted(moment: Moment = LOCAL, **events: Event) -> Callable[[str], Scripted]:
    """`d1_3=event`: on virtual:1 at that moment of its third iteration; `d1_0=event`: when it is opened."""

    def opened(name: str) -> Scripted:
        mine = {int(when[3:]): event for when, event in events.items() if name == f"virtual:{when[1]}"}
        mine.pop(0, lambda: None)()
        device = Scripted(name)
        # Loading a part multiplies once.
        device.events = {when * moment.products + moment.product: event for when, event in mine.items()}
        return device

    return opened


def raising(error: Exception) -> Event:
    def event() -> None:
        raise error

    return event


@overlaps
@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("count", [1, 3, 5])
@pytest.mark.parametrize("matrix", list(squares()))
def test_products_of_all_matrices(
    tmp_path: Path, matrix: CsrMatrix, count: int, exchange: ExchangeName, overlap: bool
) -> None:
    """Poisoned memory shows a read before its fetch; a second vector comes after the first."""
    matrix, ray = scaled(matrix), ThreadRay(a=count)
    folder, places = stored(tmp_path / "matrix", matrix), find_places(ray, "CPU")
    with ClusterMatrix(ray, folder, places, exchange=exchange, overlap=overlap, open_device=LoggingDevice) as driver:
        for seed, iterations in ((1, 5), (2, 2)):
            x = np.random.default_rng(seed).uniform(-1.0, 1.0, matrix.n_rows)
            driver.load(x)
            driver.advance(1)
            driver.advance(iterations - 1)
            check(matrix, x, iterations, read(driver, matrix.n_rows))


def test_ranges_of_a_vector_come_one_after_the_other(
    ray: ThreadRay, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actor_pool, "RANGE", 7)
    with ClusterMatrix(ray, folder, PLACES, open_device=scripted()) as matrix:
        matrix.load(X)
        np.testing.assert_array_equal(read(matrix), X)
        matrix.advance(6)
        np.testing.assert_array_equal(read(matrix), iterated(crossed(N), X, 6)[0])
        assert matrix.iteration == 6


class IndependentlyTimed:
    """An array of which only slices can be had; `log` has (name, begin, end) of each."""

    def __init__(self, name: str, array: Any, log: list[tuple[str, int, int]]) -> None:
        self.name, self.array, self.log = name, array, log

    def __getitem__(self, key: slice) -> Any:
        self.log.append((self.name, key.start, key.stop))
        return self.array[key]


def rows_with_remote(span: Span) -> int:
    """Rows of a part with entries whose columns it does not own."""
    rows = crossed(N).to_scipy().tocoo().row[span.start : span.end]
    columns = crossed(N).indices[span.start : span.end]
    return len(set(rows[(columns < span.owned.start) | (columns >= span.owned.stop)].tolist()))


@overlaps
def test_an_actor_reads_its_own_part_alone(
    ray: ThreadRay, folder: Path, monkeypatch: pytest.MonkeyPatch, overlap: bool
) -> None:
    """The driver, which looks at the borders, has the files; the actors have arrays that tell what is read.

    Where exchanges overlap with products the remote entries have pointers and numbers of their rows.
    """
    log: list[tuple[str, int, int]] = []
    whole = product.open_stored(folder)

    def watched(path: Path) -> StoredMatrix:
        assert path == folder
        arrays = (IndependentlyTimed(name, getattr(whole, name), log) for name in ("major", "minor", "values"))
        return StoredMatrix(whole.partitioning, N, N, *arrays)

    monkeypatch.setattr(product, "open_stored", watched)
    spans = cut_by_entries(find_partitioning("pCSR").store(crossed(N)), (4,))
    with ClusterMatrix(ray, folder, PLACES, overlap=overlap, open_device=scripted()) as matrix:
        assert matrix.actors.spans == spans
        found = [part.n_bytes for part in matrix.actors.parts]
        remote = [4 * (2 * rows_with_remote(span) + 1) if overlap else 0 for span in spans]
        assert found == [
            12 * s.entries + 4 * (s.stop - s.first + 1) + more for s, more in zip(spans, remote, strict=True)
        ]
    assert sorted(log) == sorted(
        [("major", s.first, s.stop + 1) for s in spans]
        + [(name, s.start, s.end) for s in spans for name in ("minor", "values")]
    )


def going_on(ray: ThreadRay, folder: Path, moment: Moment, open_device: Any) -> ClusterMatrix:
    """One that goes on with fewer devices from vectors kept every third iteration."""
    return ClusterMatrix(
        ray,
        folder,
        PLACES,
        overlap=moment.overlap,
        on_loss="continue",
        checkpoint_every=3,
        open_device=open_device,
    )


@moments
@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("iteration", [1, 4, 7])
def test_others_go_on_from_the_last_vector_that_was_kept(
    ray: ThreadRay, folder: Path, number: int, iteration: int, moment: Moment
) -> None:
    """Of vectors kept every third iteration; whether others have what the lost one owned or wait for it."""
    lost = PLACES[number]
    open_device = scripted(moment, **{f"d{number}_{iteration}": lambda: ray.lose(lost)})
    with going_on(ray, folder, moment, open_device) as matrix:
        x = X.copy()
        matrix.load(x)
        x[:] = np.nan
        for _ in range(4):
            matrix.advance(2)
        np.testing.assert_array_equal(read(matrix), iterated(crossed(N), X, 8)[0])
        assert matrix.losses == (DeviceLost(lost, iteration, (iteration - 1) // 3 * 3),)
        assert len(matrix.actors.spans) == 3


@moments
def test_a_host_that_is_lost_and_then_another_device(ray: ThreadRay, folder: Path, moment: Moment) -> None:
    """The devices that are left count from the vector that was kept: their sixth iteration is the ninth."""
    open_device = scripted(moment, d3_5=lambda: ray.lose(*PLACES[2:]), d0_6=lambda: ray.lose(PLACES[0]))
    with going_on(ray, folder, moment, open_device) as matrix:
        matrix.load(X)
        matrix.advance(10)
        np.testing.assert_array_equal(read(matrix), iterated(crossed(N), X, 10)[0])
        assert matrix.losses == (*(DeviceLost(place, 5, 3) for place in PLACES[2:]), DeviceLost(PLACES[0], 9, 6))
        assert len(matrix.actors.spans) == 1


@pytest.mark.parametrize("moment", ["load", "read"])
def test_what_is_lost_between_iterations_is_made_good(ray: ThreadRay, folder: Path, moment: str) -> None:
    with ClusterMatrix(ray, folder, PLACES, on_loss="continue", checkpoint_every=2, open_device=scripted()) as matrix:
        if moment == "load":
            ray.lose(PLACES[1])
        matrix.load(X)
        matrix.advance(5)
        if moment == "read":
            ray.lose(PLACES[1])
        np.testing.assert_array_equal(read(matrix), iterated(crossed(N), X, 5)[0])
        assert matrix.losses == (DeviceLost(PLACES[1], *((1, 0) if moment == "load" else (6, 4))),)


def test_a_device_that_does_not_even_start(ray: ThreadRay, folder: Path) -> None:
    open_device = scripted(d2_0=lambda: ray.lose(PLACES[2]))
    with ClusterMatrix(ray, folder, PLACES, on_loss="continue", open_device=open_device) as matrix:
        matrix.load(X)
        matrix.advance(2)
        np.testing.assert_array_equal(read(matrix), iterated(crossed(N), X, 2)[0])
        assert matrix.losses == (DeviceLost(PLACES[2], 1, 0),)
        assert not any(actor.alive for actor in ray.actors[:4])


@moments
def test_a_broken_context_is_a_lost_device(ray: ThreadRay, folder: Path, moment: Moment) -> None:
    open_device = scripted(moment, d1_2=raising(DeviceLostError("An illegal access.")))
    with ClusterMatrix(
        ray, folder, PLACES, overlap=moment.overlap, on_loss="continue", open_device=open_device
    ) as matrix:
        matrix.load(X)
        matrix.advance(4)
        np.testing.assert_array_equal(read(matrix), iterated(crossed(N), X, 4)[0])
        assert matrix.losses == (DeviceLost(PLACES[1], 2, 0),)


@moments
def test_the_error_names_what_was_lost(ray: ThreadRay, folder: Path, moment: Moment) -> None:
    open_device = scripted(moment, d3_5=lambda: ray.lose(*PLACES[2:]))
    words = r"iteration 5 was complete: b/virtual:2 \(node id-b\), b/virtual:3 \(node id-b\)\. It was ended\."
    with ClusterMatrix(ray, folder, PLACES, overlap=moment.overlap, open_device=open_device) as matrix:
        matrix.load(X)
        matrix.advance(4)
        for _ in range(2):
            with pytest.raises(DeviceLostError, match=words):
                matrix.advance(4)
        with pytest.raises(DeviceLostError, match=words):
            read(matrix)
        assert not any(actor.alive for actor in ray.actors)


def test_without_a_device_that_is_left_it_ends(ray: ThreadRay, folder: Path) -> None:
    open_device = scripted(d0_2=lambda: ray.lose(PLACES[0]))
    with ClusterMatrix(ray, folder, PLACES[:1], on_loss="continue", open_device=open_device) as matrix:
        matrix.load(X)
        with pytest.raises(DeviceLostError, match=r"before iteration 2 was complete: a/virtual:0"):
            matrix.advance(3)


def test_an_error_of_one_actor_ends_all(ray: ThreadRay, folder: Path) -> None:
    """It is no loss: with fewer devices it would come again."""
    open_device = scripted(d1_2=raising(DeviceMemoryError("Full.")))
    with ClusterMatrix(ray, folder, PLACES, on_loss="continue", open_device=open_device) as matrix:
        matrix.load(X)
        with pytest.raises(DeviceMemoryError, match=r"^Full\.$"):
            matrix.advance(3)
        assert matrix.losses == ()
        assert not any(actor.alive for actor in ray.actors)


def test_silence_is_not_waited_for(ray: ThreadRay, folder: Path) -> None:
    held = threading.Event()

    def silent() -> None:
        ray.silent.set()
        held.wait()

    try:
        with ClusterMatrix(ray, folder, PLACES, on_loss="continue", open_device=scripted(d1_2=silent)) as matrix:
            matrix.load(X)
            with pytest.raises(DeviceLostError, match=r"No response within 600 s from .*a/virtual:1"):
                matrix.advance(3)
    finally:
        held.set()


def test_actors_end_with_the_block(ray: ThreadRay, folder: Path) -> None:
    with ClusterMatrix(ray, folder, PLACES, open_device=scripted()) as matrix:
        assert [actor.alive for actor in ray.actors] == [True] * 4
    assert [actor.alive for actor in ray.actors] == [False] * 4
    for call in (lambda: matrix.actors, lambda: matrix.load(X)):
        with pytest.raises(ConflictError, match="Use the matrix inside a with statement"):
            call()
    assert len(ray.actors) == 4


def test_vectors_that_do_not_fit_are_refused(ray: ThreadRay, folder: Path) -> None:
    with ClusterMatrix(ray, folder, PLACES, open_device=scripted()) as matrix:
        for call in (lambda: matrix.advance(1), lambda: read(matrix)):
            with pytest.raises(ConflictError, match="Call load first"):
                call()
        for x in (np.ones(N + 1), np.ones(N, np.float32)):
            for with_vector in (matrix.load, matrix.read):
                with pytest.raises(InputError, match=rf"needs float64 \({N},\)"):
                    with_vector(x)
        matrix.load(X)
        np.testing.assert_array_equal(read(matrix), X)


def test_matrices_that_cannot_be_iterated_are_refused(ray: ThreadRay, tmp_path: Path) -> None:
    wide = stored(tmp_path / "wide", dense([[1, 2, 3], [4, 5, 6]]))
    torn = stored(tmp_path / "torn", crossed(N))
    np.save(torn / "indices.npy", np.zeros(5, np.int32))
    cases: list[tuple[Path, list[DeviceSlot], type[SparsightError], str]] = [
        (wide, PLACES, ParameterError, r"not square \(2 × 3\)"),
        (torn, PLACES, InputError, "do not form a CSR matrix of 120 × 120"),
        (tmp_path / "nowhere", PLACES, InputError, "Every host needs it at the same path"),
        (stored(tmp_path / "whole", crossed(N)), [], ParameterError, "0 devices"),
    ]
    for folder, places, kind, words in cases:
        with pytest.raises(kind, match=words):
            ClusterMatrix(ray, folder, places)


def test_places_are_those_of_the_nodes_that_are_there() -> None:
    """`c` is dead; of two or four devices half are on each of the others."""
    ray = ThreadRay(b=3, c=-8, a=2)
    assert [(place.host, place.device) for place in find_places(ray, "CPU")] == [
        *(("a", f"virtual:{i}") for i in range(2)),
        *(("b", f"virtual:{i}") for i in range(3)),
    ]
    for count in (2, 4):
        names = [f"{host}/virtual:{i} (node id-{host})" for host in "ab" for i in range(count // 2)]
        assert [str(place) for place in find_places(ray, "CPU", count)] == names


@pytest.mark.parametrize(("resource", "count"), [("GPU", None), ("CPU", 6), ("CPU", 0)])
def test_places_that_are_not_there_are_refused(resource: Any, count: int | None) -> None:
    with pytest.raises(UnavailableError, match=f"of the resource {resource}"):
        find_places(ThreadRay(a=2, b=3), resource, count)
