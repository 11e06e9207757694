"""KERNELS × BATCHES on a GPU: the contract that holds on the CPU."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.batched import kernels_on
from gpu_engine.batched.base import BatchKernel
from tests.gpu_engine.batched import test_contract as contract
from tests.gpu_engine.batched.batteries import BATCHES

kernels = pytest.mark.parametrize("kernel", kernels_on("cuda"), ids=lambda kernel: kernel.name)
batches = pytest.mark.parametrize("name", BATCHES)

pytestmark = pytest.mark.usefixtures("gpu")


@pytest.fixture
def cupy() -> Any:
    return pytest.importorskip("cupy")


@batches
def test_a_batch_is_the_same_on_both_devices(cupy: Any, name: str) -> None:
    composition = BATCHES[name]()
    host, device = composition.batch(np), composition.batch(cupy)
    for part in ("rows", "cols", "entries", "indptr", "indices", "values"):
        np.testing.assert_array_equal(getattr(device, part).get(), getattr(host, part), err_msg=part)


@kernels
@batches
def test_round_trip(cupy: Any, kernel: BatchKernel, name: str) -> None:
    contract.check_round_trip(kernel, BATCHES[name](), cupy)


@kernels
@batches
def test_bytes(cupy: Any, kernel: BatchKernel, name: str) -> None:
    contract.check_bytes(kernel, BATCHES[name](), cupy)


@contract.operations
@kernels
@batches
def test_product(cupy: Any, kernel: BatchKernel, name: str, adds: bool) -> None:
    contract.check_product(kernel, kernel.cuda, BATCHES[name](), adds, cupy)


@kernels
def test_corrupted_value_is_found(cupy: Any, kernel: BatchKernel) -> None:
    assert contract.finds_corruption(kernel, kernel.cuda, cupy)
