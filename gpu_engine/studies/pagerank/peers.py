"""PeerCandidate: another library's PageRank among the runs of a graph, verified as they are."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gpu_engine.competitors.cugraph import TOLERANCE, VERIFIED, CugraphRanks, loosest_tolerance
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Rounds, Timing
from gpu_engine.pagerank.bytes import iteration_bytes
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.records import Cache, Case
from gpu_engine.sampling.experiment import Candidate, Fields
from gpu_engine.studies.pagerank.graph_runs import GraphRuns

FULL, FREE = RankKernel("csr/thread"), RankKernel("csr/thread", free=True)
"""An iteration in fp64 moves the bytes of the first; no library moves fewer than the second."""


class PeerCandidate(Candidate):
    """cuGraph, told ε or what brings its ranks under it: a whole call of the library, from 1/n to its own end."""

    def __init__(self, experiment: GraphRuns, case: Case) -> None:
        super().__init__(case.key, case.kernel, {case.cache: case})
        self._experiment, self._bench, self._params = experiment, experiment.bench, experiment.plan.params
        self._seeks = dict(case.axes)[TOLERANCE] == VERIFIED
        # Twice the links with their weights, while the library sorts and renumbers them.
        self.bytes_needed = 2.0 * 16 * experiment.graph.pull.nnz + 100.0 * experiment.graph.n
        self._ranks: CugraphRanks | None = None
        self._tolerance = self._params.epsilon
        self._iterations = 0

    @property
    def environment(self) -> Mapping[str, str]:
        """The release of the library, once it has been found."""
        return self._ranks.environment if self._ranks else {}

    def prepare(self) -> Callable[[], Fields]:
        """Stores the graph, finds the tolerance where it is sought, and runs once; the ranks are verified."""
        check_room(self.bytes_needed, self._bench.layout_bytes)
        most = self._params.iterations_max
        self._ranks = ranks = CugraphRanks(self._experiment.graph, self._params)
        if self._seeks:
            self._tolerance = loosest_tolerance(self._is_right, self._params.epsilon)
        p, converged = ranks.ranks(self._tolerance, most)
        self._iterations = ranks.iterations(self._tolerance, most)
        self.fields = {
            **self._experiment.transition,
            "iterations": self._iterations,
            "tolerance": self._tolerance,
        }
        return partial(self._verified, p, converged)

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Turns of a whole call."""
        return self._bench.turns(self._play, captured=False)(cache)

    def least_s(self, cache: Cache) -> float:
        """By the bytes that its iterations move without values."""
        return self._iterations * self._bench.least_s(iteration_bytes(self._experiment.graph, FREE, 1, 1), cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """GFLOP/s and the floor of all iterations together."""
        moved = iteration_bytes(self._experiment.graph, FULL, 1, 1)
        return {
            "gflops": 2 * self._experiment.graph.pull.nnz * self._iterations / timing.median_s / 1e9,
            "roofline_s": self._iterations * moved / self._bench.profile.rate(int(moved), cache),
        }

    def release(self) -> None:
        """Gives back the graph."""
        self._ranks = None

    def _ready(self) -> CugraphRanks:
        if self._ranks is None:
            raise RuntimeError("A case without a run is not sampled.")
        return self._ranks

    def _play(self) -> None:
        self._ready().run(self._tolerance, self._params.iterations_max)

    def _is_right(self, tolerance: float) -> bool:
        p, converged = self._ready().ranks(tolerance, self._params.iterations_max)
        return converged and self._experiment.verifier.verify(p).residual < self._params.epsilon

    def _verified(self, p: Any, converged: bool) -> Fields:
        """What the verifier says of the ranks; the run is unconverged where their residual is not under ε."""
        experiment = self._experiment
        found = experiment.verifier.verify(p, experiment.fp64, experiment.plan.top)
        fields = experiment.accuracy(found, p)
        if converged and found.residual < self._params.epsilon:
            return fields
        said = "" if converged else f", and the library says that {self._params.iterations_max} iterations are too few"
        return {**fields, "state": "unconverged", "note": f"the residual is {found.residual:.3g}, not under ε{said}"}
