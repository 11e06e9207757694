"""CUDA sources of the solvers, compiled for the host and run thread by thread, and stand-ins for CuPy and CUDA graphs.

The threads of a block take turns at each barrier and each shuffle, so all must come to the same ones. Blocks run one
after the other.
"""

import ctypes
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource

SHIM = """
#include <cmath>
#include <csetjmp>
#include <ucontext.h>
#include <utility>
#include <type_traits>
#include <vector>
#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(threads)
#define __shared__ static
using std::fma;
using std::isfinite;
struct Index { unsigned x, y, z; };
struct double2 { double x, y; };
static Index threadIdx, blockIdx, gridDim, blockDim;
constexpr int THREADS = 256;
static ucontext_t fibers[THREADS];
static jmp_buf back, places[THREADS]; // switches between fibers that have started, which swapcontext makes slowly
static bool done[THREADS], started[THREADS];
static double slots[THREADS];
static int votes[THREADS];
static void (*body)(void **);
static void **operands;
static void turn() {
  const unsigned mine = threadIdx.x;
  if (!_setjmp(places[mine])) _longjmp(back, 1);
  threadIdx.x = mine;
}
static void __syncthreads() { turn(); }
static int __syncthreads_or(int vote) {
  votes[threadIdx.x] = vote;
  turn();
  int any = 0;
  for (int t = 0; t < THREADS; ++t) any |= votes[t] != 0;
  turn();
  return any;
}
static double shifted(double value, int by, int width) {
  slots[threadIdx.x] = value;
  turn();
  const int lane = (int)threadIdx.x % width + by;
  const double other = lane >= 0 && lane < width ? slots[threadIdx.x + by] : value;
  turn();
  return other;
}
template <typename T> T __shfl_down_sync(unsigned, T value, int by, int width = 32) {
  return (T)shifted((double)value, by, width);
}
template <typename T> T __shfl_up_sync(unsigned, T value, int by, int width = 32) {
  return (T)shifted((double)value, -by, width);
}
template <typename T> T __ldg(const T *address) { return *address; }
template <typename T> T __ldcs(const T *address) { return *address; }
static double __dadd_rn(double a, double b) { return a + b; }
static double __dsub_rn(double a, double b) { return a - b; }
static double __dmul_rn(double a, double b) { return a * b; }
static double __fma_rn(double a, double b, double c) { return fma(a, b, c); }
static double rsqrt(double a) { return 1.0 / std::sqrt(a); }
static double atomicAdd(double *to, double value) { return *to += value; }
using std::fmax; using std::fmin; using std::fabs; using std::sqrt;
template <typename A, typename B> auto min(A a, B b) { return a < b ? a : b; }
static unsigned *conditions; // of all libraries
extern "C" void cudaGraphSetConditional(unsigned long long handle, unsigned value) { conditions[handle] = value; }
extern "C" void use(unsigned *shared) { conditions = shared; }
static void fiber() {
  const unsigned mine = threadIdx.x;
  body(operands);
  done[mine] = true;
  _longjmp(back, 1);
}
static void resume(int t) {
  threadIdx = {(unsigned)t, 0, 0};
  if (_setjmp(back)) return;
  if (started[t]) _longjmp(places[t], 1);
  started[t] = true;
  setcontext(&fibers[t]);
}
static void launch(unsigned blocks, void (*kernel)(void **), void **arguments) {
  static std::vector<char> stacks(THREADS * 65536);
  body = kernel, operands = arguments;
  gridDim = {blocks, 1, 1}, blockDim = {THREADS, 1, 1};
  for (unsigned block = 0; block < blocks; ++block) {
    blockIdx = {block, 0, 0};
    for (int t = 0; t < THREADS; ++t) {
      done[t] = started[t] = false, votes[t] = 0;
      getcontext(&fibers[t]);
      fibers[t].uc_stack.ss_sp = stacks.data() + t * 65536, fibers[t].uc_stack.ss_size = 65536;
      fibers[t].uc_link = nullptr;
      makecontext(&fibers[t], fiber, 0);
    }
    for (bool runs = true; runs;) {
      runs = false;
      for (int t = 0; t < THREADS; ++t)
        if (!done[t]) resume(t), runs |= !done[t];
    }
  }
}
template <typename... A, size_t... I> void call(void (*kernel)(A...), void **arguments, std::index_sequence<I...>) {
  kernel(*(std::remove_cv_t<A> *)arguments[I]...);
}
template <typename... A> void call(void (*kernel)(A...), void **arguments) {
  call(kernel, arguments, std::index_sequence_for<A...>{});
}
"""


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

    def __init__(self, compiler: str, folder: Path, sources: Sequence[CudaSource]) -> None:
        self._libraries = {source: _compiled(compiler, folder, number, source) for number, source in enumerate(sources)}
        self._conditions = np.zeros(1024, np.uint32)
        for library in self._libraries.values():
            library.use(ctypes.c_void_p(self._conditions.ctypes.data))
        self._memory: list[Any] = []
        self._nodes: list[Any] | None = None
        self._handles: dict[int, int] = {}

    def do(self, work: Callable[[], Any]) -> None:
        """Do some work at once, or in a capture add it to the graph."""
        if self._nodes is None:
            work()
        else:
            self._nodes.append(work)

    def bound(
        self, source: CudaSource, name: str, blocks: int, _: int, arguments: Any, **__: Any
    ) -> Callable[[], None]:
        """Stand for CudaSource.bound."""
        library = self._libraries[source]
        function = getattr(library, f"run_{source.instantiations.index(name)}")
        values = [_value(argument) for argument in arguments]
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))

        def launch(_references: Any = (values, arguments)) -> None:
            function(blocks, pointers)

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


def _compiled(compiler: str, folder: Path, number: int, source: CudaSource) -> Any:
    runs = "\n".join(
        f'extern "C" void run_{i}(unsigned blocks, void **arguments) {{ '
        f"launch(blocks, [](void **a) {{ call({name}, a); }}, arguments); }}"
        for i, name in enumerate(source.instantiations)
    )
    text, library = folder / f"source{number}.cpp", folder / f"source{number}.so"
    text.write_text(f"{SHIM}\n{source.text}\n{runs}\n", encoding="utf-8")
    options = [
        "-O1",
        "-std=c++17",
        "-ffp-contract=off",
        "-U_FORTIFY_SOURCE",
        "-fpermissive",
        "-w",
        "-shared",
        "-fPIC",
        "-Wl,-Bsymbolic",
    ]
    subprocess.run([compiler, *options, str(text), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def _value(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    return np.ctypeslib.as_ctypes_type(argument.dtype)(argument.item())
