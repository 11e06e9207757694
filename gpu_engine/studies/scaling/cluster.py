"""What the study measures on a cluster: iterated products and PageRank, by members that lead themselves.

Seconds are those of the members, from a moment at which all have come to the work until the last of them has done it:
the driver's calls are in none of them.
"""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from gpu_engine.cpms.layout import UNITS
from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.measure import Bench
from gpu_engine.multigpu.cluster.crew import RANGE, Crew, Team, open_crew
from gpu_engine.multigpu.cluster.product import Act, ProductMember
from gpu_engine.multigpu.cluster.ranks import Graph, RankMember
from gpu_engine.multigpu.pagerank_workload import RANKS
from gpu_engine.multigpu.partition import localize
from gpu_engine.multigpu.resident import BATCH
from gpu_engine.multigpu.shards import PARTITIONING, whole_rows
from gpu_engine.multigpu.workload import RANK_PARAMS, Clock, Setting, Workload, WorkloadData, WorkloadName
from gpu_engine.multigpu.workloads import REPEATS_MAX, SAMPLE_S, SAMPLES
from gpu_engine.pagerank.bytes import iteration_bytes
from gpu_engine.pagerank.run import Run
from gpu_engine.pagerank.schedule import iterations_by_segments
from gpu_engine.records import Case, Record
from gpu_engine.sampling.effort import FULL, Effort
from gpu_engine.sampling.experiment import Experiment
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.studies.scaling.experiment import ScalingCandidate, ScalingExperiment, ScalingPlan, source_hash
from gpu_engine.verify import POISON, check

CLUSTER_WORKS: tuple[WorkloadName, ...] = ("iterate", "pagerank")
"""What is measured on several hosts: their vectors stay where they are."""


class ClusterIteration:
    """x := A·x with the exchange, by members with whole rows; phases as those of IteratedProduct."""

    def __init__(self, data: WorkloadData, setting: Setting, team: Team, folder: Any) -> None:
        self._team, self._expected, self._repeats = team, data.iterated_reference, 1
        spans = whole_rows(data.stored(setting.partitioning), setting.devices)
        team.load_parts(spans, folder, setting.exchange, setting.overlap)
        team.load(self._expected.x)
        self._phases: dict[Act, list[float]] = {"multiply": [], "exchange": []}
        self._fields: dict[str, Any] = {
            "entries_by_device": tuple(span.entries for span in spans),
            "stored_bytes": sum(part.n_bytes for part in team.parts),
            "exchanged_bytes": 8 * sum(transfer.elements for transfer in team.transfers),
        }
        self.moved_bytes: float = self._fields["stored_bytes"] + self._expected.y.nbytes

    def check(self) -> None:
        """The first iterations; raises KernelError where they are wrong."""
        self._team.together("run", "advance", BATCH)
        x = np.full(self._expected.y.size, POISON)
        self._team.read(x)
        self._fields["max_error"] = check(self._expected, x)
        fit = round(SAMPLE_S / max(self._sample("advance"), 1e-7)) // BATCH * BATCH
        self._repeats = max(1, min(REPEATS_MAX // BATCH * BATCH, fit))
        for act in ("advance", *self._phases):
            self._sample(act)

    def turn(self) -> float:
        """Seconds of an iteration."""
        # The product alone needs the elements that the exchange brings.
        for act in ("exchange", "multiply"):
            self._phases[act].append(self._sample(act))
        return statistics.median(self._sample("advance") for _ in range(SAMPLES))

    def fields(self) -> dict[str, Any]:
        """Phases add up to more than the time where they overlap."""
        named = {"compute": self._phases["multiply"], "exchange": self._phases["exchange"]}
        return self._fields | {"phases_s": {name: statistics.median(s) for name, s in named.items() if s}}

    def _sample(self, act: Act) -> float:
        seconds: list[float] = self._team.together("sample", act, self._repeats)
        return max(seconds)


class ClusterRanks:
    """Runs of PageRank that the members lead to their end, timed iteration by iteration; see RankIterations."""

    def __init__(self, data: WorkloadData, setting: Setting, team: Team) -> None:
        self._data, self._team, self._kernel = data, team, RANKS[setting.variant]
        self._schedule = self._kernel.schedule({})
        graph, stored = data.graph, PARTITIONING.store(data.graph.pull)
        spans = whole_rows(stored, setting.devices)
        for number, span in enumerate(spans):
            arrays = {"major": localize(stored, span)}
            arrays |= {name: getattr(stored, name)[span.start : span.end] for name in ("minor", "values")}
            for name, array in arrays.items():
                # An empty array is sent too.
                for begin in range(0, max(array.size, 1), RANGE):
                    team.send(number, "receive", name, begin, array[begin : begin + RANGE], array.size)
        pages = Graph(graph.n, graph.dangling)
        team.load_parts(spans, pages, RANK_PARAMS, self._kernel.segments, setting.exchange, setting.overlap)
        self._run: Run | None = None
        self._phases: dict[str, list[float]] = {"compute": [], "exchange": []}
        self._fields: dict[str, Any] = {
            "entries_by_device": tuple(span.entries for span in spans),
            "stored_bytes": sum(part.n_bytes for part in team.parts),
        }
        # Those of an iteration that reads and writes heads alone, the least of any.
        self.moved_bytes: float = iteration_bytes(graph, self._kernel, 1, 1)

    def check(self) -> None:
        """A first run, which finds the iterations; its ranks are verified."""
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
        """Seconds of the median iteration of a run; another run tells the phases."""
        exchanges, rests = zip(*self._times(apart=True), strict=True)
        self._phases["exchange"].append(statistics.median(exchanges))
        self._phases["compute"].append(statistics.median(rests))
        return statistics.median(seconds for _, seconds in self._times(apart=False))

    def fields(self) -> dict[str, Any]:
        """Phases are those of the median iterations."""
        return self._fields | {"phases_s": {name: statistics.median(s) for name, s in self._phases.items() if s}}

    def _times(self, apart: bool) -> list[tuple[float, float]]:
        """Seconds of each iteration's exchange and of its rest, each those of the slowest member."""
        steps = self._run.steps if self._run else ()
        by_member = self._team.together("times", self._schedule, steps, apart)
        return [tuple(max(each) for each in zip(*pairs, strict=True)) for pairs in zip(*by_member, strict=True)]

    def _exchanged_bytes(self, read: int) -> int:
        """Of an iteration that reads so many segments."""
        segments = self._kernel.segments
        heads = segments and read < segments
        size = read * np.dtype(UNITS[segments]).itemsize if heads else np.dtype(np.float64).itemsize
        return size * sum(transfer.elements for transfer in self._team.transfers)


class ClusterExperiment(ScalingExperiment):
    """The workloads of one matrix on some of the devices of a cluster, each by a team of one crew."""

    def __init__(self, plan: ScalingPlan, cases: Sequence[Case], matrix: CsrMatrix, bench: Bench, crew: Crew) -> None:
        super().__init__(plan, cases, matrix, bench)
        self._crew, self._folder = crew, crew.cluster.folder_of(cases[0].matrix_id)

    @contextmanager
    def group(self) -> Iterator[None]:
        """Nothing is opened for a group: the crew is there."""
        with Experiment.group(self):
            yield

    def candidate(self, case: Case, setting: Setting) -> ScalingCandidate:
        """A setting on a team."""
        return ClusterCandidate(self, case, setting)

    def team(self, key: str, setting: Setting) -> Team:
        """A new team for a setting; raises ParameterError where the crew is smaller, HostLostError."""
        kind = ProductMember if setting.workload == "iterate" else RankMember
        return self._crew.team(key, setting.devices, kind)

    def of_team(self, setting: Setting, team: Team) -> Workload:
        """What a setting does."""
        if setting.workload == "iterate":
            return ClusterIteration(self.data, setting, team, self._folder)
        return ClusterRanks(self.data, setting, team)

    def _data(self) -> WorkloadData:
        return WorkloadData(cast(CsrMatrix, self.matrix))


class ClusterCandidate(ScalingCandidate):
    """A setting on the devices of several hosts."""

    def __init__(self, experiment: ClusterExperiment, case: Case, setting: Setting) -> None:
        super().__init__(experiment, case, setting)
        self._cluster, self._team = experiment, cast(Team | None, None)

    @property
    def environment(self) -> Mapping[str, str]:
        """The hash of all sources, and the devices with their hosts."""
        places = self._team.places if self._team else ()
        names = {"devices": ", ".join(f"{place.host}/{place.device}" for place in places)} if places else {}
        return {"source": source_hash(), **names}

    def release(self) -> None:
        """Has the members give back what they hold."""
        super().release()
        if self._team is not None:
            self._team.drop()
            self._team = None

    def _start(self, clock: Clock) -> Workload:  # noqa: ARG002
        self._team = team = self._cluster.team(f"measuring {self.name}", self.setting)
        return self._cluster.of_team(self.setting, team)


def measure_cluster(
    plan: ScalingPlan, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench, effort: Effort = FULL
) -> Iterator[Record]:
    """Measures the cases on the cluster of the bench; raises HostLostError once one of its devices is lost."""
    most = max(setting.devices for setting in plan.settings.values())
    with open_crew(bench.cluster, most) as crew:
        found = (ClusterExperiment(plan, cases, matrices[cases[0].matrix_id], bench, crew) for cases in by_matrix(todo))
        yield from measure(bench, found, effort)
