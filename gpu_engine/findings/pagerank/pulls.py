"""Times of the pull phase by the number of segments read, and the speedup of reading fewer segments."""

from dataclasses import dataclass
from statistics import median

from gpu_engine.findings.pagerank.runs import Run


@dataclass(frozen=True, slots=True)
class PullTime:
    """Pull phases of a run that read and write the same number of segments.

    iterations  number of iterations
    time_s      median seconds
    probe_s     median seconds of the gather-only probe; 0 if it was not measured
    """

    iterations: int
    time_s: float
    probe_s: float


@dataclass(frozen=True, slots=True)
class PullGain:
    """Speedup of a pull over fp64.

    bound     speedup of the gather-only probe; None if it was not measured
    launches  number of pulls; a single one on the first segment is the first launch of a run, which takes longer
    """

    gain: float
    bound: float | None
    launches: int

    @property
    def share(self) -> float | None:
        """Share of the bound that the speedup reaches; None without a bound."""
        return self.gain / self.bound if self.bound else None


def pull_times(run: Run) -> dict[int, PullTime]:
    """Return the pull times by the number of segments read, ascending; 0: values without segments."""
    arrays = (run.array(name) for name in ("read", "written", "pull_s", "gather_s"))
    by_read: dict[int, list[tuple[float, float]]] = {}
    for read, written, pull, probe in zip(*arrays, strict=False):
        if read == written and pull > 0:
            by_read.setdefault(int(read), []).append((pull, probe))
    return {
        read: PullTime(len(times), median(pull for pull, _ in times), median(probe for _, probe in times))
        for read, times in sorted(by_read.items())
    }


def pull_gains(full: Run | None, run: Run | None) -> dict[int, PullGain]:
    """Return the speedups of a run over the same kernel in fp64 by segments read; empty without one of the runs."""
    base = pull_times(full).get(0) if full else None
    if base is None or run is None or not run.segments:
        return {}
    return {
        read: PullGain(
            base.time_s / p.time_s, base.probe_s / p.probe_s if base.probe_s and p.probe_s else None, p.iterations
        )
        for read, p in pull_times(run).items()
    }
