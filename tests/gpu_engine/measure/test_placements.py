import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from gpu_engine.batched import KERNELS
from gpu_engine.batched.composition import Composition
from gpu_engine.formats import FORMATS
from gpu_engine.formats.base import Format
from gpu_engine.generators import generate
from gpu_engine.measure.placements import ALIGNMENT, Places, arrays_of, bytes_of, copied
from tests.gpu_engine.formats.contract import suited

MATRIX = generate("powerlaw", {"n": 300, "max_length": 40})


def share_memory(one: Any, other: Any) -> bool:
    return any(np.shares_memory(a, b) for a in arrays_of(one) for b in arrays_of(other))


@pytest.mark.parametrize("f", FORMATS, ids=lambda f: f.name)
def test_a_copy_of_a_layout_multiplies_alike_and_shares_no_array(f: Format) -> None:
    layout = f.from_csr(suited(f, MATRIX))
    copy = copied(layout)
    assert not share_memory(layout, copy)
    assert (bytes_of(layout) or 0) >= layout.stored_bytes
    assert copy.stored_bytes == layout.stored_bytes
    x = np.random.default_rng(1).random(MATRIX.n_cols)
    for _, kernel in f.kernels_on("cpu"):
        y, other = np.empty(MATRIX.n_rows), np.empty(MATRIX.n_rows)
        kernel.bound("cpu", layout)(x, y)
        kernel.bound("cpu", copy)(x, other)
        assert np.array_equal(y, other)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.name)
def test_each_batched_kernel_of_sparsight_can_be_placed(kernel: Any) -> None:
    batch = Composition.mixed((MATRIX, generate("stencil", {"nx": 5, "ny": 4})), 6).batch(np)
    layout = kernel.store(batch)
    copy = copied(layout)
    assert bytes_of(layout) is not None
    assert not share_memory(layout, copy)
    assert [bytes(a) for a in arrays_of(copy)] == [bytes(a) for a in arrays_of(layout)]


def test_columns_of_an_array_stay_in_their_order() -> None:
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    assert copied((array,))[0].flags.f_contiguous


@dataclass(frozen=True)
class Hidden:
    call: Callable[[], None]


def test_an_object_that_may_hide_arrays_is_not_copied() -> None:
    assert bytes_of(Hidden(lambda: None)) is None
    assert bytes_of({"a": [np.zeros(3), 2]}) == 24


def test_places_do_not_overlap_and_reach_all_of_the_range() -> None:
    size, source = 64 * ALIGNMENT, random.Random(1)
    seen = set()
    for _ in range(400):
        places = Places(size, source)
        offsets = [places.take(nbytes) for nbytes in (5 * ALIGNMENT, 1, 3 * ALIGNMENT - 1, 0)]
        taken = sorted(zip((o for o in offsets if o is not None), (5, 1, 3, 1), strict=True))
        assert all(a + units * ALIGNMENT <= b for (a, units), (b, _) in pairwise(taken))
        assert all(a >= 0 and a + units * ALIGNMENT <= size and not a % ALIGNMENT for a, units in taken)
        seen |= {a // ALIGNMENT for a, _ in taken}
    assert seen == set(range(64))


def test_an_array_without_room_has_no_place() -> None:
    places = Places(4 * ALIGNMENT, random.Random(0))
    assert places.take(5 * ALIGNMENT) is None
    assert places.take(4 * ALIGNMENT) == 0
    assert places.take(1) is None
