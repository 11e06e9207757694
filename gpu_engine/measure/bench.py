"""Bench: an opened device with its stopwatch; samples kernels in interleaved rounds."""

import dataclasses
import random
import statistics
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from gpu_engine import release
from gpu_engine.measure.cpu import CpuStopwatch
from gpu_engine.measure.placements import COPY_SHARE, Call, Placement, Restarted
from gpu_engine.measure.statistics import interval, quartiles
from gpu_engine.measure.stopwatch import Stopwatch, now
from gpu_engine.records import BandwidthPoint, Cache, DeviceInfo, DeviceProfile, Progress

SMALLEST_FOOTPRINT = 2**18

FLOOR_SLACK = 0.9
"""Times below this share of the roofline time of the moved bytes are rejected as measurement errors."""

LAYOUT_SHARE = {"cpu": 1 / 8, "cuda": 1 / 2}
"""Share of the memory that one layout may use, by back end; a host needs memory for other work."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A call to sample in interleaved rounds.

    prepare  function from a cache state to a function that takes one sample, in seconds; called once before the rounds
    """

    name: str
    prepare: Callable[[Cache], Callable[[], float]]


@dataclass(frozen=True, slots=True)
class Slot:
    """The turn of one call in one round."""

    name: str
    cache: Cache
    round: int


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds per call, one median per round, and the median clock rate."""

    samples_s: tuple[float, ...]
    clock_hz: float | None

    @property
    def median_s(self) -> float:
        """Median over the rounds, in seconds."""
        return statistics.median(self.samples_s)

    def fields(self) -> dict[str, Any]:
        """Return the fields of a Measurement that depend on the samples."""
        low, q1, middle, q3 = quartiles(self.samples_s)
        ends = interval(self.samples_s) or (None, None)
        return {
            "median_s": middle,
            "ci_low_s": ends[0],
            "ci_high_s": ends[1],
            "min_s": low,
            "q1_s": q1,
            "q3_s": q3,
            "max_s": max(self.samples_s),
            "clock_hz": self.clock_hz,
            "rounds": len(self.samples_s),
            "samples_s": self.samples_s,
        }


Entry = tuple[str, Cache]
"""Name and cache state of a call that takes part in rounds."""


class Rounds:
    """Interleaved rounds: in each, every call has one turn per cache state, in a new random order.

    Iterating runs the rounds; each Slot is yielded before its sample, so that the caller can report what is running.
    `select` returns the entries of each round, by its number from 0; an empty selection ends the rounds.
    """

    def __init__(
        self,
        stopwatch: Stopwatch,
        timed: Sequence[Timed],
        caches: Sequence[Cache],
        rounds: int,
        select: Callable[[int], Collection[Entry]] | None = None,
        seed: int = 0,
    ) -> None:
        self._stopwatch = stopwatch
        self._timed = timed
        self._caches = caches
        self._rounds = rounds
        self._select = select
        self._random = random.Random(seed)
        self._medians: dict[Entry, list[float]] = {}
        self._clocks: dict[Entry, list[float]] = {}
        self._turn_s: dict[Entry, float] = {}

    def __len__(self) -> int:
        """Return the maximum number of turns."""
        return self._rounds * len(self._timed) * len(self._caches)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries that may take part."""
        return tuple((timed.name, cache) for timed in self._timed for cache in self._caches)

    def __iter__(self) -> Iterator[Slot]:
        turns = {(t.name, cache): t.prepare(cache) for t in self._timed for cache in self._caches}
        for number in range(self._rounds):
            selected = self.entries if self._select is None else self._select(number)
            if not selected:
                return
            for cache in self._caches:
                chosen = [timed.name for timed in self._timed if (timed.name, cache) in selected]
                for name in self._random.sample(chosen, len(chosen)):
                    yield Slot(name, cache, number)
                    self._take((name, cache), turns[name, cache])

    def _take(self, entry: Entry, turn: Callable[[], float]) -> None:
        begin, seconds = now(), turn()
        self._medians.setdefault(entry, []).append(seconds)
        # A sample from before the rounds costs nothing now, but the next one will.
        self._turn_s[entry] = max(now() - begin, seconds)
        clock = self._stopwatch.clock_hz()
        if clock is not None:
            self._clocks.setdefault(entry, []).append(clock)

    def turn_s(self, name: str, cache: Cache) -> float:
        """Return the host seconds of the last turn of an entry, at least the seconds of its sample."""
        return self._turn_s[name, cache]

    def timing(self, name: str, cache: Cache) -> Timing:
        """Return the samples of an entry so far; raises KeyError if there are none."""
        clocks = self._clocks.get((name, cache))
        return Timing(tuple(self._medians[name, cache]), statistics.median(clocks) if clocks else None)


class Bench:
    """A device that is opened for measuring.

    layout_bytes  maximum bytes of one layout
    cluster       of a device of several hosts: what reaches them, a `multigpu.cluster.actor_pool.Cluster`
    stop_requested  function that returns whether the job should stop after the current round
    """

    def __init__(
        self,
        device: DeviceInfo,
        stopwatch: Stopwatch,
        profile: DeviceProfile | None,
        layout_bytes: int,
        cluster: Any = None,
        stop_requested: Callable[[], bool] = lambda: False,
    ) -> None:
        self.device = dataclasses.replace(device, cache_bytes=stopwatch.cache_bytes)
        self.stopwatch = stopwatch
        self.layout_bytes = layout_bytes or int(stopwatch.memory_bytes * LAYOUT_SHARE[stopwatch.backend])
        self.xp = stopwatch.xp
        self.cluster = cluster
        self.stop_requested = stop_requested
        self._profile = profile
        self._doubted = False
        self._environment: dict[str, str] | None = None

    @property
    def profile(self) -> DeviceProfile:
        """Measured bandwidth; requires a call of `calibrate`."""
        if self._profile is None:
            raise RuntimeError("Bench.calibrate has not run.")
        return self._profile

    @property
    def environment(self) -> dict[str, str]:
        """Environment that every record contains, in addition to the hash of its kernel source."""
        if self._environment is None:
            self._environment = {
                "device": self.device.name,
                "sparsight": release(),
                **self.device.details,
                **self.stopwatch.environment(),
            }
        return self._environment

    def calibrate(self) -> Iterator[Progress | DeviceProfile]:
        """Measure the bandwidth at every footprint, unless a profile of this device was passed."""
        if self._profile is None:
            yield from self._probe(0.0)

    def calibrate_again(self) -> Iterator[Progress | DeviceProfile]:
        """Measure the bandwidth once more and keep the higher rates; the second call does nothing.

        Interference makes a probe slower, never faster.
        """
        if self._doubted:
            return
        self._doubted = True
        yield from self._probe(1.0, self.profile.bandwidth)

    def _probe(self, done: float, before: Sequence[BandwidthPoint] = ()) -> Iterator[Progress | DeviceProfile]:
        """Measure all footprints; `done` is the reported progress, `before` the points of a former profile."""
        sizes = [SMALLEST_FOOTPRINT]
        while sizes[-1] * 2 <= self.stopwatch.cache_bytes:
            sizes.append(sizes[-1] * 2)
        former = {point.footprint_bytes: point for point in before}
        points = []
        for size in (*sizes, self.stopwatch.largest_footprint):
            yield Progress(done, f"measuring the bandwidth at {size / 2**20:.3g} MiB")
            point = BandwidthPoint(size, *self.stopwatch.bandwidth(size))
            old = former.get(size, point)
            points.append(BandwidthPoint(size, max(point.copy, old.copy), max(point.read, old.read)))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        cache = self.stopwatch.cache_bytes
        self._profile = DeviceProfile(self.device.id, self.device.name, cache, tuple(points), now)
        yield self._profile

    def least_s(self, moved_bytes: float, cache: Cache) -> float:
        """Return the smallest plausible time, in seconds, of a call that moves this many bytes."""
        profile = self.profile
        if cache == "warm" and moved_bytes <= 4 * profile.cache_bytes:
            # A warm working set near the cache's size is served by it in part.
            return FLOOR_SLACK * moved_bytes / max(point.best for point in profile.bandwidth)
        return FLOOR_SLACK * moved_bytes / profile.memory.best

    def turns(
        self,
        call: Callable[[], None],
        before: Callable[[], None] | None = None,
        captured: bool = True,
        placement: Placement | None = None,
    ) -> Callable[[Cache], Callable[[], float]]:
        """Return the `prepare` function of a call, which launches work on the current stream and never allocates.

        before     sets the state that the call starts from, untimed; None if the call needs none
        captured   whether the launches are replayed; else the time includes launching them
        placement  places the call anew before each turn, if `places` says so
        """
        if placement is not None and self.places(placement):
            return lambda cache: partial(self._placed_turn, placement, cache, captured)

        def prepare(cache: Cache) -> Callable[[], float]:
            samples = self.stopwatch.prepare(call, cache, before, captured)
            return lambda: statistics.median(samples())

        return prepare

    def places(self, placement: Placement | None) -> bool:
        """Return whether a call is placed anew before each turn."""
        return placement is not None and placement.nbytes <= min(self.stopwatch.placeable_bytes, placement.limit_bytes)

    def turns_elsewhere(
        self, placement: Placement | None, captured: bool = True
    ) -> Callable[[Cache], Callable[[], float]] | None:
        """Return `turns` on a second copy of the arrays; None if it would not fit, or each turn has a new one."""
        if placement is None or self.places(placement):
            return None
        if placement.nbytes > COPY_SHARE * self.stopwatch.memory_bytes:
            return None
        return self.turns(*_parts(placement.make()), captured)

    def _placed_turn(self, placement: Placement, cache: Cache, captured: bool) -> float:
        """Return the seconds of a turn at a new place."""
        with self.stopwatch.elsewhere():
            call, before = _parts(placement.make())
        return statistics.median(self.stopwatch.prepare(call, cache, before, captured)())

    def rounds(
        self,
        timed: Sequence[Timed],
        caches: Sequence[Cache],
        rounds: int,
        select: Callable[[int], Collection[Entry]] | None = None,
    ) -> Rounds:
        """Return interleaved rounds over the calls, at most `rounds` of them."""
        return Rounds(self.stopwatch, timed, caches, rounds, select)


def _parts(made: Call | Restarted) -> tuple[Call, Call | None]:
    """Return the call, and what sets the state that it starts from."""
    return (made.call, made.before) if isinstance(made, Restarted) else (made, None)


@contextmanager
def open_bench(
    device: DeviceInfo,
    profile: DeviceProfile | None = None,
    layout_bytes: int = 0,
    cluster: Any = None,
    stop_requested: Callable[[], bool] = lambda: False,
) -> Iterator[Bench]:
    """Open a device for measuring; a given profile replaces calibration; layout_bytes 0 means LAYOUT_SHARE.

    For a cluster it opens the first device of this host, whose bandwidth represents all devices.
    Raises DeviceError if the device does not respond.
    """
    stopwatch: Stopwatch
    if device.backend == "cpu":
        stopwatch = CpuStopwatch(device)
    else:
        from gpu_engine.measure.cuda import CudaStopwatch

        stopwatch = CudaStopwatch(device)
    try:
        with stopwatch.guard():
            yield Bench(device, stopwatch, profile, layout_bytes, cluster, stop_requested)
    finally:
        stopwatch.close()
