"""Where matrices are cut, by hand; and what is read for it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.multigpu.cut import borders, cut_by_entries, cut_by_lines, cut_group
from gpu_engine.multigpu.partition import (
    PARTITIONINGS,
    Partitioning,
    Span,
    StoredMatrix,
    find_partitioning,
    localize,
    part_of,
)
from tests.battery import with_row_lengths

partitionings = pytest.mark.parametrize("partitioning", PARTITIONINGS, ids=lambda p: p.name)
by_rows = pytest.mark.parametrize("name", ["pCSR", "pCOO"])


@pytest.mark.parametrize(
    ("nnz", "groups", "expected"),
    [
        pytest.param(19, (4,), (0, 4, 9, 14, 19), id="rounded down"),
        pytest.param(2, (5,), (0, 0, 0, 1, 1, 2), id="more parts than entries"),
        pytest.param(0, (3,), (0, 0, 0, 0), id="no entries"),
        pytest.param(10, (4,), (0, 2, 5, 7, 10), id="one step"),
        pytest.param(10, (3, 1), (0, 2, 4, 7, 10), id="first among nodes: 7 for three devices, 3 for one"),
        pytest.param(12, (2, 4), (0, 2, 4, 6, 8, 10, 12), id="in proportion to the devices"),
        pytest.param(2**33 + 5, (8,), (*(i * 2**30 + i * 5 // 8 for i in range(8)), 2**33 + 5), id="past 32 bits"),
    ],
)
def test_places(nnz: int, groups: tuple[int, ...], expected: tuple[int, ...]) -> None:
    assert borders(nnz, groups) == expected


@pytest.mark.parametrize("groups", [(), (0,), (2, 0), (-1,)])
def test_a_group_without_parts_is_refused(groups: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="at least one partition"):
        borders(10, groups)


def lines(spans: tuple[Span, ...]) -> list[tuple[int, int, bool]]:
    return [(span.first, span.stop, span.start_flag) for span in spans]


@by_rows
@pytest.mark.parametrize(
    ("lengths", "parts", "expected"),
    [
        pytest.param(
            [0, 0, 2, 0, 2, 0], 2, [(0, 4, False), (4, 6, False)], id="empty rows: leading, between, trailing"
        ),
        pytest.param([0, 9, 0], 3, [(0, 2, False), (1, 2, True), (1, 3, True)], id="a row in three parts"),
        pytest.param([3, 3], 2, [(0, 1, False), (1, 2, False)], id="a border at a row's start cuts nothing"),
        pytest.param([0, 1], 3, [(0, 1, False), (1, 1, False), (1, 2, False)], id="part 0 is empty but for empty rows"),
        pytest.param(
            [2],
            5,
            [(0, 0, False), (0, 0, False), (0, 1, False), (0, 0, False), (0, 1, True)],
            id="an empty part within a row",
        ),
        pytest.param([0, 0], 2, [(0, 2, False), (2, 2, False)], id="no entries: all rows are part 0's"),
        pytest.param([], 2, [(0, 0, False), (0, 0, False)], id="no rows"),
    ],
)
def test_equal_entries(name: str, lengths: list[int], parts: int, expected: list[Any]) -> None:
    stored = find_partitioning(name).store(with_row_lengths(lengths, 10, 1))
    assert lines(cut_by_entries(stored, (parts,))) == expected


@partitionings
@pytest.mark.parametrize("lengths", [[5, 0, 31, 2, 2, 7], [0, 0, 1], [0, 0], [], [0, 9, 0]])
def test_groups_cut_by_themselves_are_those_of_the_whole(partitioning: Partitioning, lengths: list[int]) -> None:
    stored = partitioning.store(with_row_lengths(lengths, 40, 1))
    for groups in ((3, 2), (1, 1, 4), (5,)):
        apart = [span for number in range(len(groups)) for span in cut_group(stored, groups, number)]
        assert tuple(apart) == cut_by_entries(stored, groups)


@by_rows
@pytest.mark.parametrize(
    ("lengths", "parts", "slack", "expected"),
    [
        pytest.param(
            [4, 3, 4, 3, 6],
            4,
            4,
            [(0, 4, 0, 1, False), (4, 7, 1, 2, False), (7, 15, 2, 5, False), (15, 20, 4, 5, True)],
            id="a row of six is cut",
        ),
        pytest.param(
            [1, 8, 0, 1],
            5,
            8,
            [(0, 1, 0, 1, False), *[(1, 1, 1, 1, False)] * 3, (1, 10, 1, 4, False)],
            id="borders in one row begin with it",
        ),
        pytest.param([2, 2], 2, 9, [(0, 2, 0, 1, False), (2, 4, 1, 2, False)], id="nothing is cut anyway"),
    ],
)
def test_short_rows_stay_whole(name: str, lengths: list[int], parts: int, slack: int, expected: list[Any]) -> None:
    stored = find_partitioning(name).store(with_row_lengths(lengths, 10, 1))
    assert cut_by_entries(stored, (parts,), slack) == tuple(Span(*each) for each in expected)


@by_rows
def test_equal_rows_whatever_they_hold(name: str) -> None:
    stored = find_partitioning(name).store(with_row_lengths([0, 9, 0, 1, 2], 10, 1))
    spans = cut_by_lines(stored, 3)
    assert lines(spans) == [(0, 1, False), (1, 3, False), (3, 5, False)]
    assert [(span.start, span.end) for span in spans] == [(0, 0), (0, 9), (9, 12)]


@partitionings
def test_one_node_is_cut_as_one_group(partitioning: Partitioning) -> None:
    """And nodes are cut like matrices of their own: their outer borders lie where those of one step would."""
    stored = partitioning.store(with_row_lengths([5, 0, 31, 2, 2, 7], 40, 2))
    two_steps = cut_by_entries(stored, (3, 2))
    assert [span.start for span in two_steps] == list(borders(stored.nnz, (3, 2))[:-1])
    assert two_steps[3].start == stored.nnz * 3 // 5


class CountingArray(np.ndarray[Any, Any]):
    """An array that counts the elements that are read of it; slices are views, and read nothing."""

    read = 0

    def __getitem__(self, key: Any) -> Any:
        found = self.view(np.ndarray)[key]
        if isinstance(key, slice):
            return found.view(CountingArray)
        self.read += found.size
        return found

    def __array_function__(self, function: Any, types: Any, arguments: Any, keywords: Any) -> Any:
        assert function is np.searchsorted
        _, keys = arguments
        # NumPy casts, and so reads, the whole array where the keys are of a wider type.
        self.read += keys.size * self.size.bit_length() if keys.dtype == self.dtype else self.size
        return np.searchsorted(self.view(np.ndarray), keys, **keywords)

    def __array_ufunc__(self, *_arguments: Any, **_keywords: Any) -> Any:
        raise AssertionError("All elements would be read.")


@partitionings
@pytest.mark.parametrize("parts", [4, 100])
def test_cutting_reads_the_borders_alone(partitioning: Partitioning, parts: int) -> None:
    n = 2**20
    arrays = np.arange(n + partitioning.compressed, dtype=np.int32), np.zeros(n, np.int32), np.ones(n)
    stored = StoredMatrix(partitioning, n, n, *(array.view(CountingArray) for array in arrays))
    for spans in (cut_by_entries(stored, (parts,)), cut_by_lines(stored, parts)):
        assert [span.first for span in spans] == [n * i // parts for i in range(parts)]
        part_of(stored, spans[1], stored.major_of(spans[1]))
    assert 0 < stored.major.read <= 2 * (parts + 1) * (n.bit_length() + 2)
    assert stored.minor.read == stored.values.read == 0


@partitionings
def test_parts_of_a_mapped_matrix_stay_mapped(partitioning: Partitioning, tmp_path: Path) -> None:
    stored = partitioning.store(with_row_lengths([3, 1, 4, 1, 5], 9, 4))
    arrays = []
    for name in ("major", "minor", "values"):
        np.save(tmp_path / f"{name}.npy", getattr(stored, name))
        arrays.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = StoredMatrix(partitioning, 5, 9, *arrays)
    spans = cut_by_entries(mapped, (3,))
    assert spans == cut_by_entries(stored, (3,))
    for span in spans:
        part = part_of(mapped, span, localize(mapped, span))
        assert isinstance(part.minor, np.memmap)
        assert isinstance(part.values, np.memmap)
        np.testing.assert_array_equal(part.major, localize(stored, span))


@by_rows
@pytest.mark.parametrize(("ratio", "expected"), [(1, 1.0), (2, 0.75), (10, 0.55)])
def test_half_of_the_devices_with_less_slow_all_down(name: str, ratio: int, expected: float) -> None:
    """Figure 6: (1 + 1/r)/2 of the speed of equal parts; the paper measures 559/1028 = 0.54 for eight GPUs, r = 10."""
    matrix = generate("two_level", {"n": 800, "mean": 40.0, "ratio": ratio})
    for parts in (2, 8):
        entries = [span.entries for span in cut_by_lines(find_partitioning(name).store(matrix), parts)]
        assert sum(entries) / parts / max(entries) == pytest.approx(expected, rel=0.02)
