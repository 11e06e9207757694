"""What arrives of a vector, in segments bit for bit against the reference of the layout."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine import cpms
from gpu_engine.cpms.layout import padded_size
from gpu_engine.errors import ParameterError
from gpu_engine.multigpu.cpu_operations import gather, unpack
from gpu_engine.multigpu.exchange import Transfer
from gpu_engine.multigpu.partition import Span
from gpu_engine.multigpu.peer_copies import PeerCopies
from gpu_engine.multigpu.topology import simulated
from gpu_engine.multigpu.virtual import virtual_devices
from tests.gpu_engine.multigpu.scheduled import Order

ways = pytest.mark.parametrize("packed", [False, True], ids=["where they lie", "packed"])
PRECISIONS = [(segments, k) for segments in cpms.SEGMENTS for k in range(1, segments + 1)]


def segmented(values: Any, segments: int) -> cpms.Segmented:
    vector = cpms.allocate(values.size, segments)
    cpms.write(vector, values, segments)
    return vector


def random_bits(rng: np.random.Generator, n: int) -> Any:
    """Doubles of any bits, so that every bit of a segment counts; also numbers that are none."""
    return rng.integers(0, 2**64, n, dtype=np.uint64).view(np.float64)


def poisoned(n: int, segments: int) -> cpms.Segmented:
    """A vector whose bits are all set: no segment of a value that must not be written is zero."""
    storage = np.zeros(padded_size(n, segments))
    vector = cpms.Segmented(storage, n, segments)
    vector.units[:] = np.iinfo(vector.units.dtype).max
    return vector


def bits(vector: cpms.Segmented, k: int) -> Any:
    return cpms.read(vector, k).view(np.uint64)


def keep(values: Any, segments: int, k: int) -> Any:
    """The first k segments of the bits of doubles."""
    dropped = np.uint64(64 - 64 // segments * k)
    return values.view(np.uint64) >> dropped << dropped


@st.composite
def cuts(draw: st.DrawFn) -> tuple[int, list[Span], list[slice]]:
    """(n, the lines of each device, what each wants); borders lie anywhere, also within a group."""
    n = draw(st.integers(1, 300))
    borders = sorted(draw(st.lists(st.integers(0, n), min_size=1, max_size=4)))
    places = [0, *borders, n]
    spans = [Span(0, 0, first, stop, start_flag=False) for first, stop in itertools.pairwise(places)]
    wanted = [slice(*sorted(draw(st.tuples(st.integers(0, n), st.integers(0, n))))) for _ in spans]
    return n, spans, wanted


def transfers_of(spans: list[Span], wanted: list[slice]) -> list[Transfer]:
    """Between vectors as long as the whole, in which elements keep their places."""
    return [
        Transfer(source, target, begin, end, begin)
        for target, whole in enumerate(wanted)
        for source, span in enumerate(spans)
        if source != target and (begin := max(span.first, whole.start)) < (end := min(span.stop, whole.stop))
    ]


@ways
@pytest.mark.parametrize(("segments", "k"), PRECISIONS)
@settings(max_examples=40, deadline=None)
@given(cut=cuts(), seed=st.integers(0, 2**32))
def test_what_arrives_are_the_first_segments_and_no_more(
    segments: int, k: int, packed: bool, cut: tuple[int, list[Span], list[slice]], seed: int
) -> None:
    """Twice, with other values, in any order of the streams; what was not wanted keeps its poison."""
    n, spans, wanted = cut
    order, rng = Order(seed), np.random.default_rng(seed)
    devices = [order.device(f"virtual:{i}") for i in range(len(spans))]
    exchange = PeerCopies(devices, transfers_of(spans, wanted), segments, packed)
    rounds = [random_bits(rng, n) for _ in range(2)]
    vectors = []
    for values in rounds:
        vectors.append([poisoned(n, segments) for _ in spans])
        for vector, span in zip(vectors[-1], spans, strict=True):
            pack_own(segmented(values, segments), vector, span.owned)
        exchange.launch(vectors[-1], k)
    devices[0].synchronize()
    for values, found in zip(rounds, vectors, strict=True):
        source = segmented(values, segments)
        for vector, span, whole in zip(found, spans, wanted, strict=True):
            arrived = np.zeros(n, bool)
            arrived[whole] = True
            arrived[span.owned] = False
            np.testing.assert_array_equal(bits(vector, k)[arrived], bits(source, k)[arrived])
            np.testing.assert_array_equal(bits(source, k), keep(values, segments, k))
            # Later segments of what arrived, and all of what did not, are as before.
            rest = np.uint64(2 ** (64 - 64 // segments * k) - 1)
            assert (bits(vector, segments)[arrived] & rest == rest).all()
            untouched = ~arrived
            untouched[span.owned] = False
            assert (bits(vector, segments)[untouched] == np.uint64(2**64 - 1)).all()
            np.testing.assert_array_equal(bits(vector, segments)[span.owned], values.view(np.uint64)[span.owned])
    assert order.fetched_bytes == 2 * exchange.exchanged_bytes(k)


def pack_own(source: cpms.Segmented, target: cpms.Segmented, own: slice) -> None:
    """Copies the values that a device owns, by the reference."""
    values = cpms.read(target, target.segments)
    values[own] = cpms.read(source, source.segments)[own]
    cpms.write(target, values, target.segments)


@pytest.mark.parametrize(("segments", "size"), [(2, 4), (4, 2)])
def test_one_head_of_two_is_half_of_the_bytes(segments: int, size: int) -> None:
    """Devices with 10 and 7 values want all: 17 cross."""
    spans = [Span(0, 0, 0, 10, start_flag=False), Span(0, 0, 10, 17, start_flag=False)]
    with virtual_devices(simulated((2,))) as devices:
        exchange = PeerCopies(devices, transfers_of(spans, [slice(0, 17)] * 2), segments)
        assert [exchange.exchanged_bytes(k) for k in range(1, segments + 1)] == [
            17 * size * k for k in range(1, segments + 1)
        ]


def test_packed_segments_by_hand() -> None:
    """Values 31 to 33 of two segments: the last of a group of 32 and the first two of the next."""
    values = np.arange(40, dtype=np.uint64) + (np.arange(40, dtype=np.uint64) << np.uint64(40))
    vector, packed = segmented(values.view(np.float64), 2), np.zeros(7, np.uint32)
    gather(vector, np.array([31, 32, 33], np.int32), 2, packed[:6])
    assert packed.tolist() == [31 << 8, 32 << 8, 33 << 8, 31, 32, 33, 0]
    target = cpms.allocate(40, 2)
    unpack(packed[:6], slice(1, 4), 2, target)
    assert np.flatnonzero(bits(target, 2)).tolist() == [1, 2, 3]
    np.testing.assert_array_equal(bits(target, 2)[1:4], values[31:34])


@ways
def test_a_thread_each_finds_the_same(packed: bool) -> None:
    n, segments = 1000, 4
    borders = [0, 130, 131, 700, n]
    spans = [Span(0, 0, a, b, start_flag=False) for a, b in itertools.pairwise(borders)]
    values = random_bits(np.random.default_rng(1), n)
    with virtual_devices(simulated((4,))) as devices:
        exchange = PeerCopies(devices, transfers_of(spans, [slice(0, n)] * 4), segments, packed)
        vectors = [poisoned(n, segments) for _ in spans]
        for vector, span in zip(vectors, spans, strict=True):
            pack_own(segmented(values, segments), vector, span.owned)
        for k in (1, 3):
            exchange.launch(vectors, k)
        for device in devices:
            device.synchronize()
    for vector in vectors:
        np.testing.assert_array_equal(bits(vector, 3), keep(values, 4, 3))


@ways
def test_what_was_read_may_be_overwritten(packed: bool) -> None:
    """A device whose peer lags behind writes its vector anew; the peer has the values from before."""
    spans = [Span(0, 0, 0, 40, start_flag=False), Span(0, 0, 40, 80, start_flag=False)]
    for seed in range(20):
        order = Order(seed)
        devices = [order.device(f"virtual:{i}") for i in range(2)]
        exchange = PeerCopies(devices, transfers_of(spans, [slice(0, 80)] * 2), 2, packed)
        vectors = [segmented(np.full(80, 1.0 + i), 2) for i in range(2)]
        exchange.launch(vectors, 1)
        exchange.release(seed % 2, devices[seed % 2])
        devices[seed % 2].call(cpms.write, vectors[seed % 2], np.full(80, 8.0), 2)
        devices[0].synchronize()
        lagging = vectors[1 - seed % 2]
        other = spans[seed % 2].owned
        assert (cpms.read(lagging, 1)[other] == 1.0 + seed % 2).all()


def test_devices_out_of_reach_are_sent_packed_segments() -> None:
    order = Order(1)
    devices = [order.device(f"virtual:{i}") for i in range(2)]
    devices[1].reaches = lambda other: False  # type: ignore[method-assign]
    launched: list[Any] = []
    devices[1].call = lambda function, *_: launched.append(function)  # type: ignore[method-assign]
    spans = [Span(0, 0, 0, 4, start_flag=False), Span(0, 0, 4, 8, start_flag=False)]
    exchange = PeerCopies(devices, transfers_of(spans, [slice(0, 8)] * 2), 2)
    exchange.launch([cpms.allocate(8, 2) for _ in spans], 1)
    devices[0].synchronize()
    assert launched == [unpack]


def test_precisions_that_do_not_exist_are_refused() -> None:
    with virtual_devices(simulated((1,))) as devices:
        with pytest.raises(ParameterError, match="split into 3 segments"):
            PeerCopies(devices, (), 3)
        exchange = PeerCopies(devices, (), 2)
        for k in (0, 3):
            with pytest.raises(ParameterError, match=f"segments {k}. Use 1 to 2"):
                exchange.launch([cpms.allocate(1, 2)], k)
