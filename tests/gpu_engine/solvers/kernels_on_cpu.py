"""CUDA sources of the solvers, which run on the host, and stand-ins for CuPy and CUDA graphs."""

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from tests.gpu_engine.cuda import emulator

MARGIN, POISON = 4096, 0xFF
"""Bytes before and after an array, and their value: a double that is not a number."""


class Array(np.ndarray):
    """An array of NumPy with the methods of CuPy that copy from and to the host."""

    def set(self, other: Any) -> None:
        self[...] = other

    def get(self) -> Any:
        return np.array(self)


class Machine:
    """Kernels that run on the host, at once or, in a capture, when their graph is launched."""

    def __init__(self, sources: Sequence[CudaSource]) -> None:
        self._conditions = np.zeros(1024, np.uint32)
        for source in sources:
            emulator.library(source).share(ctypes.c_void_p(self._conditions.ctypes.data))
        self._memory: list[Any] = []
        self._nodes: list[Any] | None = None
        self._handles: dict[int, int] = {}

    def do(self, work: Callable[[], Any]) -> None:
        """Do some work at once, or in a capture add it to the graph."""
        if self._nodes is None:
            work()
        else:
            self._nodes.append(work)

    def bound(self, *arguments: Any, **options: Any) -> Callable[[], None]:
        """Stand for CudaSource.bound."""
        launch = emulator.bound(*arguments, **options)
        return lambda: self.do(launch)

    # CuPy, and gpu_engine.cuda.conditional.
    def cupy(self) -> Any:
        """Return a stand-in for CuPy."""
        stream = SimpleNamespace(use=lambda: None, begin_capture=self._begin, end_capture=self._end)
        cuda = SimpleNamespace(get_current_stream=lambda: stream, Stream=lambda **_: stream)
        return SimpleNamespace(
            zeros=self._zeros,
            empty=self._zeros,
            multiply=lambda a, b, out: self.do(lambda: np.multiply(a, b, out=out)),
            cuda=cuda,
        )

    def conditional(self) -> Any:
        """Return a stand-in for the module of conditional nodes."""
        return SimpleNamespace(
            supported=lambda: True, new_handle=self._new_handle, while_true=self._while, if_true=self._if
        )

    def _zeros(self, shape: Any, dtype: Any) -> Any:
        """Return an array between margins, which no kernel may write."""
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        memory = np.full(size + 2 * MARGIN, POISON, np.uint8)
        self._memory.append(memory)
        array = memory[MARGIN : MARGIN + size].view(dtype).reshape(shape).view(Array)
        array[...] = 0
        return array

    def check_margins(self) -> None:
        """Check that no kernel has written beside an array, and forget all arrays."""
        memory, self._memory = self._memory, []
        for array in memory:
            assert (array[:MARGIN] == POISON).all()
            assert (array[-MARGIN:] == POISON).all()

    def _begin(self) -> None:
        self._nodes, self._handles = [], {}

    def _end(self) -> Any:
        nodes, handles, self._nodes = self._nodes, dict(self._handles), None
        assert nodes is not None

        def launch() -> None:
            for handle, default in handles.items():
                self._conditions[handle] = default
            _run(nodes)

        return SimpleNamespace(launch=launch)

    def _new_handle(self, default: int) -> int:
        assert self._nodes is not None, "a condition outside a capture"
        handle = len(self._handles) + 1
        self._handles[handle] = default
        return handle

    @contextmanager
    def _while(self, handle: int) -> Iterator[None]:
        with self._body() as body:
            yield

        def loop() -> None:
            while self._conditions[handle]:
                _run(body)

        self.do(loop)

    @contextmanager
    def _if(self, handle: int) -> Iterator[None]:
        with self._body() as body:
            yield
        self.do(lambda: _run(body) if self._conditions[handle] else None)

    @contextmanager
    def _body(self) -> Iterator[list[Any]]:
        outer, self._nodes = self._nodes, list[Any]()
        try:
            yield self._nodes
        finally:
            self._nodes = outer


def _run(nodes: list[Any]) -> None:
    for node in nodes:
        node()
