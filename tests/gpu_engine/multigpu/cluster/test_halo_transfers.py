"""What a member sends and takes, by value: ranges, lists, and segments, which are packed once for all who take them."""

from typing import Any

import numpy as np
import pytest

from gpu_engine import cpms
from gpu_engine.multigpu.cluster.halo_transfers import HaloTransfers
from gpu_engine.multigpu.exchange import Transfer
from tests.gpu_engine.multigpu.devices import LoggingDevice

N = 100
RANGES = (Transfer(0, 1, 5, 45, 0), Transfer(0, 2, 5, 45, 64))
LIST = Transfer(0, 2, 0, 60, 10, np.array([3, 50, 59], np.int32))
X = np.random.default_rng(1).uniform(0.1, 1.0, N)


def exchanged(device: LoggingDevice, transfers: tuple[Transfer, ...], vector: Any, k: int | None, target: Any) -> int:
    """Has member 2 take what member 0 sends; how often that packs."""
    segments = vector.segments if k is not None else 0
    sender = HaloTransfers(device, 0, transfers, segments)
    taken = HaloTransfers(device, 2, [each for each in transfers if each.target == 2], segments)
    device.launches()
    sent = {each: array for each, array in sender.pack(vector, vector, k) if each.target == 2}
    packed = device.launches().count("gather")
    for each, room in taken.pack(target, target, k):
        device.fetch(sent[each], room)
    taken.unpack(target, k)
    device.synchronize()
    return packed


def test_a_range_goes_from_where_it_lies_and_a_list_packed() -> None:
    device, target = LoggingDevice("virtual:0"), np.zeros(120)
    assert exchanged(device, (*RANGES, LIST), X, None, target) == 1
    expected = np.zeros(120)
    expected[64:104], expected[10:13] = X[5:45], X[[3, 50, 59]]
    np.testing.assert_array_equal(target, expected)
    device.close()


@pytest.mark.parametrize(("segments", "k"), [(2, 1), (4, 3)])
def test_of_segments_the_first_cross_and_are_packed_once(segments: int, k: int) -> None:
    device, vector, target = LoggingDevice("virtual:0"), cpms.allocate(N, segments), cpms.allocate(120, segments)
    cpms.write(vector, X, segments)
    assert exchanged(device, (*RANGES, LIST), vector, k, target) == 2
    expected, cut = np.zeros(120), cpms.read(vector, k)
    expected[64:104], expected[10:13] = cut[5:45], cut[[3, 50, 59]]
    np.testing.assert_array_equal(cpms.read(target, segments), expected)
    device.close()


def test_vectors_of_segments_that_are_in_fp64_by_now_are_not_packed() -> None:
    device, target = LoggingDevice("virtual:0"), np.zeros(120)
    moves = HaloTransfers(device, 0, RANGES, 4)
    sent = moves.pack(X, target)
    assert "gather" not in device.launches()
    assert all(np.shares_memory(array, X) and array.size == 40 for _, array in sent)
    device.close()
