"""Scripted candidates and the experiment that takes them: what the engine does with them is seen in a log."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import SparsightError
from gpu_engine.measure import Bench, Rounds, Timing
from gpu_engine.records import Cache, Case, Trace
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields
from gpu_engine.studies.scaling.experiment import ScalingDetails

ROUNDS = 9


class Scripted(Candidate):
    """Takes `seconds` a turn, where it enters again those that follow; what it does is written into `log`."""

    def __init__(self, kernel: str, log: list[str], seconds: Sequence[float] = (1.0, 1.1), **changes: Any) -> None:
        caches: tuple[Cache, ...] = changes.pop("caches", ("warm",))
        super().__init__(kernel, kernel, {cache: Case("m", kernel, cache) for cache in caches})
        self.log, self.seconds = log, list(seconds)
        self.raises: SparsightError | None = changes.pop("raises", None)
        self.doubt: SparsightError | None = changes.pop("doubt", None)
        self.least = changes.pop("least", 0.0)
        self.launched: Sequence[CudaSource] = changes.pop("sources", ())
        for name, value in changes.items():
            setattr(self, name, value)

    @property
    def environment(self) -> dict[str, str]:
        return {"source": f"of {self.kernel}"}

    @property
    def sources(self) -> Sequence[CudaSource]:
        return self.launched

    def prepare(self) -> Callable[[], Fields]:
        self.log.append(f"prepare {self.kernel}")
        self.fields["stored_bytes"] = 12
        if self.raises:
            raise self.raises
        return self._verify

    def _verify(self) -> Fields:
        if self.doubt:
            raise self.doubt
        return {"max_error": 0.5}

    def turns(self, cache: Cache) -> Callable[[], float]:
        seconds = self.seconds.pop(0)

        def turn() -> float:
            self.log.append(f"turn {self.kernel}")
            return seconds

        return turn

    def least_s(self, cache: Cache) -> float:
        return float(self.least)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:
        return {"gflops": 1 / timing.median_s}

    def traces(self) -> Iterator[Trace]:
        self.fields["iterations"] = 3
        yield Trace(self.cases["warm"].key, {"gamma": (1.0,)})

    def energy_j(self) -> float:
        return 2.5

    def release(self) -> None:
        self.log.append(f"release {self.kernel}")


class Scenes(Experiment):
    """Candidates as they are handed in."""

    details = ScalingDetails

    def __init__(self, bench: Bench, *candidates: Scripted, fails: SparsightError | None = None) -> None:
        cases = [case for c in candidates for case in c.cases.values()]
        super().__init__(cases, ("cold", "warm"), ROUNDS, bench)
        self.candidates, self.fails = candidates, fails

    def known(self, case: Case) -> Fields:
        return {"devices": 7}

    def load(self) -> Sequence[Candidate]:
        if self.fails:
            raise self.fails
        return self.candidates
