"""Auto-tuning run: verifies a few kernels and samples them in interleaved rounds, as studies do."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import KernelError
from gpu_engine.formats import find_kernel
from gpu_engine.formats.base import Launch, check_room
from gpu_engine.formats.csc import CscLayout
from gpu_engine.host.jit import numba
from gpu_engine.measure import Bench, Timed, open_bench
from gpu_engine.operators import tuning_cache
from gpu_engine.operators.choice import SHARED, Choice, candidates
from gpu_engine.records import DeviceInfo
from gpu_engine.sampling.experiment import CASE_ERRORS
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import EQUIVALENCE
from gpu_engine.verify import POISON, Reference, check, reference

TRIED = 6
"""Maximum number of kernels of an auto-tuning run."""

ROUNDS_MIN = 3
"""Minimum number of rounds, independent of the time limit; fewer allow no ranking."""

CONVERSION_SHARE = 0.5
"""Share of the time limit after which no further kernel is converted."""

ROUNDS_MAX = 99


def autotune(
    host: CsrMatrix, rows: CsrMatrix, shared: CscLayout | None, device: DeviceInfo, time_limit_s: float
) -> Choice:
    """Return the fastest of a few kernels on a matrix; read the result from disk if an earlier run stored it.

    host, rows  the matrix on the host and on the device
    shared      for an SpMV across the storage order: the layout that needs no conversion, which also takes part
    time_limit_s    seconds of conversions and rounds, without compilation; ROUNDS_MIN rounds always run
    Raises KernelError if no kernel gives a correct result.
    """
    names = candidates(host, device)[:TRIED]
    threads = numba.get_num_threads() if device.backend == "cpu" else 0
    key = tuning_cache.key_of(host, device, (*names, SHARED), threads, shared is not None)
    stored = tuning_cache.read(key)
    if (
        stored is not None
        and stored.get("kernel") in stored.get("seconds", {})
        and stored["kernel"] in (*names, SHARED)
    ):
        where = "in an auto-tuning run stored on disk"
        return _choice(stored["kernel"], stored["seconds"], int(stored["rounds"]), where)
    with opened(device) as bench:
        seconds, rounds = _AutotuneRun(host, rows, bench, time_limit_s).run(names, shared)
    best = _first_of_equals(seconds, device.backend)
    is_stored = tuning_cache.write(key, {"kernel": best, "seconds": seconds, "rounds": rounds})
    where = "in an auto-tuning run" + ("" if is_stored else " (not stored: the data directory is not writable)")
    return _choice(best, seconds, rounds, where)


def _first_of_equals(seconds: dict[str, float], backend: str) -> str:
    """Return the most promising kernel within EQUIVALENCE of the fastest; smaller differences are not resolved.

    seconds  by kernel, the most promising first
    """
    limit = (1.0 + EQUIVALENCE[backend]) * min(seconds.values())
    return next(name for name, time in seconds.items() if time <= limit)


def _choice(best: str, seconds: dict[str, float], rounds: int, where: str) -> Choice:
    ranking = sorted(seconds.keys() - {best}, key=lambda name: seconds[name])
    reason = f"fastest of {len(seconds)} kernels {where}, {rounds} interleaved rounds"
    if ranking and seconds[ranking[0]] < seconds[best]:
        reason = f"tied for fastest of {len(seconds)} kernels {where}, {rounds} interleaved rounds; predicted fastest"
        reason += " of these"
    if ranking:
        reason += f"; next: {ranking[0]}, {units.times(seconds[ranking[0]] / seconds[best])} its time"
    return Choice(best, reason, measured_s=seconds[best], shared_s=seconds.get(SHARED))


@contextmanager
def opened(device: DeviceInfo) -> Iterator[Bench]:
    """Open the device for measuring; the caller's GPU and stream are current again afterwards."""
    if device.backend == "cpu":
        with open_bench(device) as bench:
            yield bench
        return
    import cupy

    current, stream = cupy.cuda.Device(), cupy.cuda.get_current_stream()
    stream.synchronize()
    try:
        with open_bench(device) as bench:
            yield bench
    finally:
        current.use()
        stream.use()


class _AutotuneRun:
    """Verification and rounds of the candidates of one matrix."""

    def __init__(self, host: CsrMatrix, rows: CsrMatrix, bench: Bench, time_limit_s: float) -> None:
        self._rows, self._bench, self._budget_s = rows, bench, time_limit_s
        self._expected: Reference = reference(host).on(bench.xp)
        self._y = bench.xp.empty(host.n_rows)

    def run(self, names: Sequence[str], shared: CscLayout | None) -> tuple[dict[str, float], int]:
        """Return (median seconds by kernel, rounds)."""
        products, spent = self._prepared(names, shared)
        turns = self._bench.turns
        timed = [Timed(name, turns(partial(product, self._expected.x, self._y))) for name, product in products.items()]
        rounds = self._bench.rounds(timed, ("warm",), ROUNDS_MAX)
        now = self._bench.stopwatch.now
        begin, done = now(), 0
        for turn in rounds:
            done = turn.round
            if done >= ROUNDS_MIN and now() - begin + spent > self._budget_s:
                break
        return {name: rounds.timing(name, "warm").median_s for name in products}, done

    def _prepared(self, names: Sequence[str], shared: CscLayout | None) -> tuple[dict[str, Launch], float]:
        """Return (SpMVs of the kernels with correct results, seconds of their conversions)."""
        stopwatch, spent, layouts = self._bench.stopwatch, 0.0, {}
        products: dict[str, Launch] = {}
        if shared is not None:
            products[SHARED] = find_kernel(SHARED)[1].bound(stopwatch.backend, shared)
        for name in names:
            f, kernel = find_kernel(name)
            if products and spent > CONVERSION_SHARE * self._budget_s:
                break
            if name in products:
                continue
            try:
                if f.name not in layouts:
                    check_room(f.bytes_needed(self._rows), self._bench.layout_bytes)
                    layouts[f.name], seconds = stopwatch.time_once(partial(f.from_csr, self._rows))
                    spent += seconds
                products[name] = kernel.bound(stopwatch.backend, layouts[f.name])
            except CASE_ERRORS:
                continue
        correct = {name: product for name, product in products.items() if self._is_correct(product)}
        if not correct:
            raise KernelError(
                f"None of the kernels {', '.join(names)} computes a correct result. Use choose='predict' to skip the "
                "auto-tuning run."
            )
        return correct, spent

    def _is_correct(self, product: Launch) -> bool:
        self._y.fill(POISON)
        product(self._expected.x, self._y)
        self._bench.stopwatch.synchronize()
        try:
            check(self._expected, self._y)
        except KernelError:
            return False
        return True
