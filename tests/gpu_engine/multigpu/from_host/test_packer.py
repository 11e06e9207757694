"""What chunks are packed into, and what is learned from those that do not fit; by value and by bytes."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.multigpu.chunk import Chunk
from gpu_engine.multigpu.chunk_packing import STRETCH, Table
from gpu_engine.multigpu.from_host.packer import Packer, Staging
from gpu_engine.multigpu.partition import Span, find_partitioning
from tests.gpu_engine.multigpu.from_host.packable import PACKABLE, UNSEEN, drawn, rows_of, spread

CSR = find_partitioning("pCSR")


def whole_span(matrix: CsrMatrix) -> Span:
    return Span(0, matrix.nnz, 0, matrix.n_rows, start_flag=False)


def packed(matrix: CsrMatrix, times: int = 1) -> Iterator[Chunk]:
    """One chunk of everything, by one packer again and again."""
    packer = Packer(CSR.store(matrix), Staging(np.empty))
    for _ in range(times):
        yield packer.pack(0, whole_span(matrix))


def spares(chunk: Chunk) -> list[int]:
    found: Any = chunk.packed[chunk.begins[1] : chunk.begins[1] + 4 * -(-chunk.span.entries // STRETCH)].view(np.int32)
    return [int(slot) for slot in found]


@pytest.mark.parametrize(
    ("name", "widths"),
    [
        ("two values", (2, 1)),
        ("one value, wide columns", (3, 0)),
        ("two hundred values", (2, 1)),
        ("a thousand values", (2, 2)),
        ("more different values than codes", (2, 8)),
        ("values that are not finite", (2, 1)),
    ],
)
def test_the_fewest_bytes_that_hold_columns_and_values(name: str, widths: tuple[int, int]) -> None:
    (chunk,) = packed(PACKABLE[name]())
    assert (chunk.column_bytes, chunk.value_bytes) == widths
    per_entry = widths[0] + widths[1]
    assert per_entry <= chunk.nbytes / chunk.span.entries < per_entry + 0.1
    assert set(spares(chunk)) == {-1}


@pytest.mark.parametrize(("number", "value_bytes"), [(256, 1), (257, 2), (2**16, 2), (2**16 + 1, 8)])
def test_codes_have_as_many_bytes_as_the_values_need(number: int, value_bytes: int) -> None:
    table = Table()
    table.learn(np.arange(number, dtype=np.uint64))
    assert table.code_bytes == value_bytes
    assert table.values.size == (number if value_bytes < 8 else 0)


def test_columns_beyond_24_bits_and_one_value() -> None:
    matrix = rows_of(spread(2 * STRETCH, 2**25), np.ones(2 * STRETCH), 2**25)
    (chunk,) = packed(matrix)
    assert (chunk.column_bytes, chunk.value_bytes) == (4, 0)
    assert chunk.nbytes < 4.1 * matrix.nnz


def test_runs_that_do_not_fit_follow_as_they_are_and_their_values_are_learned() -> None:
    matrix = PACKABLE["a rare value and a far column"]()
    first, again = (spares(chunk) for chunk in packed(matrix, 2))
    assert {stretch: slot for stretch, slot in enumerate(first) if slot >= 0} == {UNSEEN: 0, 5: 1}
    assert {stretch: slot for stretch, slot in enumerate(again) if slot >= 0} == {5: 0}, "the value has a code by now"


def test_columns_that_mostly_reach_too_far_get_more_bytes() -> None:
    near, far = spread(16 * STRETCH, 60_000), spread(16 * STRETCH, 300_000)
    matrix = rows_of(np.concatenate([near, far[: 4 * STRETCH]]), np.ones(20 * STRETCH), 300_000)
    packer = Packer(CSR.store(matrix), Staging(np.empty))
    late = Span(16 * STRETCH, 20 * STRETCH, STRETCH, 20 * STRETCH // 16, start_flag=False)
    assert packer.pack(0, late).is_whole
    assert packer.pack(0, late).column_bytes == 3


def test_what_would_not_be_smaller_is_sent_as_it_is() -> None:
    few = rows_of(np.arange(16), np.arange(16.0), 16)
    random = rows_of(spread(4 * STRETCH, 2**25), np.random.default_rng(1).random(4 * STRETCH), 2**25)
    none = CsrMatrix(3, 4, np.zeros(4, np.int32), np.empty(0, np.int32), np.empty(0))
    for matrix in (few, random, none):
        (chunk,) = packed(matrix)
        assert chunk.is_whole
        assert chunk.nbytes == 12 * matrix.nnz


def test_memory_is_kept_for_the_next_product() -> None:
    asked: list[int] = []

    def allocate(size: int, dtype: Any) -> Any:
        asked.append(size)
        return np.empty(size, dtype)

    staging, matrix = Staging(allocate), drawn(9)
    for _ in range(2):
        Packer(CSR.store(matrix), staging).pack(0, whole_span(matrix))
    assert len(asked) == 1
    assert staging.room(0, asked[0]) is staging.room(0, 1)
    assert staging.room(0, asked[0] + 1).size == asked[0] + 1, "no longer large enough"
    assert staging.room(1, 1).size == 1
