"""Short exponents by hand and over their range: nothing is lost, order is kept, heads are rounded to nearest."""

import ctypes
import shutil
import subprocess
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_engine.cpms import SEGMENTS, allocate, head_bits, padded, read, to_cpms, to_ieee, write
from tests.gpu_engine.cpms.bits import SIZES, bits_of, rounded, short_values, some_values, values_of
from tests.gpu_engine.cpms.kernels import PRECISIONS
from tests.programs import missing

LEAST = 2.0**-63
NUMBERS = st.lists(st.floats(LEAST, 1.0), max_size=150)
segment_counts = pytest.mark.parametrize("segments", SEGMENTS)
precisions = pytest.mark.parametrize(("segments", "k"), PRECISIONS)

HOST = """
#include <cstdint>
#include <cstring>
#define __device__
#define __forceinline__ inline
template <typename T> T __ldg(const T *address) {{ return *address; }}
template <typename T> T __ldcs(const T *address) {{ return *address; }}
template <typename T> T __shfl_down_sync(unsigned, T value, int, int = 32) {{ return value; }}
template <typename T> T __shfl_up_sync(unsigned, T value, int, int = 32) {{ return value; }}
template <typename T> void atomicAdd(T *, T) {{}}
struct Place {{ int x; }} threadIdx;
inline double __longlong_as_double(long long bits) {{ double value; memcpy(&value, &bits, 8); return value; }}
inline long long __double_as_longlong(double value) {{ long long bits; memcpy(&bits, &value, 8); return bits; }}
{headers}
{functions}
"""
"""What makes the loads and stores of segments.cuh callable."""

FUNCTIONS = """
extern "C" void read_{segments}_{k}_{code}(const void *base, double *values, long long n) {{
  for (long long i = 0; i < n; ++i)
    values[i] = load_segments<{segments}, {k}, {code}>(static_cast<const Unit<{segments}> *>(base), i);
}}
extern "C" void write_{segments}_{k}_{code}(void *base, double *values, long long n) {{
  for (long long i = 0; i < n; ++i)
    values[i] = store_segments<{segments}, {k}, {code}>(static_cast<Unit<{segments}> *>(base), i, values[i]);
}}
"""


@pytest.fixture(scope="module")
def header(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """segments.cuh for the host."""
    compiler = shutil.which("c++") or missing("g++")
    folder: Path = tmp_path_factory.mktemp("segments")
    texts = (resources.files("gpu_engine.cuda").joinpath(name) for name in ("common.cuh", "segments.cuh"))
    headers = "".join(text.read_text(encoding="utf-8") for text in texts)
    for line in ("#pragma once", '#include "common.cuh"'):
        headers = headers.replace(line, "")
    cases = [{"segments": s, "k": k, "code": code} for s, k in PRECISIONS for code in ("Ieee", "Short")]
    functions = "".join(FUNCTIONS.format(**case) for case in cases)
    source, library = folder / "segments.cpp", folder / "segments.so"
    source.write_text(HOST.format(headers=headers, functions=functions), encoding="utf-8")
    command = [compiler, "-std=c++17", "-w", "-shared", "-fPIC", str(source), "-o", str(library)]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def test_the_code_of_numbers_by_hand() -> None:
    """Six bits of the exponent counted from 2⁻⁶³, then the mantissa, and half a unit of the head."""
    segmented = to_cpms(padded(np.array([LEAST, 1.0, 1.25, 1 / 3, 1 / 3 + 2.0**-28]), 2), 5, 2, short=True)
    heads, tails = segmented.units[:5].tolist(), segmented.units[32:37].tolist()
    # 1/3 is 1.0101…·2⁻²: its head of 26 bits ends in 01|0101…, nearer to …01; 2⁻²⁸ is a unit of it.
    third = 61 << 26 | 0x1555555
    assert heads == [0, 63 << 26, 63 << 26 | 1 << 24, third, third + 1]
    assert tails[:3] == [1 << 31] * 3
    assert read(segmented, 1)[:3].tolist() == [LEAST, 1.0, 1.25]


@segment_counts
@settings(deadline=None)
@given(values=NUMBERS)
def test_all_segments_lose_nothing(segments: int, values: list[float]) -> None:
    own = np.array(values)
    segmented = to_cpms(padded(own, segments), own.size, segments, short=True)
    assert read(segmented, segments).tolist() == values
    written = allocate(own.size, segments, short=True)
    write(written, own, segments)
    assert written.units[: own.size].tolist() == segmented.units[: own.size].tolist()
    assert to_ieee(segmented).tolist() == values


@precisions
@settings(deadline=None)
@given(values=NUMBERS)
def test_segments_keep_the_order(segments: int, k: int, values: list[float]) -> None:
    own = np.sort(values)
    found = read(to_cpms(padded(own, segments), own.size, segments, short=True), k)
    assert (np.diff(found) >= 0).all()


@precisions
def test_heads_are_right_to_their_bits(segments: int, k: int) -> None:
    values = short_values(10_000)
    found = read(to_cpms(padded(values, segments), values.size, segments, short=True), k)
    # What is rounded in the segments after it moves the middle of a head by less than 2⁻¹⁵ of its half.
    errors, half = np.abs(found - values) / np.exp2(np.floor(np.log2(values))), 2.0 ** -head_bits(segments, k, True)
    assert errors.max() <= (0.0 if k == segments else half * (1 + 2.0**-15))
    if k < segments:
        # Cut as IEEE numbers are, they err by 2⁶ times as much, and all one way.
        plain = read(to_cpms(padded(values, segments), values.size, segments), k) - values
        assert np.abs(plain).sum() > 50 * np.abs(found - values).sum()
        assert abs((found - values).sum()) < abs(plain.sum()) / 1000


def test_the_bits_of_heads() -> None:
    assert [head_bits(segments, k, short=False) for segments, k in PRECISIONS] == [20, 52, 4, 20, 36, 52]
    assert [head_bits(segments, k, short=True) for segments, k in PRECISIONS] == [27, 52, 11, 27, 43, 52]


def test_heads_of_two_segments_are_rounded_to_nearest() -> None:
    values = short_values(10_000)
    found = read(to_cpms(padded(values, 2), values.size, 2, short=True), 1)
    np.testing.assert_array_equal(found, rounded(values, 26))


@segment_counts
def test_other_numbers_are_kept_as_the_nearer_end(segments: int) -> None:
    low = to_cpms(padded(np.array([0.0, 1e-300, LEAST / 2]), segments), 3, segments, short=True)
    assert read(low, segments).tolist() == [LEAST] * 3
    high = to_cpms(padded(np.array([2.0, 1e300, np.inf, np.nan]), segments), 4, segments, short=True)
    assert (np.abs(read(high, segments) - 2.0) < 2.0**-10).all()


@precisions
@pytest.mark.parametrize("n", SIZES[:-1])
def test_the_header_of_kernels_stores_and_loads_the_same(header: ctypes.CDLL, segments: int, k: int, n: int) -> None:
    for short in (False, True):
        before, values = (
            np.concatenate([f(n, seed)[: n - n // 2], some_values(n // 2, seed)])
            for seed, f in ((1, short_values), (2, short_values))
        )
        expected, found = (to_cpms(padded(before, segments), n, segments, short) for _ in range(2))
        write(expected, values, k)
        stored = call(header, "write", found, k, values.copy())
        assert found.units.tolist() == expected.units.tolist()
        assert bits_of(stored) == bits_of(read(expected, k))
        assert bits_of(call(header, "read", found, k, np.empty(n))) == bits_of(read(expected, k))


def call(header: ctypes.CDLL, what: str, segmented: Any, k: int, values: Any) -> Any:
    """The values after a function of the header: those that it read, or that it says it stored."""
    code = "Short" if segmented.short else "Ieee"
    function = getattr(header, f"{what}_{segmented.segments}_{k}_{code}")
    base, own = (ctypes.c_void_p(array.ctypes.data) for array in (segmented.units, values))
    function(base, own, ctypes.c_longlong(segmented.n))
    return values


def test_random_bits_of_the_range_come_back() -> None:
    low, high = (int(np.float64(end).view(np.uint64)) for end in (LEAST, 1.0))
    own = values_of(np.random.default_rng(7).integers(low, high, 5000, dtype=np.uint64))
    for segments in SEGMENTS:
        assert bits_of(to_ieee(to_cpms(padded(own, segments), own.size, segments, short=True))) == bits_of(own)
