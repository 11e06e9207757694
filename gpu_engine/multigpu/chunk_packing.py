"""Packing blocks of a chunk: offsets of columns, and codes of values by a hash table; loops without NumPy.

Packing blocks are independent, so that all cores pack at the same time; the place of each result is known in advance.
"""

from typing import Any

import numpy as np

from gpu_engine.host.jit import numba

STRETCH = 2**15
"""Nonzeros of a packing block, which share a base column; a multiple of the kernel tiles that fits a core's cache."""

PACKED, COLUMNS_FAIL, VALUES_FAIL = -1, -2, -3
"""Result for a packing block: packed, or columns or values do not fit."""

FEW = 4
"""Maximum number of distinct values that are found by comparisons, which vectorize, instead of by the hash table."""

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
"""Multiplier of the hash, 2⁶⁴ over the golden ratio, which distributes the upper bits well (Knuth, TAOCP 3, §6.4)."""

LIMITS = (2**8, 2**16)
"""Maximum number of values with codes of one and of two bytes."""

EMPTY = np.int32(-1)
"""Code of an empty slot of the hash table."""


class Table:
    """Table of the distinct values, by their bits; a code is an index in `values`.

    code_bytes  0, 1, or 2, depending on the number of values; 8 for no values or too many for two bytes
    arrays      (values, keys, codes) for the loops: uint64 [number], uint64 [slots], int32 [slots]
    """

    def __init__(self) -> None:
        self._limit, self._count, self.code_bytes = LIMITS[0], 0, 8
        self._given_up = False
        self._bits = np.empty(LIMITS[1], np.uint64)
        self._make()

    @property
    def values(self) -> Any:
        """Return the values, float64 [number]; empty if values have no codes."""
        return self._bits[: self._count if self.code_bytes < 8 else 0].view(np.float64)

    @property
    def arrays(self) -> tuple[Any, Any, Any]:
        """Return (values, keys, codes) for the loops."""
        return self._bits[: self._count], self._keys, self._codes

    def learn(self, bits: Any) -> None:
        """Add the values of uint64 [nonzeros]; give up if there are too many."""
        while not self._given_up:
            self._count, done = _insert(bits, self._keys, self._codes, self._bits, self._count, self._limit)
            if done:
                break
            self._given_up = self._limit == LIMITS[-1]
            self._limit = LIMITS[-1]
            self._make()
            self._count, _ = _insert(
                self._bits[: self._count].copy(), self._keys, self._codes, self._bits, 0, self._limit
            )
        if self._given_up or not self._count:
            self.code_bytes = 8
        else:
            self.code_bytes = 0 if self._count == 1 else 1 if self._count <= LIMITS[0] else 2

    def _make(self) -> None:
        """Allocate a hash table that is at most a quarter full."""
        self._keys, self._codes = np.zeros(4 * self._limit, np.uint64), np.full(4 * self._limit, EMPTY)


@numba.njit(inline="always")
def _slot(bits: Any, mask: Any) -> Any:
    return np.int64((bits * GOLDEN) >> np.uint64(40)) & mask


@numba.njit(cache=True, nogil=True)
def _insert(bits: Any, keys: Any, codes: Any, table: Any, count: int, limit: int) -> tuple[int, bool]:
    """Insert values; return (number of values, whether all of them fit)."""
    mask = keys.size - 1
    last = ~bits[0] if bits.size else np.uint64(0)
    for value in bits:
        if value == last:
            continue
        last = value
        slot = _slot(value, mask)
        while codes[slot] != EMPTY and keys[slot] != value:
            slot = (slot + 1) & mask
        if codes[slot] == EMPTY:
            if count == limit:
                return count, False
            keys[slot], codes[slot], table[count] = value, count, value
            count += 1
    return count, True


@numba.njit(cache=True, nogil=True)
def _ends(columns: Any) -> Any:
    low = high = columns[0]
    # A loop over indices is compiled to vector instructions, ten times as fast.
    for i in range(columns.size):
        low = min(low, columns[i])
        high = max(high, columns[i])
    return low, high


def reach(columns: Any) -> int:
    """Return the largest column minus the smallest."""
    low, high = _ends(columns)
    return int(high) - int(low)


@numba.njit(nogil=True)
def _offsets(columns: Any, base: Any, low: Any) -> None:
    for i in range(columns.size):
        low[i] = np.uint16(columns[i] - base)


@numba.njit(nogil=True)
def _high_offsets(columns: Any, base: Any, low: Any, high: Any) -> None:
    for i in range(columns.size):
        offset = columns[i] - base
        low[i], high[i] = np.uint16(offset & 0xFFFF), np.uint8(offset >> 16)


@numba.njit(nogil=True)
def _all_equal(bits: Any, value: Any) -> bool:
    other = np.uint64(0)
    for i in range(bits.size):
        other |= bits[i] ^ value
    return bool(other == 0)


@numba.njit(nogil=True)
def _few_codes(bits: Any, table: Any, out: Any) -> bool:
    """Write codes by comparison with up to FEW values; return whether all values are in the table."""
    count = table.size
    v0, v1 = table[0], table[1 if count > 1 else 0]
    v2, v3 = table[2 if count > 2 else 0], table[3 if count > 3 else 0]
    # Missing table entries are replaced by the first one, with code 0.
    c1, c2, c3 = np.uint8(count > 1), np.uint8(2 * (count > 2)), np.uint8(3 * (count > 3))
    missing = np.uint8(0)
    for i in range(bits.size):
        value = bits[i]
        code = np.uint8(value == v1) * c1 | np.uint8(value == v2) * c2 | np.uint8(value == v3) * c3
        missing |= np.uint8((value != v0) & (code == 0))
        out[i] = code
    return bool(missing == 0)


@numba.njit(nogil=True)
def _codes(bits: Any, keys: Any, codes: Any, out: Any) -> bool:
    mask = keys.size - 1
    lost = np.int32(0)
    for i in range(bits.size):
        value = bits[i]
        slot = _slot(value, mask)
        while codes[slot] != EMPTY and keys[slot] != value:
            slot = (slot + 1) & mask
        lost |= codes[slot]
        out[i] = codes[slot]
    return bool(lost >= 0)


@numba.njit(parallel=True, cache=True, nogil=True)
def pack(
    columns: Any,
    bits: Any,
    table: Any,
    keys: Any,
    codes: Any,
    column_bytes: int,
    value_bytes: int,
    bases: Any,
    spares: Any,
    low: Any,
    high: Any,
    short_codes: Any,
    long_codes: Any,
) -> None:
    """Pack all packing blocks of a chunk; spares gets PACKED, or the reason why a block does not fit.

    columns, bits   int32, uint64 [nonzeros]; bits: of the values
    table … codes   `Table.arrays`
    bases, spares   int32 [blocks]
    low, high       uint16, uint8 [nonzeros], or empty; short_codes, long_codes: uint8, uint16 [nonzeros], or empty
    """
    for stretch in numba.prange(bases.size):
        begin, end = stretch * STRETCH, min((stretch + 1) * STRETCH, columns.size)
        spares[stretch], bases[stretch] = PACKED, 0
        if column_bytes < 4:
            block = columns[begin:end]
            first, last = _ends(block)
            bases[stretch] = first
            if np.int64(last) - np.int64(first) >= np.int64(1) << (8 * column_bytes):
                spares[stretch] = COLUMNS_FAIL
            elif column_bytes == 2:
                _offsets(block, first, low[begin:end])
            else:
                _high_offsets(block, first, low[begin:end], high[begin:end])
        if spares[stretch] == PACKED and value_bytes < 8:
            fits = True
            if value_bytes == 0:
                fits = _all_equal(bits[begin:end], table[0])
            elif table.size <= FEW:
                fits = _few_codes(bits[begin:end], table, short_codes[begin:end])
            elif value_bytes == 1:
                fits = _codes(bits[begin:end], keys, codes, short_codes[begin:end])
            else:
                fits = _codes(bits[begin:end], keys, codes, long_codes[begin:end])
            if not fits:
                spares[stretch] = VALUES_FAIL


@numba.njit(nogil=True)
def _sum(array: Any) -> Any:
    total = array[0] - array[0]
    for i in range(array.size):
        total += array[i]
    return total


@numba.njit(parallel=True, cache=True, nogil=True)
def read(columns: Any, bits: Any, sums: Any) -> None:
    """Read all columns and bits on all cores, to measure bandwidth; sums: uint64 [blocks], sum per packing block."""
    for stretch in numba.prange(sums.size):
        begin, end = stretch * STRETCH, min((stretch + 1) * STRETCH, columns.size)
        sums[stretch] = _sum(bits[begin:end]) + np.uint64(_sum(columns[begin:end]))
