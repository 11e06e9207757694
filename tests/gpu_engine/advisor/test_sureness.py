"""The borders of what the costs were fitted to: they belong to it."""

from collections.abc import Mapping
from typing import Any

import pytest

from gpu_engine.advisor.model import MODELS
from gpu_engine.advisor.sureness import LIMITS, UNSTEADY, is_familiar
from tests.gpu_engine.advisor.samples import EVEN

HALF, TWICE = EVEN["n_rows"] // 2, 2 * EVEN["n_rows"]


@pytest.mark.parametrize(
    ("limit", "inside", "outside"),
    [
        ("nonzeros", {"nnz": 400_000}, {"nnz": 399_999}),
        ("mean row", {"ave": 1.0}, {"ave": 0.99}),
        ("mean row", {"ave": 400.0}, {"ave": 400.1}),
        ("longest row", {"max": 1}, {"max": 0}),
        ("longest row", {"max": 50_000}, {"max": 50_001}),
        ("longest row per nonzero", {"nnz": 400_000, "max": 10_400}, {"nnz": 400_000, "max": 10_401}),
        ("spread of the row lengths", {"sigma": 100.0}, {"sigma": 100.1}),
        ("spread of the row lengths", {"ave": 100.0, "sigma": 1000.0}, {"ave": 100.0, "sigma": 1001.0}),
        ("columns per row", {"n_cols": HALF}, {"n_cols": HALF - 1}),
        ("columns per row", {"n_cols": TWICE}, {"n_cols": TWICE + 1}),
    ],
)
def test_a_matrix_on_a_limit_is_familiar_and_one_beyond_is_not(
    limit: str, inside: Mapping[str, Any], outside: Mapping[str, Any]
) -> None:
    assert is_familiar({**EVEN, **inside})
    assert not is_familiar({**EVEN, **outside})
    assert [name for name, limits in LIMITS.items() if not limits.hold({**EVEN, **outside})] == [limit]


def test_kernels_with_all_rows_sorted_are_unsteady() -> None:
    sorted_formats = ("jad", "bijad", "pellr", "pellr-sliced")
    assert sorted(UNSTEADY) == sorted(kernel for kernel in MODELS if kernel.partition("/")[0] in sorted_formats)
