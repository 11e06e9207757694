"""Conversion on a CPU, in place: the same units as the reference, and back to the same bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.cpms import SEGMENTS, allocate, padded, to_cpms, to_ieee, write
from gpu_engine.errors import ParameterError
from tests.gpu_engine.cpms.bits import SIZES, SPECIAL, bits_of, some_values, units_of, values_of

BITS = st.lists(st.sampled_from(SPECIAL) | st.integers(0, 2**64 - 1), max_size=300)
segment_counts = pytest.mark.parametrize("segments", SEGMENTS)


@segment_counts
@settings(deadline=None)
@given(bits=BITS)
def test_converts_in_place_and_back(segments: int, bits: list[int]) -> None:
    storage = padded(values_of(bits), segments)
    segmented = to_cpms(storage, len(bits), segments)
    assert segmented.storage is storage
    assert segmented.units.tolist() == units_of(bits, segments)
    values = to_ieee(segmented)
    assert not bits or np.shares_memory(values, storage)
    assert bits_of(values) == bits
    assert bits_of(storage[len(bits) :]) == [0] * (storage.size - len(bits))


@segment_counts
@pytest.mark.parametrize("n", SIZES)
def test_equals_the_reference(segments: int, n: int) -> None:
    values = some_values(n)
    reference = allocate(n, segments)
    write(reference, values, segments)
    segmented = to_cpms(padded(values, segments), n, segments)
    assert bits_of(segmented.storage) == bits_of(reference.storage)
    assert bits_of(to_ieee(reference)) == bits_of(values)


@segment_counts
def test_storage_without_its_last_group_is_left_alone(segments: int) -> None:
    storage = some_values(100)
    with pytest.raises(ParameterError, match="100 values"):
        to_cpms(storage, 100, segments)
    assert bits_of(storage) == bits_of(some_values(100))
