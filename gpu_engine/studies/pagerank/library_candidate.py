"""LibraryCandidate: PageRank of another library among the runs of a graph, verified like them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from gpu_engine.competitors.cugraph import TOLERANCE, TOLERANCE_VERIFIED, CugraphRanks, loosest_tolerance
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Rounds, Timing
from gpu_engine.pagerank.bytes import iteration_bytes
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.records import Cache, Case
from gpu_engine.sampling.experiment import Candidate, Fields
from gpu_engine.studies.pagerank.graph_runs import GraphRuns

FULL, FREE = RankKernel("csr/thread"), RankKernel("csr/thread", free=True)
"""Kernels whose bytes serve as reference: an fp64 iteration, and the least that any library moves."""


class LibraryCandidate(Candidate):
    """PageRank of cuGraph with a tolerance: one complete call of the library, from 1/n to its own convergence."""

    def __init__(self, experiment: GraphRuns, case: Case) -> None:
        super().__init__(case.key, case.kernel, {case.cache: case})
        self._experiment, self._bench, self._params = experiment, experiment.bench, experiment.plan.params
        self._seeks = dict(case.axes)[TOLERANCE] == TOLERANCE_VERIFIED
        # The library holds the links and weights twice while it sorts and renumbers them.
        self.bytes_needed = 2.0 * 16 * experiment.graph.pull.nnz + 100.0 * experiment.graph.n
        self._ranks: CugraphRanks | None = None
        self._tolerance = self._params.epsilon
        self._iterations = 0

    @property
    def environment(self) -> Mapping[str, str]:
        """Version of the library, if it is installed."""
        return self._ranks.environment if self._ranks else {}

    def prepare(self) -> Callable[[], Fields]:
        """Store the graph, search the tolerance if requested, and run once; return the verification of the ranks."""
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
        """Return a function that times one complete call."""
        return self._bench.turns(self._play, captured=False)(cache)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes of its iterations without values."""
        return self._iterations * self._bench.least_s(iteration_bytes(self._experiment.graph, FREE, 1, 1), cache)

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """Return GFLOP/s and the roofline time of all iterations together."""
        moved = iteration_bytes(self._experiment.graph, FULL, 1, 1)
        return {
            "gflops": 2 * self._experiment.graph.pull.nnz * self._iterations / timing.median_s / 1e9,
            "roofline_s": self._iterations * moved / self._bench.profile.rate(int(moved), cache),
        }

    def release(self) -> None:
        """Free the graph."""
        self._ranks = None

    def _ready(self) -> CugraphRanks:
        if self._ranks is None:
            raise RuntimeError("A case without a run cannot be sampled.")
        return self._ranks

    def _play(self) -> None:
        self._ready().run(self._tolerance, self._params.iterations_max)

    def _is_right(self, tolerance: float) -> bool:
        p, converged = self._ready().ranks(tolerance, self._params.iterations_max)
        return converged and self._experiment.verifier.verify(p).residual < self._params.epsilon

    def _verified(self, p: Any, converged: bool) -> Fields:
        """Return the fields of the verification; the run is `unconverged` if the residual is not below ε."""
        experiment = self._experiment
        verification = experiment.verifier.verify(p, experiment.fp64, experiment.plan.top)
        fields = experiment.accuracy(verification, p)
        if converged and verification.residual < self._params.epsilon:
            return fields
        reason = "" if converged else f", and the library did not converge in {self._params.iterations_max} iterations"
        return {
            **fields,
            "state": "unconverged",
            "note": f"the residual is {verification.residual:.3g}, not under ε{reason}",
        }
