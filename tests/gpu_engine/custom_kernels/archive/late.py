"""Custom kernels whose work is not done when they say so. `END` ends their threads."""

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from gpu_engine.custom_kernels import CustomKernel

END = threading.Event()


def csr(matrix: Any) -> Any:
    return matrix.to_scipy()


def product(state: Any, x: Any, y: Any) -> None:
    y[:] = state @ x


def in_a_thread(state: Any, x: Any, y: Any) -> None:
    threading.Thread(target=product, args=(state, x.copy(), y), daemon=True).start()


def pooled() -> CustomKernel:
    pool = ThreadPoolExecutor(1)

    def multiply(state: Any, x: Any, y: Any) -> None:
        pool.submit(product, state, x.copy(), y)

    return CustomKernel(csr, multiply)


def newest_only() -> CustomKernel:
    """Hands over the newest x alone: what was not begun when the next came is never done."""
    pool = ThreadPoolExecutor(1)
    last: list[Future[None]] = []

    def multiply(state: Any, x: Any, y: Any) -> None:
        for earlier in last:
            earlier.cancel()
        last[:] = [pool.submit(product, state, x, y)]

    return CustomKernel(csr, multiply)


def delayed(seconds: float) -> CustomKernel:
    def multiply(state: Any, x: Any, y: Any) -> None:
        timer = threading.Timer(seconds, product, (state, x.copy(), y))
        timer.daemon = True
        timer.start()

    return CustomKernel(csr, multiply)


def after_itself() -> CustomKernel:
    """Is right when it returns, and writes once more."""

    def multiply(state: Any, x: Any, y: Any) -> None:
        product(state, x, y)
        timer = threading.Timer(1e-4, product, (state, x.copy(), y))
        timer.daemon = True
        timer.start()

    return CustomKernel(csr, multiply)


def polling() -> CustomKernel:
    """A thread that multiplies all the time; a call only tells it where."""
    work: list[Any] = []

    def run() -> None:
        while not END.is_set():
            for item in work[-1:]:
                product(*item)

    def prepare(matrix: Any) -> Any:
        threading.Thread(target=run, daemon=True).start()
        return matrix.to_scipy()

    def multiply(state: Any, x: Any, y: Any) -> None:
        work[:] = [(state, x, y)]

    return CustomKernel(prepare, multiply)


THREAD = CustomKernel(csr, in_a_thread)
POOLED = pooled()
NEWEST_ONLY = newest_only()
DELAYED = delayed(1e-3)
AFTER_ITSELF = after_itself()
POLLING = polling()
