"""A short trial: a few kernels verified and sampled in interleaved rounds by the measuring of the studies."""

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
from gpu_engine.operators import kept
from gpu_engine.operators.choice import SHARED, Choice, candidates
from gpu_engine.records import DeviceInfo
from gpu_engine.sampling.experiment import CASE_ERRORS
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import EQUIVALENCE
from gpu_engine.verify import POISON, Reference, check, reference

TRIED = 6
"""Kernels of a trial at most."""

ROUNDS_MIN = 3
"""Rounds that are done whatever the budget: fewer say nothing."""

CONVERSION_SHARE = 0.5
"""Once this share of the budget is spent on conversions, no further kernel takes part."""

ROUNDS_MAX = 99


def tried(
    host: CsrMatrix, rows: CsrMatrix, shared: CscLayout | None, device: DeviceInfo, time_limit_s: float
) -> Choice:
    """The fastest of some kernels on a matrix, from disk where an earlier trial knows it.

    host, rows  the matrix on the host and on the device
    shared      of a product across the stored order: the layout that needs no conversion, which takes part too
    time_limit_s    seconds of conversions and rounds; compiling and ROUNDS_MIN rounds come on top where they must
    Raises KernelError where no kernel's product is right.
    """
    names = candidates(host, device)[:TRIED]
    threads = numba.get_num_threads() if device.backend == "cpu" else 0
    key = kept.key_of(host, device, (*names, SHARED), threads, shared is not None)
    found = kept.read(key)
    if found is not None and found.get("kernel") in found.get("seconds", {}) and found["kernel"] in (*names, SHARED):
        where = "in a trial that is kept on disk"
        return _choice(found["kernel"], found["seconds"], int(found["rounds"]), where)
    with opened(device) as bench:
        seconds, rounds = _Trial(host, rows, bench, time_limit_s).run(names, shared)
    best = _first_of_equals(seconds, device.backend)
    is_kept = kept.write(key, {"kernel": best, "seconds": seconds, "rounds": rounds})
    return _choice(best, seconds, rounds, "in a trial" + ("" if is_kept else ", which could not be kept on disk"))


def _first_of_equals(seconds: dict[str, float], backend: str) -> str:
    """Return the most promising of those whose times are within EQUIVALENCE of the least: a trial tells no less apart.

    seconds  by kernel, the most promising first
    """
    limit = (1.0 + EQUIVALENCE[backend]) * min(seconds.values())
    return next(name for name, time in seconds.items() if time <= limit)


def _choice(best: str, seconds: dict[str, float], rounds: int, where: str) -> Choice:
    others = sorted(seconds.keys() - {best}, key=lambda name: seconds[name])
    said = f"the fastest of {len(seconds)} kernels {where}, {rounds} interleaved rounds"
    if others and seconds[others[0]] < seconds[best]:
        said = f"of those that {rounds} interleaved rounds {where} do not tell from the fastest of {len(seconds)}"
        said += " kernels, the most promising"
    if others:
        said += f"; next {others[0]}, {units.times(seconds[others[0]] / seconds[best])} its time"
    return Choice(best, said, measured_s=seconds[best], shared_s=seconds.get(SHARED))


@contextmanager
def opened(device: DeviceInfo) -> Iterator[Bench]:
    """The device open for measuring; the caller's GPU and stream are current again afterwards."""
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


class _Trial:
    """Verified candidates, and their rounds."""

    def __init__(self, host: CsrMatrix, rows: CsrMatrix, bench: Bench, time_limit_s: float) -> None:
        self._rows, self._bench, self._budget_s = rows, bench, time_limit_s
        self._expected: Reference = reference(host).on(bench.xp)
        self._y = bench.xp.empty(host.n_rows)

    def run(self, names: Sequence[str], shared: CscLayout | None) -> tuple[dict[str, float], int]:
        """(median seconds by kernel, rounds)."""
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
        """(the products of the kernels that are right, seconds of their conversions)."""
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
        right = {name: product for name, product in products.items() if self._is_right(product)}
        if not right:
            raise KernelError(
                f"No kernel of {', '.join(names)} gives a right product; choose='predict' measures nothing."
            )
        return right, spent

    def _is_right(self, product: Launch) -> bool:
        self._y.fill(POISON)
        product(self._expected.x, self._y)
        self._bench.stopwatch.synchronize()
        try:
            check(self._expected, self._y)
        except KernelError:
            return False
        return True
