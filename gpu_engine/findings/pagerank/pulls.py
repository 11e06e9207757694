"""Products of the iterations of a run by the number of segments that they read, and what fewer of them gain."""

from dataclasses import dataclass
from statistics import median

from gpu_engine.findings.pagerank.runs import Run


@dataclass(frozen=True, slots=True)
class PullTime:
    """The products of a run that read and write the same number of segments.

    iterations  how many there are
    time_s      their median
    probe_s     the median of the probe that gathers the ranks and does nothing else; 0 where there is none
    """

    iterations: int
    time_s: float
    probe_s: float


@dataclass(frozen=True, slots=True)
class PullGain:
    """How many times as fast as in fp64 a product is; bound: the same of the probe, None where there is none."""

    gain: float
    bound: float | None

    @property
    def share(self) -> float | None:
        """Of the bound."""
        return self.gain / self.bound if self.bound else None


def pull_times(run: Run) -> dict[int, PullTime]:
    """By the segments read, ascending; 0: values without segments."""
    arrays = (run.array(name) for name in ("read", "written", "pull_s", "gather_s"))
    found: dict[int, list[tuple[float, float]]] = {}
    for read, written, pull, probe in zip(*arrays, strict=False):
        if read == written and pull > 0:
            found.setdefault(int(read), []).append((pull, probe))
    return {
        read: PullTime(len(times), median(pull for pull, _ in times), median(probe for _, probe in times))
        for read, times in sorted(found.items())
    }


def pull_gains(full: Run | None, run: Run | None) -> dict[int, PullGain]:
    """By the segments read, of a run with segments over one of the same kernel in fp64; empty without one of them."""
    base = pull_times(full).get(0) if full else None
    if base is None or run is None or not run.segments:
        return {}
    return {
        read: PullGain(base.time_s / own.time_s, base.probe_s / own.probe_s if base.probe_s and own.probe_s else None)
        for read, own in pull_times(run).items()
    }
