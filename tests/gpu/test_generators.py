"""Rows of generated matrices made on a GPU: bit for bit those of the host."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.generators import find_generator
from gpu_engine.parameters import parse_params
from tests.gpu_engine.generator_calls import BY_ROWS

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.mark.parametrize(("name", "params"), BY_ROWS)
def test_rows_have_the_bits_of_the_host(name: str, params: dict[str, Any]) -> None:
    import cupy

    chosen = find_generator(name)
    assert chosen.by_rows is not None
    parsed = parse_params(chosen.Params, params)
    n = chosen.by_rows.size(parsed)
    for first, stop in ((0, n), (n // 3, n), (0, 0)):
        expected, found = (chosen.by_rows.rows(parsed, first, stop, xp) for xp in (np, cupy))
        assert found.shape == expected.shape
        for array in ("indptr", "indices", "values"):
            here, there = getattr(expected, array), getattr(found, array).get()
            assert (here.dtype, here.tobytes()) == (there.dtype, there.tobytes())
        assert (chosen.by_rows.lengths(parsed, first, stop, cupy).get() == np.diff(expected.indptr)).all()
