"""The sliced layout: by hand, how rows are dealt to groups and slices, exact round trips, products by value."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpu_engine.batched.batch import Batch, row_starts
from gpu_engine.batched.composition import Composition
from gpu_engine.batched.groups import ROW_WORK, SHARED_ELEMENTS, Groups, LaunchConfig, LaunchConfigs
from gpu_engine.batched.sliced import LANES, SlicedLayout
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.verify import POISON, check
from tests.battery import BATTERY, coo, dense, with_row_lengths

SMALL = dense([[1, 0, 2, 0, 0], [0, 0, 0, 0, 0], [3, 4, 5, 6, 7], [0, -8, 0, 0, 9]])
PAIR = Composition.of([SMALL, dense([[0, 10], [11, 0]])])


def multiply(layout: SlicedLayout, x: Any, start: Any | None = None) -> Any:
    """The CPU product, of a poisoned y or added to the one given."""
    y = np.full(int(layout.rows[-1]), POISON) if start is None else start.copy()
    assert LANES.cpu is not None
    LANES.cpu(layout, x, y, start is not None)
    return y


def assert_same(batch: Batch, other: Batch) -> None:
    for name in (field.name for field in dataclasses.fields(Batch)):
        mine, theirs = getattr(batch, name), getattr(other, name)
        assert (mine.dtype, mine.tolist()) == (theirs.dtype, theirs.tolist()), name


def verify(composition: Composition, *configs: LaunchConfig) -> None:
    """Round trip, stored bytes and both products of a composition."""
    batch = composition.batch(np)
    layout = SlicedLayout.from_batch(batch, LaunchConfigs(configs or (LaunchConfig(),)))
    assert_same(batch, layout.to_batch())
    for start in (None, composition.start(3)):
        expected = composition.reference(3, adds=start is not None)
        check(expected, multiply(layout, expected.x, start))


def test_two_problems_share_a_group() -> None:
    layout = SlicedLayout.from_batch(PAIR.batch(np))
    assert layout.slices.groups.tolist() == [[0, 6, 0, 1, 0, 7]]
    assert layout.slices.headers.tolist() == [[0, 6 << 19], [5, 0]]
    # By length: row 2 (5 entries), 0 and 3 (2), 4 and 5 (1), 1 (none).
    assert (layout.slices.words & 0xFFFF).tolist() == [2, 0, 3, 4, 5, 1]
    assert (layout.slices.words >> 16).tolist() == [0, 3, 3, 4, 4, 5]
    columns, values = layout.columns.reshape(5, 32), layout.values.reshape(5, 32)
    assert columns[:, :6].tolist() == [
        [0, 0, 1, 6, 5, 0],
        [1, 2, 4, 0, 0, 0],
        [2, 0, 0, 0, 0, 0],
        [3, 0, 0, 0, 0, 0],
        [4, 0, 0, 0, 0, 0],
    ]
    assert values[:2, :6].tolist() == [[3, 1, -8, 10, 11, 0], [4, 2, 9, 0, 0, 0]]
    assert values[2:, 0].tolist() == [5, 6, 7]
    assert not values[:, 6:].any()
    assert layout.shared_elements == (6 + 7,)


def test_bytes_of_two_problems() -> None:
    batch = PAIR.batch(np)
    layout = SlicedLayout.from_batch(batch)
    slices = 6 * 8 + 2 * 2 * 4 + 6 * 4
    assert layout.stored_bytes == slices + 3 * 3 * 8 + 5 * 32 * 10
    assert LANES.bytes_needed(batch) == layout.stored_bytes
    assert LANES.layout_bytes(layout) == slices + 11 * 10


def test_a_row_has_the_fewest_lanes_that_take_sixteen_slots() -> None:
    lengths = [16, 17, 32, 33, 64, 65, 128, 129, 256, 257, 700, 1, 0]
    batch = Composition.of([with_row_lengths(lengths, 1000, 1)]).batch(np)
    slices = SlicedLayout.from_batch(batch).slices
    shape = slices.headers[:-1, 1]
    assert (1 << (shape >> 16 & 7)).tolist() == [32, 32, 16, 8, 4, 2, 1]
    assert (shape >> 19).tolist() == [1, 1, 2, 2, 2, 2, 3]
    assert (shape & 0xFFFF).tolist() == [0, 1, 2, 4, 6, 8, 10]
    assert np.diff(slices.headers[:, 0]).tolist() == [22, 9, 16, 16, 16, 16, 16]
    assert (slices.words >> 16).tolist() == [4, 31, 0, 127, 0, 63, 0, 31, 0, 15, 0, 15, 16]


def test_entries_of_a_row_go_round_its_lanes() -> None:
    """Two rows of 18 and 17 entries, two lanes each."""
    matrix = with_row_lengths([17, 18], 40, 2)
    layout = SlicedLayout.from_batch(Composition.of([matrix]).batch(np))
    slots = layout.values.reshape(9, 32)
    assert slots[:, :2].ravel().tolist() == matrix.values[17:].tolist()
    assert slots[:, 2:4].ravel().tolist() == [*matrix.values[:17].tolist(), 0.0]


def test_small_problems_fill_a_group_by_columns_and_work() -> None:
    batch = Composition.copies(SMALL, 1000).batch(np)
    by_columns = Groups.of(batch.rows, batch.cols, row_starts(batch), LaunchConfigs((LaunchConfig(columns=52),)))
    assert by_columns.begins.tolist() == list(range(0, 4000, 40))
    assert by_columns.windows.tolist() == list(range(0, 5000, 50))
    assert set(by_columns.widths.tolist()) == {50}
    work = SMALL.nnz + ROW_WORK * SMALL.n_rows
    by_work = Groups.of(batch.rows, batch.cols, row_starts(batch), LaunchConfigs((LaunchConfig(work=3 * work + 1),)))
    assert (by_work.ends - by_work.begins).tolist() == [12] * 333 + [4]


def test_problems_of_different_cuts_share_no_group() -> None:
    batch = Composition.copies(SMALL, 7).batch(np)
    configs = LaunchConfigs((LaunchConfig(), LaunchConfig(columns=10)), np.array([0, 0, 1, 1, 1, 0, 0]))
    groups = Groups.of(batch.rows, batch.cols, row_starts(batch), configs)
    assert groups.begins.tolist() == [0, 8, 16, 20]
    assert groups.kinds.tolist() == [0, 1, 1, 0]


def test_a_large_problem_is_cut_into_parts_of_equal_work() -> None:
    """100 rows of 84 entries are 10,000 of work: five parts of 20 rows that share a window."""
    large = with_row_lengths([84] * 100, 200, 3)
    batch = Composition.of([SMALL, large, SMALL, SMALL]).batch(np)
    groups = Groups.of(batch.rows, batch.cols, row_starts(batch), LaunchConfigs((LaunchConfig(work=2000, columns=10),)))
    assert (*groups.begins.tolist(), groups.ends[-1]) == (0, 4, 24, 44, 64, 84, 104, 112)
    assert groups.windows.tolist() == [0, *[5] * 5, 205]
    assert groups.widths.tolist() == [5, *[200] * 5, 10]


def test_thousands_of_tiny_problems() -> None:
    rng = np.random.default_rng(4)
    tiny = [dense((rng.random((3, 3)) * (rng.random((3, 3)) < 0.7)).tolist()) for _ in range(50)]
    composition = Composition.mixed(tiny, 5000)
    verify(composition)
    layout = SlicedLayout.from_batch(composition.batch(np))
    assert layout.slices.groups.shape[0] == -(-5000 // (1024 // 3))


@pytest.mark.parametrize("work", [0, ROW_WORK * SHARED_ELEMENTS])
def test_a_group_must_fit_a_block(work: int) -> None:
    with pytest.raises(ParameterError, match="must be 1 to 98288"):
        LaunchConfigs((LaunchConfig(work=work),))


@pytest.mark.parametrize("name", BATTERY)
def test_each_matrix_of_the_battery_twice(name: str) -> None:
    verify(Composition.copies(BATTERY[name](), 2))


@pytest.mark.parametrize(
    "config",
    [
        LaunchConfig(),
        LaunchConfig(work=300, columns=50),
        LaunchConfig(work=ROW_WORK * (SHARED_ELEMENTS - 1), columns=2**20),
    ],
    ids=repr,
)
def test_the_battery_in_one_batch(config: LaunchConfig) -> None:
    verify(Composition.mixed([make() for make in BATTERY.values()], 70), config)


def test_a_batch_without_rows() -> None:
    verify(Composition.copies(CsrMatrix(0, 3, np.zeros(1, np.int32), np.empty(0, np.int32), np.empty(0)), 4))


@pytest.mark.parametrize(
    ("n_cols", "dtype", "elements"),
    [
        (SHARED_ELEMENTS - 3, np.uint16, SHARED_ELEMENTS),
        (SHARED_ELEMENTS - 2, np.uint16, 3),
        (65_536, np.uint16, 3),
        (65_537, np.int32, 3),
    ],
)
def test_wide_problems(n_cols: int, dtype: Any, elements: int) -> None:
    """Three rows, one of 5,000 entries, that read the first and the last column."""
    long = with_row_lengths([5000], n_cols - 2, 5)
    rows = [0] * 5000 + [0, 2, 2]
    cols = [*(long.indices + 1), n_cols - 1, 0, n_cols - 1]
    composition = Composition.copies(coo(3, n_cols, rows, cols, [*long.values, 2.0, 3.0, 4.0]), 2)
    layout = SlicedLayout.from_batch(composition.batch(np))
    assert (layout.columns.dtype, layout.shared_elements) == (dtype, (elements,))
    verify(composition)


def test_x_that_no_entry_reads_may_be_anything() -> None:
    """Rows of different lengths share slices, whose padding has column 0: that of the group and of each problem."""
    matrix = with_row_lengths([1, 40, 3, 0, 17, 300, 2] * 20, 500, 6)
    shifted = CsrMatrix(matrix.n_rows, 502, matrix.indptr, matrix.indices + 1, matrix.values)
    composition = Composition.copies(shifted, 3)
    expected = composition.reference()
    x = expected.x.copy()
    x[::502], x[501::502] = np.inf, np.nan
    check(expected, multiply(SlicedLayout.from_batch(composition.batch(np)), x))


def test_padding_is_not_multiplied() -> None:
    composition = Composition.of([BATTERY["around_a_warp"](), BATTERY["power_law"]()])
    batch = composition.batch(np)
    layout = SlicedLayout.from_batch(batch)
    ones = SlicedLayout.from_batch(dataclasses.replace(batch, values=np.ones(batch.nnz)))
    assert (ones.values == 0).any()
    expected = composition.reference()
    hostile = dataclasses.replace(layout, values=np.where(ones.values == 0, np.nan, layout.values))
    check(expected, multiply(hostile, expected.x))
