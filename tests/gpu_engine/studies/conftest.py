"""A bench for the tests of a module."""

from collections.abc import Iterator

import pytest

from gpu_engine.measure import Bench
from tests.samples.studies import opened


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    with opened() as bench:
        yield bench
