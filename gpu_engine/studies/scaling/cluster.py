"""Workloads on a cluster: iterated SpMV, PageRank, and CG, run by Ray actors that synchronize among themselves.

Seconds are measured by the actors, from the moment when all are ready until the last one is done; they do not include
the calls of the driver.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from gpu_engine.cpms.layout import UNITS
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.measure import Bench
from gpu_engine.multigpu.cluster.actor_pool import RANGE, ActorPool, CaseActors, open_actor_pool
from gpu_engine.multigpu.cluster.member import CaseActor
from gpu_engine.multigpu.cluster.product import Act, ProductMember
from gpu_engine.multigpu.cluster.ranks import Graph, RankMember
from gpu_engine.multigpu.cluster.solve import ClusterSolve, SolveMember
from gpu_engine.multigpu.exchange import plan_sums
from gpu_engine.multigpu.graph_shards import PARTITIONING, whole_rows
from gpu_engine.multigpu.pagerank_workload import RANKS
from gpu_engine.multigpu.partition import localize
from gpu_engine.multigpu.resident import BATCH
from gpu_engine.multigpu.sampler import SAMPLES, repeats
from gpu_engine.multigpu.solve_run import CHECK_EVERY
from gpu_engine.multigpu.solve_workload import moved_bytes, verified
from gpu_engine.multigpu.workload import RANK_PARAMS, Clock, Setting, Workload, WorkloadData, WorkloadName
from gpu_engine.pagerank.bytes import iteration_bytes
from gpu_engine.pagerank.run import Run
from gpu_engine.pagerank.schedule import iterations_by_segments
from gpu_engine.records import Case, Record
from gpu_engine.sampling.experiment import Experiment
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.sampling.sampling_options import ALL_ROUNDS, SamplingOptions
from gpu_engine.solvers import symmetry
from gpu_engine.studies.scaling.experiment import ScalingCandidate, ScalingExperiment, ScalingPlan, source_hash
from gpu_engine.verify import POISON, check

CLUSTER_WORKS: tuple[WorkloadName, ...] = ("iterate", "pagerank", "solve")
"""Workloads that run on several hosts: those whose vectors stay on the devices."""


class ClusterIteration:
    """x := A·x with the exchange, by actors that hold whole rows; phases as in IteratedProduct."""

    def __init__(self, data: WorkloadData, setting: Setting, team: CaseActors, folder: Any) -> None:
        self._team, self._expected, self._repeats = team, data.iterated_reference, 1
        spans = whole_rows(data.stored(setting.partitioning), setting.devices)
        team.load_parts(spans, folder, setting.exchange, setting.overlap)
        team.load(self._expected.x)
        self._phases: dict[Act, list[float]] = {"multiply": [], "exchange": []}
        self._fields: dict[str, Any] = {
            "nonzeros_by_device": tuple(span.entries for span in spans),
            "stored_bytes": sum(part.n_bytes for part in team.parts),
            "exchanged_bytes": 8 * sum(transfer.elements for transfer in team.transfers),
        }
        self.moved_bytes: float = self._fields["stored_bytes"] + self._expected.y.nbytes

    def check(self) -> None:
        """Run the first iterations; raise KernelError if they are wrong."""
        self._team.together("run", "advance", BATCH)
        x = np.full(self._expected.y.size, POISON)
        self._team.read(x)
        self._fields["max_error"] = check(self._expected, x)
        self._repeats = repeats(self._sample("advance"), BATCH)
        for act in ("advance", *self._phases):
            self._sample(act)

    def turn(self) -> float:
        """Return the seconds of one iteration."""
        # The SpMV by itself needs the elements that the exchange transfers.
        for act in ("exchange", "multiply"):
            self._phases[act].append(self._sample(act))
        return statistics.median(self._sample("advance") for _ in range(SAMPLES))

    def fields(self) -> dict[str, Any]:
        """Return the phases; their sum exceeds the time if they overlap."""
        named = {"compute": self._phases["multiply"], "exchange": self._phases["exchange"]}
        return self._fields | {"phases_s": {name: statistics.median(s) for name, s in named.items() if s}}

    def _sample(self, act: Act) -> float:
        seconds: list[float] = self._team.together("sample", act, self._repeats)
        return max(seconds)


class ClusterRanks:
    """PageRank runs by the actors, timed iteration by iteration; see RankIterations."""

    def __init__(self, data: WorkloadData, setting: Setting, team: CaseActors) -> None:
        self._data, self._team, self._kernel = data, team, RANKS[setting.variant]
        self._schedule = self._kernel.schedule({})
        graph, stored = data.graph, PARTITIONING.store(data.graph.pull)
        spans = whole_rows(stored, setting.devices)
        for number, span in enumerate(spans):
            arrays = {"major": localize(stored, span)}
            arrays |= {name: getattr(stored, name)[span.start : span.end] for name in ("minor", "values")}
            for name, array in arrays.items():
                # An empty array is transferred too.
                for begin in range(0, max(array.size, 1), RANGE):
                    team.send(number, "receive", name, begin, array[begin : begin + RANGE], array.size)
        pages = Graph(graph.n, graph.dangling)
        team.load_parts(spans, pages, RANK_PARAMS, self._kernel.segments, setting.exchange, setting.overlap)
        self._run: Run | None = None
        self._phases: dict[str, list[float]] = {"compute": [], "exchange": []}
        self._fields: dict[str, Any] = {
            "nonzeros_by_device": tuple(span.entries for span in spans),
            "stored_bytes": sum(part.n_bytes for part in team.parts),
        }
        # Bytes of an iteration that reads and writes only the first segment, the least of any.
        self.moved_bytes: float = iteration_bytes(graph, self._kernel, 1, 1)

    def check(self) -> None:
        """Make the first run, which gives the number of iterations, and verify its ranks."""
        self._run = run = self._team.together("find", self._schedule)[0]
        bits = self._schedule.mantissa_bits(run.read[-1]) if self._kernel.segments else self._kernel.mantissa_bits
        ranks = np.full(self._data.graph.n, POISON)
        self._team.read(ranks)
        accuracy = self._data.verifier.check(ranks, run.gammas[-1], bits)
        self._fields |= {
            "iterations": len(run.steps),
            "exchanged_bytes": statistics.median_low(self._exchanged_bytes(read) for read in run.read),
            "residual": accuracy.residual,
            "mass_error": accuracy.mass_error,
            **run.outcome,
        }
        if self._kernel.segments:
            self._fields["iterations_by_segments"] = iterations_by_segments(run.written, self._schedule)

    def turn(self) -> float:
        """Return the seconds of the median iteration of a run; another run gives the phases."""
        exchanges, rests = zip(*self._times(apart=True), strict=True)
        self._phases["exchange"].append(statistics.median(exchanges))
        self._phases["compute"].append(statistics.median(rests))
        return statistics.median(seconds for _, seconds in self._times(apart=False))

    def fields(self) -> dict[str, Any]:
        """Return the phases of the median iterations."""
        return self._fields | {"phases_s": {name: statistics.median(s) for name, s in self._phases.items() if s}}

    def _times(self, apart: bool) -> list[tuple[float, float]]:
        """Return the seconds of exchange and of the rest, per iteration, each of the slowest actor."""
        steps = self._run.steps if self._run else ()
        by_member = self._team.together("times", self._schedule, steps, apart)
        return [tuple(max(each) for each in zip(*pairs, strict=True)) for pairs in zip(*by_member, strict=True)]

    def _exchanged_bytes(self, read: int) -> int:
        """Return the bytes exchanged by an iteration that reads `read` segments."""
        segments = self._kernel.segments
        heads = segments and read < segments
        size = read * np.dtype(UNITS[segments]).itemsize if heads else np.dtype(np.float64).itemsize
        return size * sum(transfer.elements for transfer in self._team.transfers)


class ClusterIterations:
    """CG by actors that hold whole rows; see SolveIterations."""

    def __init__(self, data: WorkloadData, setting: Setting, team: CaseActors, folder: Any) -> None:
        symmetry.check(data.matrix)
        self._data, self._batches = data, 1
        spans = whole_rows(data.stored(setting.partitioning), setting.devices)
        team.load_parts(spans, folder, setting.exchange, setting.overlap)
        self._solve = ClusterSolve(data.matrix, team)
        stored = sum(part.n_bytes for part in team.parts)
        self._fields: dict[str, Any] = {
            "nonzeros_by_device": tuple(span.entries for span in spans),
            "stored_bytes": stored,
            "exchanged_bytes": 8 * sum(each.elements for each in (*team.transfers, *plan_sums(setting.devices))),
        }
        self.moved_bytes = moved_bytes(stored, data.matrix.n_rows)

    def check(self) -> None:
        """Solve and verify; raise ParameterError if CG cannot solve the system."""
        self._fields |= verified(self._solve, self._data)
        self._solve.begin(self._data.reference.y)
        self._batches = max(repeats(self._solve.sample(1), CHECK_EVERY) // CHECK_EVERY, 1)

    def turn(self) -> float:
        """Return the seconds of an iteration."""
        return statistics.median(self._solve.sample(self._batches) for _ in range(SAMPLES))

    def fields(self) -> dict[str, Any]:
        """Return the fields of the record; there are no phases."""
        return self._fields


MEMBERS: Mapping[WorkloadName, type[CaseActor]] = {
    "iterate": ProductMember,
    "pagerank": RankMember,
    "solve": SolveMember,
}
"""Workload → class of its actors."""


class ClusterExperiment(ScalingExperiment):
    """Experiment with the workloads of one matrix on devices of a cluster, each by a team of actors from one pool."""

    def __init__(
        self, plan: ScalingPlan, cases: Sequence[Case], matrix: CsrMatrix, bench: Bench, pool: ActorPool
    ) -> None:
        super().__init__(plan, cases, matrix, bench)
        self._pool, self._folder = pool, pool.cluster.folder_of(cases[0].matrix_id)

    @contextmanager
    def group(self) -> Iterator[None]:
        """Open nothing for a group, because the pool exists already."""
        with Experiment.group(self):
            yield

    def candidate(self, case: Case, setting: Setting) -> ScalingCandidate:
        """Return the candidate of a setting on a team."""
        return ClusterCandidate(self, case, setting)

    def team(self, key: str, setting: Setting) -> CaseActors:
        """Return a new team for a setting; raise ParameterError if the pool is too small, or HostLostError."""
        return self._pool.case_actors(key, setting.devices, MEMBERS[setting.workload])

    def of_team(self, setting: Setting, team: CaseActors) -> Workload:
        """Return the workload of a setting on a team."""
        if setting.workload == "iterate":
            return ClusterIteration(self.data, setting, team, self._folder)
        if setting.workload == "solve":
            return ClusterIterations(self.data, setting, team, self._folder)
        return ClusterRanks(self.data, setting, team)

    def _data(self) -> WorkloadData:
        return WorkloadData(cast(CsrMatrix, self.matrix))


class ClusterCandidate(ScalingCandidate):
    """A setting on the devices of several hosts as a candidate."""

    def __init__(self, experiment: ClusterExperiment, case: Case, setting: Setting) -> None:
        super().__init__(experiment, case, setting)
        self._cluster, self._team = experiment, cast(CaseActors | None, None)

    @property
    def environment(self) -> Mapping[str, str]:
        """Hash of all sources, and the devices with their hosts."""
        places = self._team.places if self._team else ()
        names = {"devices": ", ".join(f"{place.host}/{place.device}" for place in places)} if places else {}
        return {"source": source_hash(), **names}

    def release(self) -> None:
        """Make the actors free their memory."""
        super().release()
        if self._team is not None:
            self._team.drop()
            self._team = None

    def _start(self, clock: Clock) -> Workload:  # noqa: ARG002
        self._team = team = self._cluster.team(f"measuring {self.name}", self.setting)
        return self._cluster.of_team(self.setting, team)


def measure_cluster(
    plan: ScalingPlan,
    todo: Sequence[Case],
    matrices: Mapping[str, CsrMatrix],
    bench: Bench,
    options: SamplingOptions = ALL_ROUNDS,
) -> Iterator[Record]:
    """Yield the records of cases on the cluster of the bench; raise HostLostError once one of its devices is lost."""
    most = max(setting.devices for setting in plan.settings.values())
    with open_actor_pool(bench.cluster, most) as pool:
        experiments = (
            ClusterExperiment(plan, cases, matrices[cases[0].matrix_id], bench, pool) for cases in by_matrix(todo)
        )
        yield from measure(bench, experiments, options)
