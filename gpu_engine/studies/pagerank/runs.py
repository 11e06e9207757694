"""PageRankCandidate: runs a kernel with a schedule, verifies and traces it, and samples its time."""

import statistics
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.cuda.load import CudaSource
from gpu_engine.errors import ParameterError
from gpu_engine.formats.base import check_room
from gpu_engine.measure import Placement, Rounds, Timing
from gpu_engine.measure.placements import Restarted
from gpu_engine.pagerank.bytes import iteration_bytes
from gpu_engine.pagerank.cuda_pulls import PULLS, pointer_of
from gpu_engine.pagerank.graph import TransitionMatrix, transition_matrix
from gpu_engine.pagerank.kernels import RankKernel
from gpu_engine.pagerank.run import PHASES, Run, State, plainly
from gpu_engine.pagerank.schedule import iterations_by_segments
from gpu_engine.records import Cache, Case, Trace
from gpu_engine.sampling.experiment import Candidate, Fields
from gpu_engine.studies.pagerank.graph_runs import GraphRuns
from gpu_engine.studies.pagerank.timed_run import TimedRun

PARTS_REPEATS = 3
"""Number of runs that are timed by phase; the median of each phase counts."""

LONG_S = 0.1
"""Seconds from which a run is timed by phase only once, because its phases are long too."""

PLACED_BYTES = 2**25
"""Most bytes of a state that is built anew before each turn."""

LONG_ITERATION_S = 2e-3
"""Seconds from which launches by the host, some 10 µs each, hardly lengthen an iteration on a GPU."""

NEEDS_L1 = (
    "Segments and iterative refinement need norm=L1, because their precision rule compares γ with ‖p‖₁. Set norm=L1."
)

TWO_PAGES = CsrMatrix(2, 2, np.array([0, 1, 1], np.int32), np.array([1], np.int32), np.ones(1))
"""Smallest graph with a link and a dangling page."""


class PageRankCandidate(Candidate):
    """A kernel with a schedule as a candidate; it runs from e/n to γ < ε."""

    def __init__(
        self,
        experiment: GraphRuns,
        case: Case,
        kernel: RankKernel,
        schedule: Any,
        convert: bool,
    ) -> None:
        super().__init__(case.key, case.kernel, {case.cache: case})
        self._experiment, self._bench, self._params = experiment, experiment.bench, experiment.plan.params
        self._case, self._kernel, self._schedule, self._convert = case, kernel, schedule, convert
        self.bytes_needed = 20.0 * PULLS[kernel.layout].most_slots(experiment.graph.pull) + 48.0 * experiment.graph.n
        self._timed: TimedRun | None = None
        self._first_parts_s: list[float] = []
        self._first_s: list[float] = []

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of the kernel source."""
        return {"source": self._kernel.source_hash(self._bench.stopwatch.backend)}

    @property
    def sources(self) -> Collection[CudaSource]:
        """CUDA sources of its kernel for the pointer type of the graph."""
        return self._kernel.sources(pointer_of(self._experiment.graph.pull))

    def prepare(self) -> Callable[[], Fields]:
        """Make the first run, which gives the number of iterations; return the verification of its ranks."""
        check_room(self.bytes_needed, self._bench.layout_bytes)
        if (self._kernel.segments or self._kernel.refined) and self._params.norm != "L1":
            raise ParameterError(NEEDS_L1)
        if self._bench.xp is np:
            # Run once on a tiny graph, so that the compilation by Numba does not count as iterations.
            self._iterate(self._ranks_of(transition_matrix(TWO_PAGES, self._params)))
        ranks = self._ranks_of(self._experiment.graph)
        run = self._first_run(ranks)
        # A run that ends on the device is the one that is verified.
        self._timed, timed = self._timed_run(ranks, run)
        written = iterations_by_segments(run.written, self._schedule) if self._kernel.precisions else ()
        self.fields = {
            **self._experiment.transition,
            "iterations": len(run.gammas),
            "iterations_by_segments": written,
            "stored_bytes": ranks.stored_bytes,
            "iterations_timed": timed,
        }
        return partial(self._verified, ranks.ranks(), run)

    def turns(self, cache: Cache) -> Callable[[], float]:
        """Return a function that times a run that ends on the device, or a replay of its steps without reading γ.

        The first turn reuses the first run if its phases were long enough to be timed.
        """
        timed = self._ready()
        turn = self._bench.turns(timed.play, lambda: timed.rewind(), placement=self.placement())(cache)
        first, self._first_s = self._first_s, []
        return lambda: first.pop() if first else turn()

    def placement(self) -> Placement | None:
        """Return how a run is placed: a state built anew; None for a run of long iterations, which is made once."""
        if self._first_parts_s or not self._ready().run.steps:
            return None
        return Placement(self._placed, self.bytes_needed, PLACED_BYTES)

    def _placed(self) -> Restarted:
        ranks = self._ranks_of(self._experiment.graph)
        placed, _ = self._timed_run(ranks, self._iterate(ranks))
        return Restarted(placed.play, placed.rewind)

    def _timed_run(self, ranks: State, run: Run) -> tuple[TimedRun, int]:
        """Return a run that ends on the device if it can, and the iterations that are timed."""
        timed = TimedRun(self._kernel, self._schedule, ranks, run)
        converging = None
        if not self._first_parts_s:
            converging = self._kernel.converging(ranks, run, self._params, self._bench.xp)
        return timed, timed.converge(converging, self._bench.stopwatch) if converging else len(run.gammas)

    def least_s(self, cache: Cache) -> float:
        """Return the least seconds for the bytes of its iterations."""
        return sum(self._bench.least_s(count, cache) for count in self._moved())

    def rates(self, timing: Timing, cache: Cache, rounds: Rounds) -> Fields:  # noqa: ARG002
        """Return GFLOP/s and the roofline time of all iterations together."""
        moved = self._moved()
        return {
            "gflops": 2 * self._experiment.graph.pull.nnz * len(moved) / timing.median_s / 1e9,
            "roofline_s": sum(count / self._bench.profile.rate(int(count), cache) for count in moved),
        }

    def energy_j(self) -> float | None:
        """Return the energy of one run in joules, or None if the plan has energy off."""
        seconds, timed = self._experiment.plan.energy_s, self._ready()
        if not seconds or not timed.run.steps:
            return None
        # A probe may have changed the ranks, and the next step rewinds from the end of a run.
        self._bench.stopwatch.time_parts([timed.play], partial(timed.ranks.reset, self._schedule.start_segments))
        return self._bench.stopwatch.energy_j(timed.play, seconds, timed.rewind)

    def traces(self) -> Iterator[Trace]:
        """Yield γ, segments and seconds by phase of every iteration, rounded to significant digits."""
        timed_run = self._ready()
        ranks, run, rewind = timed_run.ranks, timed_run.run, timed_run.rewind
        parts = list(self._kernel.procedure.replayed(ranks, self._schedule, run.steps))
        acts = [act for _, _, act in parts]
        timed = [self._first_parts_s or self._bench.stopwatch.time_parts(acts, rewind)]
        while sum(timed[0]) < LONG_S and len(timed) < PARTS_REPEATS:
            timed.append(self._bench.stopwatch.time_parts(acts, rewind))
        seconds = {phase: [0.0] * len(run.steps) for phase in (*PHASES, *(phase for _, phase, _ in parts))}
        for (iteration, phase, _), samples in zip(parts, zip(*timed, strict=True), strict=True):
            seconds[phase][iteration] += float(f"{statistics.median(samples):.4g}")
        self.fields["phases_s"] = {phase: sum(values) for phase, values in seconds.items()}
        segmented = bool(self._kernel.precisions)
        yield Trace(
            self._case.key,
            {
                "gamma": tuple(float(f"{gamma:.6g}") for gamma in run.gammas),
                "read": tuple(float(k) if segmented else 0.0 for k in run.read),
                "written": tuple(float(k) if segmented else 0.0 for k in run.written),
                **{f"{phase}_s": tuple(values) for phase, values in seconds.items()},
                "gather_s": self._gather(),
            },
        )

    def release(self) -> None:
        """Free matrix and ranks, and the calls that hold them."""
        self._timed = None

    def _ready(self) -> TimedRun:
        if self._timed is None:
            raise RuntimeError("A case without a run cannot be sampled.")
        return self._timed

    def _ranks_of(self, graph: TransitionMatrix) -> Any:
        return self._kernel.ranks(graph, self._params, self._bench.xp, self._convert)

    def _iterate(self, ranks: State, *hooks: Callable[..., None]) -> Run:
        """Run the iterations; hooks: called after each iteration, and in place of its phases."""
        return self._kernel.procedure.iterate(ranks, self._params, self._schedule, *hooks)

    def _first_run(self, ranks: State) -> Run:
        """Make a run that reads every γ; stop it if it takes too long, and time it if its iterations are long."""
        timer = self._bench.stopwatch.part_timer()
        run = self._experiment.stopping.run(
            lambda lap: self._iterate(ranks, lap, timer or plainly),
            self._experiment.most_s(self._case),
        )
        seconds = timer.seconds() if timer else []
        if run.steps and sum(seconds) >= LONG_ITERATION_S * len(run.steps):
            self._first_parts_s, self._first_s = seconds, [sum(seconds)]
        return run

    def _moved(self) -> list[float]:
        """Return the bytes of each iteration."""
        graph, steps = self._experiment.graph, self._ready().run.steps
        return [iteration_bytes(graph, self._kernel, step.read, step.write) for step in steps]

    def _verified(self, p: Any, run: Run) -> Fields:
        """Return the fields of the verification; raise KernelError if the ranks are wrong."""
        gamma, top = run.gammas[-1] if run.gammas else 0.0, self._experiment.plan.top
        verification = self._experiment.verifier.check(p, gamma, self._mantissa_bits(run), self._experiment.fp64, top)
        return {**self._experiment.accuracy(verification, p), **run.outcome}

    def _mantissa_bits(self, run: Run) -> int:
        """Return the mantissa bits that the last iteration read."""
        if not self._kernel.segments or not run.steps:
            return self._kernel.mantissa_bits
        return int(self._schedule.mantissa_bits(run.steps[-1].read))

    def _gather(self) -> tuple[float, ...]:
        """Return the seconds of the gather probe at the precision of each iteration; 0 without a probe."""
        ranks, run = self._ready().ranks, self._ready().run
        if ranks.gather() is None or not self._experiment.graph.pull.nnz:
            return (0.0,) * len(run.steps)
        seconds = {k: self._probe_s(ranks, k) for k in sorted(set(run.read))}
        return tuple(seconds[k] for k in run.read)

    def _probe_s(self, ranks: State, k: int) -> float:
        ranks.reset(k)
        probe = ranks.gather()
        if probe is None:
            return 0.0
        return float(f"{statistics.median(self._bench.stopwatch.prepare(probe, 'warm')()):.4g}")
