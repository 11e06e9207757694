"""Call overhead: times `A @ x` and `A @ X` by operators and libraries, on the device and on the host."""

import functools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from gpu_engine.competitors import COMPETITORS
from gpu_engine.competitors.library_calls import LIBRARY_CALLS, Call, LibraryCall
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import DeviceLostError, SparsightError
from gpu_engine.formats.base import Format, Kernel, check_room
from gpu_engine.gpu_bench.benchmark_matrices import SUBJECTS as FORMAT_SUBJECTS
from gpu_engine.gpu_bench.call_records import CallTimes
from gpu_engine.measure import Bench, Rounds, Timed
from gpu_engine.measure.stopwatch import Stopwatch
from gpu_engine.operators import Choose, operator
from gpu_engine.records import CACHES, Cache
from gpu_engine.verify import POISON, Reference, check, reference

SUBJECTS = tuple(
    subject for subject in FORMAT_SUBJECTS if subject.group in ("families", "collection", "unfitted class")
)

NNZ_MIN = 80_000
"""Least nonzeros of a matrix; with fewer an SpMV takes about as long as its launch."""

COLUMNS = (8, 32)
"""Numbers of columns of X, row major, for which operators and libraries compute A @ X."""

OURS = "sparsight/"

HANDED_S = 0.01
"""Seconds of all calls in a row, long enough that the cost of the clock does not matter."""

CALLS_MAX = 64
"""Most calls in a row, which fit into the queue of a GPU, so that the host never waits."""


@dataclass(frozen=True, slots=True)
class CallTarget:
    """A prepared SpMV or SpMM to time.

    call      the SpMV or SpMM as in user code
    captured  the same into an existing array, without allocations; None if it cannot be captured in a CUDA graph
    """

    call: Call
    captured: Callable[[], Any] | None
    kernel: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)


def measure(name: str, host: CsrMatrix, bench: Bench, rounds: int) -> Iterator[CallTimes]:
    """Yield the times of all libraries and operators on a host matrix: SpMVs, then SpMMs by number of columns.

    Those of one number of columns share their rounds. A library that is missing, or gives a wrong result, has a note
    instead of times.
    """
    matrix = bench.stopwatch.upload(host)
    for columns in (None, *COLUMNS):
        yield from _measured(name, host, matrix, columns, bench, rounds)


def _measured(
    name: str, host: CsrMatrix, matrix: CsrMatrix, columns: int | None, bench: Bench, rounds: int
) -> Iterator[CallTimes]:
    """Yield the times of the SpMVs, or of the SpMMs with a number of columns."""
    expected = reference(host, k=columns).on(bench.xp)
    targets = _targets(matrix, expected.x, bench)
    prepared = [_prepared(name, way, make, expected, bench) for way, make in targets]
    ready = {times.name: made for times, made in prepared if made is not None}
    device = _on_device(ready, bench, rounds)
    host_times = _on_host(ready, bench, rounds)
    for times, _ in prepared:
        times = replace(times, columns=columns)
        yield replace(times, **device.get(times.name, {}), **host_times.get(times.name, {}))


def _targets(matrix: CsrMatrix, x: Any, bench: Bench) -> Iterator[tuple[str, Callable[[], CallTarget]]]:
    """Yield (name, function that prepares it) of each target; cuSPARSE is loaded before CuPy loads its own copy.

    x  [n_cols], or [n_cols, k] for an SpMM, which kernels of cuSPARSE without a call are not part of
    """
    backend = bench.stopwatch.backend
    for form in COMPETITORS if x.ndim == 1 else ():
        layout = functools.cache(functools.partial(_converted, form, matrix, bench))
        for name, kernel in form.kernels_on(backend):
            yield name, functools.partial(_kernel, kernel, layout, matrix, x, bench)
    for choose in get_args(Choose):
        yield f"{OURS}{choose}", functools.partial(_operator, matrix, choose, x, bench)
    for library in LIBRARY_CALLS:
        if backend in library.backends:
            yield library.name, functools.partial(_library, library, matrix, x, backend)


def _converted(form: Format, matrix: CsrMatrix, bench: Bench) -> Any:
    check_room(form.bytes_needed(matrix), bench.layout_bytes)
    return form.from_csr(matrix)


def _kernel(kernel: Kernel, layout: Callable[[], Any], matrix: CsrMatrix, x: Any, bench: Bench) -> CallTarget:
    y = bench.xp.full(matrix.n_rows, POISON)
    launch = functools.partial(kernel.bound(bench.stopwatch.backend, layout()), x, y)

    def call() -> Any:
        launch()
        return y

    return CallTarget(call, launch, versions=kernel.libraries())


def _operator(matrix: CsrMatrix, choose: Choose, x: Any, bench: Bench) -> CallTarget:
    A = operator(matrix, choose)
    y = bench.xp.empty((matrix.n_rows, *x.shape[1:]))
    if x.ndim == 1:
        return CallTarget(lambda: A @ x, functools.partial(A.matvec, x, y), A.kernel)
    # The first call for a number of columns allocates.
    A.matmat(x, y)
    return CallTarget(lambda: A @ x, functools.partial(A.matmat, x, y), A.column_kernel(x.shape[1]) or A.kernel)


def _library(library: LibraryCall, matrix: CsrMatrix, x: Any, backend: str) -> CallTarget:
    call = library.bind(matrix, x)
    # A CPU has no graphs. On a GPU these calls create descriptors and vectors, and the call of CuPy cannot be captured.
    return CallTarget(call, call if backend == "cpu" else None, versions=library.versions())


def _prepared(
    matrix_id: str, name: str, make: Callable[[], CallTarget], expected: Reference, bench: Bench
) -> tuple[CallTimes, CallTarget | None]:
    """Prepare a target and verify it against SciPy; return None instead of the target if that fails."""
    try:
        with bench.stopwatch.guard():
            made, seconds = bench.stopwatch.time_once(make)
            y = made.call()
            bench.stopwatch.take_back()
            bench.stopwatch.synchronize()
            check(expected, bench.xp.asarray(y))
    except Exception as error:
        return CallTimes(matrix_id, name, note=reason(error)), None
    finally:
        # nvmath-python leaves its stream as the current one.
        bench.stopwatch.take_back()
    return CallTimes(matrix_id, name, made.kernel, seconds, versions=made.versions), made


def reason(error: Exception) -> str:
    """Return why there is no time, in one line; raise errors again that make the device unusable."""
    if isinstance(error, DeviceLostError):
        raise error
    if isinstance(error, SparsightError):
        return error.message
    # Libraries raise arbitrary exceptions.
    return f"{type(error).__name__}: {error}".partition("\n")[0]


def _on_device(ready: Mapping[str, CallTarget], bench: Bench, rounds: int) -> dict[str, dict[str, Any]]:
    """Return by name `cold_s` and `warm_s` of the captured targets, or a note if the capture fails."""
    timed, notes = [], dict[str, dict[str, Any]]()
    for name, made in ready.items():
        if made.captured is None:
            continue
        try:
            with bench.stopwatch.guard():
                prepare = bench.turns(made.captured)
                turns = {cache: prepare(cache) for cache in CACHES}
        except Exception as error:
            notes[name] = {"note": f"not captured: {reason(error)}"}
        else:
            timed.append(Timed(name, turns.__getitem__))
    done = run(bench.rounds(timed, CACHES, rounds))
    return notes | {t.name: {f"{cache}_s": done.timing(t.name, cache).median_s for cache in CACHES} for t in timed}


def _on_host(ready: Mapping[str, CallTarget], bench: Bench, rounds: int) -> dict[str, dict[str, Any]]:
    """Return `host_s` and `whole_s` by name."""
    turns = {"host_s": handing_over, "whole_s": whole}
    keys = {(name, field): f"{name} {field}" for name in ready for field in turns}
    timed = [
        Timed(key, functools.partial(turns[field], bench.stopwatch, ready[name].call))
        for (name, field), key in keys.items()
    ]
    done = run(bench.rounds(timed, ("warm",), rounds))
    return {name: {field: done.timing(keys[name, field], "warm").median_s for field in turns} for name in ready}


def run(rounds: Rounds) -> Rounds:
    """Run all rounds and return them."""
    for _ in rounds:
        pass
    return rounds


def handing_over(stopwatch: Stopwatch, call: Call, _: Cache) -> Callable[[], float]:
    """Return a turn of calls in a row without waiting, which returns host seconds per call."""
    call()
    once = stopwatch.time_once(call)[1]
    calls = max(1, min(CALLS_MAX, round(HANDED_S / max(once, 1e-7))))

    def turn() -> float:
        stopwatch.take_back()
        stopwatch.synchronize()
        begin = stopwatch.now()
        for _ in range(calls):
            call()
        seconds = stopwatch.now() - begin
        stopwatch.synchronize()
        return seconds / calls

    return turn


def whole(stopwatch: Stopwatch, call: Call, _: Cache) -> Callable[[], float]:
    """Return a turn of one call, which returns the seconds until its result is complete."""

    def turn() -> float:
        stopwatch.take_back()
        return stopwatch.time_once(call)[1]

    return turn
