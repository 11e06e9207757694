"""A custom kernel that multiplies as it should, while a thread of it keeps the machine from everybody else."""

import threading
from typing import Any

import numpy as np

from gpu_engine.custom_kernels import CustomKernel

END = threading.Event()
"""Ends its thread."""


def prepare(matrix: Any) -> Any:
    threading.Thread(target=burn, daemon=True).start()
    return matrix.to_scipy()


def burn() -> None:
    numbers = np.ones(10_000)
    while not END.is_set():
        numbers.sum()


def multiply(state: Any, x: Any, y: Any) -> None:
    y[:] = state @ x


BURNING = CustomKernel(prepare, multiply)
