"""Segments on a GPU: conversion, loads and stores give the bits that they give on a CPU."""

from typing import Any

import pytest

from gpu_engine.cpms import SEGMENTS, padded, read, to_cpms, to_ieee, write
from gpu_engine.errors import ParameterError
from gpu_engine.records import DeviceInfo
from tests.gpu_engine.cpms.bits import SIZES, bits_of, short_values, some_values
from tests.gpu_engine.cpms.kernels import PRECISIONS, read_on_gpu, write_on_gpu

segment_counts = pytest.mark.parametrize("segments", SEGMENTS)
precisions = pytest.mark.parametrize(("segments", "k"), PRECISIONS)
sizes = pytest.mark.parametrize("n", SIZES)
codes = pytest.mark.parametrize("short", [False, True], ids=["ieee", "short"])


@pytest.fixture
def xp(gpu: DeviceInfo) -> Any:
    return pytest.importorskip("cupy")


@segment_counts
@sizes
@codes
def test_converts_as_on_a_cpu_and_back(xp: Any, segments: int, n: int, short: bool) -> None:
    values = short_values(n) if short else some_values(n)
    storage = padded(xp.asarray(values), segments)
    segmented = to_cpms(storage, n, segments, short)
    assert segmented.storage is storage
    assert bits_of(storage) == bits_of(to_cpms(padded(values, segments), n, segments, short).storage)
    assert bits_of(to_ieee(segmented)) == bits_of(values)


@precisions
@sizes
@codes
def test_loads_k_segments(xp: Any, segments: int, k: int, n: int, short: bool) -> None:
    # Of values that are no short ones, what is kept is the nearer end of the range.
    values = some_values(n)
    segmented = to_cpms(padded(xp.asarray(values), segments), n, segments, short)
    expected = bits_of(read(to_cpms(padded(values, segments), n, segments, short), k))
    assert [bits_of(found) for found in read_on_gpu(segmented, k, xp)] == [expected, expected]
    assert bits_of(read(segmented, k)) == expected


@precisions
@sizes
@codes
def test_stores_k_segments(xp: Any, segments: int, k: int, n: int, short: bool) -> None:
    before, values = ((short_values if short else some_values)(n, seed=seed) for seed in (1, 2))
    expected = to_cpms(padded(before, segments), n, segments, short)
    write(expected, values, k)
    found, reference = (to_cpms(padded(xp.asarray(before), segments), n, segments, short) for _ in range(2))
    assert bits_of(write_on_gpu(found, xp.asarray(values), k, xp)) == bits_of(read(expected, k))
    assert bits_of(found.storage) == bits_of(expected.storage)
    write(reference, xp.asarray(values), k)
    assert bits_of(reference.storage) == bits_of(expected.storage)


@segment_counts
def test_storage_must_begin_with_a_block(xp: Any, segments: int) -> None:
    with pytest.raises(ParameterError, match="multiple of 128 bytes"):
        to_cpms(xp.zeros(65)[1:], 64, segments)
