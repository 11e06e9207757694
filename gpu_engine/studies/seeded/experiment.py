"""SeededExperiment: runs of seed sets on one graph, verified column by column and sampled in the same rounds."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource, digest
from gpu_engine.findings.seeded.names import COLD, EXTRAPOLATED, ONE_BY_ONE, SEEDS, START, TOGETHER, sets_text
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Bench, Rounds, Timing
from gpu_engine.pagerank import seeded_cpu, seeded_cuda
from gpu_engine.pagerank.extrapolation import TERMS
from gpu_engine.pagerank.graph import PageRankParams, transition_matrix
from gpu_engine.pagerank.seeded import (
    CHECK_EVERY,
    SeededRun,
    iterate_block,
    result_of,
    run_block,
    seeded_block,
    start_ranks,
)
from gpu_engine.pagerank.seeded_block import SeededBlock
from gpu_engine.pagerank.seeds import Seeds, parse_sets, random_sets
from gpu_engine.pagerank.verify import Verifier
from gpu_engine.records import Cache, Case, Details, described
from gpu_engine.sampling.experiment import Candidate, Experiment, Fields
from gpu_engine.studies.seeded.changes import change_links

BLOCKS = 3
"""Blocks of ranks of a run, each float64 [n, k]: two of the iterations, and the result."""


@dataclass(frozen=True, slots=True)
class SeededDetails(Details):
    """Fields specific to measurements of the study `seeded`, whose times are those of a complete run of all sets."""

    study: ClassVar[str] = "seeded"

    sets: int | None = described("Number of seed sets.", None)
    set_s: float | None = described("Seconds per seed set: median_s / sets.", None)
    iterations: int | None = described("Iterations until γ < ε, or iterations_max: the maximum over the sets.", None)
    passes: int | None = described("Iterations of all runs together; all sets of a run share each of them.", None)
    links: int | None = described("Links of the graph, after the change.", None)
    changed_links: int | None = described("Links that changed before the start; null without a change.", None)
    residual: float | None = described(
        "‖G(p) − p‖₁, with G one more iteration in extended precision: the maximum over the sets.", None
    )
    mass_error: float | None = described("|‖p‖₁ − 1|: the maximum over the sets.", None)


@dataclass(frozen=True, slots=True)
class SeededPlan:
    """Plan of the measurements of a graph: parameters of PageRank, and number of rounds."""

    params: PageRankParams
    rounds: int


class SeededExperiment(Experiment):
    """Experiment with all numbers of seed sets on one graph, or with the starts after one share of changed links."""

    details = SeededDetails
    beginning = "computing the transition matrix"

    def __init__(self, plan: SeededPlan, cases: Sequence[Case], adjacency: CsrMatrix, bench: Bench) -> None:
        super().__init__(cases, ("warm",), plan.rounds, bench)
        self.params, self._adjacency, self._seeds = plan.params, adjacency, dict[str, Seeds]()

    @property
    def backend(self) -> str:
        """Backend of the device: `cpu` or `cuda`."""
        return self.bench.stopwatch.backend

    def load(self) -> Sequence[Candidate]:
        """Load the graph, changed if the cases say so, its verifier and its links; return the candidates."""
        share = dict(self.cases[0].axes).get(START)
        adjacency = change_links(self._adjacency, float(share)) if share else self._adjacency
        self.held_bytes = 24.0 * adjacency.nnz + 48.0 * adjacency.n_rows
        check_room(self.held_bytes, self.bench.layout_bytes)
        self.graph = transition_matrix(adjacency, self.params)
        self.verifier = Verifier(adjacency, self.params)
        self.changed = round(float(share) * self._adjacency.nnz) if share else None
        self.shared = seeded_block(self.graph, self.params, Seeds.of([()], self.graph.n), self.backend)
        self._earlier: dict[str, Any] = {}
        candidates = [SeededCandidate(self, case) for case in self.cases]
        return sorted(candidates, key=lambda c: c.kernel not in (TOGETHER, COLD))

    def seeds_of(self, axis: str) -> Seeds:
        """Return the seed sets of a value of the axis SEEDS: random ones by their number, or given ones."""
        if axis not in self._seeds:
            sets = random_sets(int(axis), self.graph.n) if axis.isdecimal() else parse_sets(sets_text(axis))
            self._seeds[axis] = Seeds.of(sets, self.graph.n)
        return self._seeds[axis]

    def earlier(self, axis: str) -> Any:
        """Return the ranks before the change, to ε: float64 [n, k], on the host."""
        if axis not in self._earlier:
            graph, seeds = transition_matrix(self._adjacency, self.params), self.seeds_of(axis)
            block = seeded_block(graph, self.params, seeds, self.backend)
            ranks = run_block(block, self.params, None, CHECK_EVERY[self.backend], extrapolates=True).ranks
            self._earlier[axis] = start_ranks(ranks, seeds, self.params)
        return self._earlier[axis]


class SeededCandidate(Candidate):
    """A run of all seed sets of a case, or a run of each."""

    captured = False

    def __init__(self, experiment: SeededExperiment, case: Case) -> None:
        super().__init__(case.key, case.kernel, {case.cache: case})
        self._experiment, self._bench, self._params = experiment, experiment.bench, experiment.params
        axes = dict(case.axes)
        self._axis, self._is_start = axes[SEEDS], START in axes
        self._extrapolates = case.kernel == EXTRAPOLATED
        self._seeds: Seeds = experiment.seeds_of(self._axis)
        blocks = BLOCKS + (TERMS if self._extrapolates else 0)
        self.bytes_needed = experiment.held_bytes + 8.0 * blocks * self._seeds.k * self._seeds.n
        self._blocks: list[SeededBlock] = []
        self._start: Any = None
        self._widths: list[tuple[int, ...]] = []

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of the sources of the iteration."""
        if self._experiment.backend == "cuda":
            return {"source": digest(seeded_cuda.SOURCE.text)}
        return {"source": digest(inspect.getsource(seeded_cpu))}

    @property
    def sources(self) -> Collection[CudaSource]:
        """CUDA source of the iteration."""
        return (seeded_cuda.SOURCE,)

    def prepare(self) -> Callable[[], Fields]:
        """Run once; return the verification of the ranks of each set."""
        check_room(self.bytes_needed, self._bench.layout_bytes)
        run = self._experiment
        if self._is_start and self.kernel != COLD:
            self._start = run.earlier(self._axis)
        parts = [self._seeds.only(j) for j in range(self._seeds.k)] if self.kernel == ONE_BY_ONE else [self._seeds]
        self._blocks = [seeded_block(run.graph, self._params, part, run.backend, run.shared) for part in parts]
        self._rewind()
        self._play()
        results = [result_of(block, widths) for block, widths in zip(self._blocks, self._widths, strict=True)]
        self.fields = {
            "sets": self._seeds.k,
            "iterations": max(int(result.iterations.max(initial=0)) for result in results),
            "passes": sum(map(len, self._widths)),
            "links": run.graph.pull.nnz,
            "changed_links": run.changed,
            "stored_bytes": int(run.graph.pull.indices.nbytes + run.graph.pull.indptr.nbytes),
        }
        return partial(self._verified, _joined(results))

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Return a function that times all runs; resetting the ranks is not timed."""
        return self._bench.turns(self._play, self._rewind, captured=False)(cache)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes of the iterations."""
        return sum(self._bench.least_s(count, cache) for count in self._moved())

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """Return GFLOP/s, the roofline time of all iterations together, and the time per set."""
        columns = sum(map(sum, self._widths))
        return {
            "gflops": 2 * self._experiment.graph.pull.nnz * columns / timing.median_s / 1e9,
            "roofline_s": sum(count / self._bench.profile.rate(int(count), cache) for count in self._moved()),
            "set_s": timing.median_s / self._seeds.k,
        }

    def release(self) -> None:
        """Free the ranks."""
        self._blocks, self._start = [], None

    def _rewind(self) -> None:
        for block in self._blocks:
            block.reset(self._start)

    def _play(self) -> None:
        every, extrapolates = CHECK_EVERY[self._experiment.backend], self._extrapolates
        self._widths = [iterate_block(block, self._params, every, extrapolates) for block in self._blocks]

    def _moved(self) -> list[float]:
        """Return the compulsory bytes of each iteration: links and pointers, page codes, and the ranks twice."""
        graph = self._experiment.graph
        pattern = float(graph.pull.indices.nbytes + graph.pull.indptr.nbytes + 4 * graph.n)
        pattern += 8.0 * graph.pull.nnz if self._params.weights == "use" else 0.0
        return [pattern + 16.0 * width * graph.n for widths in self._widths for width in widths]

    def _verified(self, run: SeededRun) -> Fields:
        """Return the fields of the verification; raise KernelError if the ranks of a set are wrong."""
        vectors, verifier = self._seeds.vectors(), self._experiment.verifier
        checks = [
            verifier.with_teleport(vectors[:, j]).check(run.ranks[:, j], float(run.gammas[j]))
            for j in range(self._seeds.k)
        ]
        accuracy = {
            "residual": max(check.residual for check in checks),
            "mass_error": max(check.mass_error for check in checks),
        }
        if run.converged.all():
            return accuracy
        worst = int(np.argmax(np.where(run.converged, -1.0, run.gammas)))
        note = f"γ of seed set {worst + 1} is {run.gammas[worst]:.3g} after {run.iterations[worst]} iterations"
        return {**accuracy, "state": "unconverged", "note": f"{note}, not under ε"}


def _joined(results: Sequence[SeededRun]) -> SeededRun:
    """Return the results of several runs as that of one."""

    def joined(name: str) -> Any:
        return np.concatenate([getattr(result, name) for result in results], axis=-1)

    widths = tuple(width for result in results for width in result.widths)
    return SeededRun(joined("ranks"), joined("iterations"), joined("gammas"), joined("converged"), widths)
