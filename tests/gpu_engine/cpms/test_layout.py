"""Segments by hand and over all bit patterns: where they lie, what k of them read, what writing k of them leaves."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.cpms import SEGMENTS, SEPARATE, Segmented, allocate, padded, read, to_cpms, to_ieee, write
from gpu_engine.errors import ParameterError
from tests.gpu_engine.cpms.bits import SPECIAL, bits_of, cut, units_of, values_of
from tests.gpu_engine.cpms.kernels import PRECISIONS

PATTERNS = st.sampled_from(SPECIAL) | st.integers(0, 2**64 - 1)
BITS = st.lists(PATTERNS, max_size=150)
precisions = pytest.mark.parametrize(("segments", "k"), PRECISIONS)


def test_two_segments_are_32_heads_then_32_tails() -> None:
    segmented = allocate(33, 2)
    write(segmented, values_of([0x0123456789ABCDEF + i for i in range(33)]), 2)
    assert segmented.units.dtype == np.uint32
    heads, tails = [0x01234567] * 33, [0x89ABCDEF + i for i in range(33)]
    padding = [0] * 31
    assert segmented.units.tolist() == [*heads[:32], *tails[:32], heads[32], *padding, tails[32], *padding]


def test_four_segments_are_four_blocks_of_64() -> None:
    segmented = allocate(65, 4)
    write(segmented, values_of([0x0123456789AB0000 + i for i in range(65)]), 4)
    assert segmented.units.dtype == np.uint16
    first = [*[0x0123] * 64, *[0x4567] * 64, *[0x89AB] * 64, *range(64)]
    padding = [0] * 63
    assert segmented.units.tolist() == [*first, 0x0123, *padding, 0x4567, *padding, 0x89AB, *padding, 64, *padding]


@pytest.mark.parametrize(
    ("segments", "n", "size"), [(2, 0, 0), (2, 1, 32), (2, 32, 32), (2, 33, 64), (4, 0, 0), (4, 64, 64), (4, 65, 128)]
)
def test_whole_groups_are_allocated_and_zero(segments: int, n: int, size: int) -> None:
    assert bits_of(allocate(n, segments).storage) == [0] * size
    assert padded(np.full(n, -1.5), segments).tolist() == [-1.5] * n + [0.0] * (size - n)


@pytest.mark.parametrize("segments", SEGMENTS)
@settings(deadline=None)
@given(bits=BITS)
def test_every_segment_lies_in_its_place(segments: int, bits: list[int]) -> None:
    segmented = allocate(len(bits), segments)
    write(segmented, values_of(bits), segments)
    assert segmented.units.tolist() == units_of(bits, segments)


@precisions
@settings(deadline=None)
@given(bits=BITS)
def test_unread_segments_are_zero(segments: int, k: int, bits: list[int]) -> None:
    segmented = to_cpms(padded(values_of(bits), segments), len(bits), segments)
    assert bits_of(read(segmented, k)) == [cut(value, k, segments) for value in bits]


@precisions
@settings(deadline=None)
@given(pairs=st.lists(st.tuples(PATTERNS, PATTERNS), max_size=150))
def test_unwritten_segments_stay(segments: int, k: int, pairs: list[tuple[int, int]]) -> None:
    before, written = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    segmented = to_cpms(padded(values_of(before), segments), len(pairs), segments)
    write(segmented, values_of(written), k)
    mixed = [cut(new, k, segments) | old & ~cut(2**64 - 1, k, segments) for old, new in pairs]
    assert segmented.units.tolist() == units_of(mixed, segments)


def test_cutting_rounds_towards_zero() -> None:
    """16, 32 and 48 bits of ±1/3 have 4, 20 and 36 bits behind the point of a number in [1, 2), here times 1/4."""
    segmented = to_cpms(padded(np.array([1 / 3, -1 / 3]), 4), 2, 4)
    for k, bits in ((1, 4), (2, 20), (3, 36)):
        third = math.floor(4 / 3 * 2**bits) / 2**bits / 4
        assert read(segmented, k).tolist() == [third, -third]


def test_a_nan_reads_as_infinity_where_its_payload_is_not_read() -> None:
    segmented = to_cpms(padded(values_of([0x7FF0000000000001]), 4), 1, 4)
    assert read(segmented, 3).tolist() == [math.inf]
    assert math.isnan(read(segmented, 4)[0])


def test_values_may_lie_apart() -> None:
    segmented = allocate(3, 2)
    write(segmented, np.array([1.0, 9.0, 2.0, 9.0, 3.0])[::2], 2)
    assert read(segmented, 2).tolist() == [1.0, 2.0, 3.0]


def test_a_block_of_32_bytes_has_eight_units_of_32_bits() -> None:
    segmented = allocate(9, 2, block_bytes=32)
    write(segmented, values_of([0x0123456789ABCDEF + i for i in range(9)]), 2)
    heads, tails = [0x01234567] * 8, [0x89ABCDEF + i for i in range(8)]
    padding = [0] * 7
    assert segmented.units.tolist() == [*heads, *tails, heads[0], *padding, 0x89ABCDEF + 8, *padding]


def test_segments_may_have_arrays_of_their_own() -> None:
    segmented = allocate(33, 2, block_bytes=SEPARATE)
    write(segmented, values_of([0x0123456789ABCDEF + i for i in range(33)]), 2)
    padding = [0] * 31
    tails = [0x89ABCDEF + i for i in range(33)]
    assert segmented.units.tolist() == [*[0x01234567] * 33, *padding, *tails, *padding]
    assert (segmented.apart, allocate(33, 2).apart) == (64, 32)


@pytest.mark.parametrize("block_bytes", [32, 64, 256, SEPARATE])
@precisions
def test_unread_segments_are_zero_in_every_block(segments: int, k: int, block_bytes: int) -> None:
    bits = [int(value) for value in np.random.default_rng(3).integers(0, 2**62, 150)]
    segmented = allocate(len(bits), segments, block_bytes=block_bytes)
    write(segmented, values_of(bits), segments)
    assert bits_of(read(segmented, k)) == [cut(value, k, segments) for value in bits]
    with pytest.raises(ParameterError, match=f"Blocks of {block_bytes} bytes cannot be converted in place. Use 128"):
        to_ieee(segmented)


@pytest.mark.parametrize("segments", [0, 1, 3, 8])
def test_other_numbers_of_segments_are_refused(segments: int) -> None:
    with pytest.raises(ParameterError, match=f"into {segments} segments; expected 2 or 4"):
        allocate(5, segments)


@pytest.mark.parametrize("k", [-1, 0, 3])
def test_other_precisions_are_refused(k: int) -> None:
    segmented = allocate(5, 2)
    with pytest.raises(ParameterError, match=f"is {k}; expected 1 to 2"):
        read(segmented, k)
    with pytest.raises(ParameterError, match=f"is {k}; expected 1 to 2"):
        write(segmented, np.ones(5), k)


@pytest.mark.parametrize("values", [np.ones(4), np.ones(1), np.ones(5, dtype=np.float32), np.ones((5, 1))], ids=str)
def test_values_of_another_shape_or_type_are_refused(values: np.ndarray) -> None:
    with pytest.raises(ParameterError, match=r"expected float64 \[5\]"):
        write(allocate(5, 2), values, 1)


@pytest.mark.parametrize(
    "storage",
    [np.zeros(33), np.zeros(32), np.zeros(96), np.zeros((2, 32)), np.zeros(64, dtype=np.int64), np.zeros(128)[::2]],
    ids=["no whole group", "too small", "too large", "in two dimensions", "integers", "not contiguous"],
)
def test_storage_of_other_groups_is_refused(storage: np.ndarray) -> None:
    with pytest.raises(ParameterError, match=r"33 values in 2 segments need a contiguous float64 \[64\]"):
        Segmented(storage, 33, 2)


def test_a_negative_number_of_values_is_refused() -> None:
    with pytest.raises(ParameterError, match="is -1; expected 0 or more"):
        allocate(-1, 2)
