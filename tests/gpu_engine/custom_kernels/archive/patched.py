"""Custom kernels that change what measures and checks them, or the process that all are measured in."""

import gc
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import scipy.sparse

from gpu_engine.custom_kernels import CustomKernel, examiner, timing_checks
from gpu_engine.formats.csr import vector
from gpu_engine.measure import bench, cpu
from gpu_engine.measure.stopwatch import now
from gpu_engine.studies.formats import custom_kernel as candidate


def csr(matrix: Any) -> Any:
    return matrix.to_scipy()


def product(state: Any, x: Any, y: Any) -> None:
    y[:] = state @ x


def on_multiply(change: Callable[[], Any]) -> CustomKernel:
    """Changes something in its first call that is timed."""

    def multiply(state: Any, x: Any, y: Any) -> None:
        product(state, x, y)
        change()

    return CustomKernel(csr, multiply)


def on_prepare(change: Callable[[], Any]) -> CustomKernel:
    def prepare(matrix: Any) -> Any:
        change()
        return csr(matrix)

    return CustomKernel(prepare, product)


def replacing(owner: Any, name: str, value: Any) -> Callable[[], None]:
    return lambda: setattr(owner, name, value)


def other_code() -> None:
    now.__code__ = (lambda: 0.0).__code__


def slow_clock(part: int) -> CustomKernel:
    """A clock that runs slower, for one read, and then is what it was: nothing is left to be seen."""
    own, kept = time.perf_counter_ns, [0]

    def late() -> int:
        time.perf_counter_ns = own
        return kept[0] + (own() - kept[0]) // part

    def multiply(state: Any, x: Any, y: Any) -> None:
        kept[0] = own()
        product(state, x, y)
        time.perf_counter_ns = late

    return CustomKernel(csr, multiply)


def hidden_clock() -> CustomKernel:
    """Puts the clock of the stopwatch back by what its product took, as often as it is called."""
    own, owed, name = time.perf_counter_ns, [0], "time"

    class Times:
        @staticmethod
        def perf_counter_ns() -> int:
            setattr(cpu, name, time)
            now, owed[0] = own() - owed[0], 0
            return now

    def multiply(state: Any, x: Any, y: Any) -> None:
        begin = own()
        product(state, x, y)
        owed[0] += (own() - begin) * 9 // 10
        setattr(cpu, name, Times)

    return CustomKernel(csr, multiply)


def stopwatch_of(name: str, value: Any) -> Callable[[], None]:
    """Finds the stopwatch itself."""

    def change() -> None:
        for found in gc.get_objects():
            if isinstance(found, cpu.CpuStopwatch):
                found.__dict__[name] = value

    return change


CLOCK = on_prepare(replacing(time, "perf_counter_ns", lambda: 0))
CLOCK_LATER = on_multiply(replacing(time, "perf_counter_ns", lambda: 0))
CLOCK_OF_THE_STOPWATCH = on_prepare(replacing(cpu, "time", None))
CLOCK_CODE = on_prepare(other_code)
CLOCK_SLOW = slow_clock(10)
CLOCK_HIDDEN = hidden_clock()
WARM = on_prepare(replacing(cpu.CpuStopwatch, "_warm", lambda *_: [1e-6]))
WARM_OF_ONE = on_multiply(stopwatch_of("_warm", lambda *_: [1e-6]))
SAMPLES = on_prepare(replacing(cpu, "SAMPLES", 1))
MEDIAN = on_prepare(replacing(statistics, "median", min))
MINIMUM = on_prepare(replacing(bench, "FLOOR_SLACK", 0.0))
LEAST = on_prepare(replacing(bench.Bench, "least_s", lambda *_: 0.0))
CHECK = on_prepare(replacing(examiner, "check", lambda *_: 0.0))
EXAMINER = on_prepare(replacing(examiner.Examiner, "examine", lambda *_: 0.0))
JUDGE = on_prepare(replacing(timing_checks.TimingChecks, "judge", lambda _: None))
SETTLE = on_prepare(replacing(candidate.CustomKernelCandidate, "_check_output", lambda *_: 0.0))
ISNAN = on_prepare(replacing(np, "isnan", lambda array: np.zeros(array.shape, bool)))
ENTROPY = on_prepare(replacing(os, "urandom", bytes))
GENERATOR = on_prepare(replacing(np.random, "default_rng", lambda _: np.random.Generator(np.random.PCG64(0))))
SCIPY = on_prepare(replacing(scipy.sparse.csr_array, "__matmul__", lambda *_: 0.0))
HIDDEN_BUILTIN = on_prepare(replacing(examiner, "int", lambda *_: 0))
HIDDEN_METHOD = on_prepare(replacing(candidate.CustomKernelCandidate, "fail", lambda *_: None))
SYSTEM_RANDOM = on_prepare(replacing(random, "SystemRandom", random.Random))
OTHERS = on_prepare(replacing(vector, "_cpu", lambda *_: time.sleep(1)))
THREADS = on_multiply(lambda: numba.set_num_threads(1 if numba.get_num_threads() > 1 else 2))
SWITCHES = on_multiply(lambda: sys.setswitchinterval(1.0))
ERRORS = on_multiply(lambda: np.seterr(divide="raise"))
COLLECTION = on_multiply(gc.disable)
PROFILER = on_multiply(lambda: sys.setprofile(lambda *_: None))
