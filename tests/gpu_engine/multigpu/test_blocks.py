"""Parts split on their way to a device, chunk by chunk or at once."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.generators import generate
from gpu_engine.multigpu import blocks
from gpu_engine.multigpu.blocks import copy_blocks, drop_empty_lines, split_diagonal
from gpu_engine.multigpu.cut import cut_by_entries
from gpu_engine.multigpu.iteration import plain
from gpu_engine.multigpu.partition import Part, Partitioning, Span, find_partitioning, localize, part_of
from tests.battery import BATTERY, dense, with_row_lengths
from tests.gpu_engine.multigpu.devices import logging_devices
from tests.gpu_engine.multigpu.test_exchange import ORDERED, names

UNEVEN = with_row_lengths([0, 12, 0, 1, 12, 12, 0, 0, 1, 0, 3, 0], 12, 5)


@names
@pytest.mark.parametrize("split", [False, True], ids=["whole", "split"])
@pytest.mark.parametrize("chunk", [1, 7, 100])
@pytest.mark.parametrize("matrix", [*ORDERED, UNEVEN, dense([[0] * 4] * 4)])
def test_a_part_arrives_whatever_the_chunks(
    matrix: CsrMatrix, chunk: int, split: bool, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns are numbered backwards where they arrive; all but the values of an empty block say where they are."""
    monkeypatch.setattr(blocks, "CHUNK", chunk)
    whole, places = find_partitioning(name).store(matrix), np.arange(matrix.n_cols, dtype=np.int32)[::-1].copy()
    with logging_devices(1) as (device,):
        for count in (1, 4, 9):
            for span in cut_by_entries(whole, (count,)):
                part = part_of(whole, span, localize(whole, span))
                expected: list[tuple[Part, Any]] = [(part, None)]
                if split:
                    diagonal, off_diagonal = split_diagonal(whole.partitioning, part)
                    expected = [(diagonal, None), drop_empty_lines(whole.partitioning, off_diagonal)]
                found = copy_blocks(device, whole.partitioning, part, places, matrix.n_cols, split, plain)
                for block, (piece, lines) in zip(found, expected, strict=True):
                    assert (block.part.span, block.product.size) == (piece.span, 0 if lines is None else lines.size)
                    np.testing.assert_array_equal(block.part.major, piece.major, strict=True)
                    np.testing.assert_array_equal(block.part.minor, places[piece.minor], strict=True)
                    np.testing.assert_array_equal(block.values, piece.values, strict=True)
                    assert (block.lines is None) == (lines is None)
                    if lines is not None:
                        np.testing.assert_array_equal(block.lines, lines, strict=True)


def test_no_more_of_a_part_than_a_chunk_is_on_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """And what is left of its last row; it is read once to count, and once to be copied."""
    matrix, sizes = generate("stencil", {"points": 5, "nx": 12, "ny": 11}), []

    def watched(partitioning: Partitioning, part: Part) -> tuple[Part, Part]:
        sizes.append(part.values.size)
        return split_diagonal(partitioning, part)

    monkeypatch.setattr(blocks, "CHUNK", 10)
    monkeypatch.setattr(blocks, "split_diagonal", watched)
    whole = find_partitioning("pCSR").store(matrix)
    with logging_devices(1) as (device,):
        (span,) = cut_by_entries(whole, (1,))
        part = part_of(whole, span, localize(whole, span))
        copy_blocks(device, whole.partitioning, part, np.arange(matrix.n_cols), matrix.n_cols, True, plain)
    assert max(sizes) <= 10 + 4
    assert sum(sizes) == 2 * matrix.nnz


@names
def test_a_split_part_is_the_part(name: str) -> None:
    matrix = BATTERY["power_law"]()
    stored = find_partitioning(name).store(matrix)
    for span in cut_by_entries(stored, (4,)):
        part = part_of(stored, span, localize(stored, span))
        diagonal, off_diagonal = split_diagonal(stored.partitioning, part)
        own = (diagonal.minor >= span.owned.start) & (diagonal.minor < span.owned.stop)
        assert own.all()
        assert not ((off_diagonal.minor >= span.owned.start) & (off_diagonal.minor < span.owned.stop)).any()
        entries = [triples(stored.partitioning.compressed, each) for each in (part, diagonal, off_diagonal)]
        assert sorted(entries[1] + entries[2]) == sorted(entries[0])


@names
def test_lines_without_entries_are_left_out(name: str) -> None:
    """The part begins with the second entry of row 2, and rows 6 and 8 have none."""
    matrix = with_row_lengths([3, 0, 2, 3, 4, 1, 0, 5, 0], 12, 1)
    stored = find_partitioning(name).store(matrix)
    span = Span(4, 18, 2, 9, start_flag=True)
    part = part_of(stored, span, localize(stored, span))
    kept, lines = drop_empty_lines(stored.partitioning, part)
    assert lines.tolist() == [0, 1, 2, 3, 5]
    assert (kept.span.start, kept.span.end, kept.span.lines) == (4, 18, slice(0, 5))
    expected = [
        (int(np.searchsorted(lines, row)), column, value) for row, column, value in triples(name == "pCSR", part)
    ]
    assert triples(name == "pCSR", kept) == expected
    empty = Part(span, part.major[:1].repeat(8) if name == "pCSR" else part.major[:0], part.minor[:0], part.values[:0])
    kept, lines = drop_empty_lines(stored.partitioning, empty)
    assert (kept.major.size, lines.size) == (1 if name == "pCSR" else 0, 0)


def triples(compressed: bool, part: Any) -> list[tuple[int, int, float]]:
    rows = np.repeat(np.arange(part.major.size - 1), np.diff(part.major)) if compressed else part.major
    return list(zip(rows.tolist(), part.minor.tolist(), part.values.tolist(), strict=True))
