"""Study `scaling`: measures SpMV, PageRank, and CG of one matrix that is partitioned over several devices."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.findings import scaling
from gpu_engine.measure import Bench
from gpu_engine.multigpu.device_group import VIRTUAL_MAX, ProductName, device_count
from gpu_engine.multigpu.exchange import ExchangeName
from gpu_engine.multigpu.from_host.strategies import STRATEGIES, Strategy, find_strategy
from gpu_engine.multigpu.merge import MergePlace
from gpu_engine.multigpu.numa import Placement
from gpu_engine.multigpu.pagerank_workload import RANKS
from gpu_engine.multigpu.partition import PARTITIONINGS, Partitioning, find_partitioning
from gpu_engine.multigpu.workload import CutName, Setting, WorkloadName
from gpu_engine.parameters import parameter
from gpu_engine.records import BACKENDS, Case, DeviceInfo, MatrixInfo, Record
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.sampling.sampling_options import SAMPLING, SHARE, TIME_LIMIT_S, Sampling, SamplingOptions
from gpu_engine.studies.scaling.cluster import CLUSTER_WORKS, measure_cluster
from gpu_engine.studies.scaling.experiment import ScalingDetails, ScalingExperiment, ScalingPlan

NODES_MAX = 8
CPU_DEVICES = (1, 2, 4)

CHUNKED = "pCSR"
"""Partitioning whose data can be transferred in chunks."""

TURN_S = 0.1
"""Seconds of a turn of resident workloads, which repeat short SpMVs for this time."""

Merge = Literal["paper", "host", "device", "gather"]
PlacementName = Literal["paper", "none", "one", "interleaved", "beside"]


@dataclass(frozen=True, slots=True)
class ScalingParams:
    """Parameters of the study `scaling`."""

    devices: tuple[int, ...] = parameter(
        (), "Numbers of devices (default: 1, 2, 4 … up to all GPUs; 1, 2 and 4 on a CPU).", ge=1, le=VIRTUAL_MAX
    )
    partitionings: tuple[str, ...] = parameter(("pCSR", "pCSC", "pCOO"), "Partitionings of the matrix.", min_length=1)
    strategies: tuple[str, ...] = parameter(
        (), "Strategies of cold SpMVs (default: all). Strategies with chunks need pCSR and a merge on the host."
    )
    workload: tuple[WorkloadName, ...] = parameter(
        ("cold", "resident", "iterate"),
        "Workloads: SpMV from host memory, SpMV with data on the devices, iterated SpMV, PageRank, or a solve by CG.",
        min_length=1,
    )
    merge: tuple[Merge, ...] = parameter(
        ("paper",),
        "Merge of the results of cold SpMVs: as in the paper, on the host, on every device, or on the first device.",
        min_length=1,
    )
    exchange: tuple[ExchangeName, ...] = parameter(
        ("halo",),
        "Vector elements that each device receives: all, or only those that its partition reads (halo).",
        min_length=1,
    )
    overlap: tuple[Literal["on", "off"], ...] = parameter(
        ("on", "off"), "Overlap of the exchange with the SpMV on the elements that a device owns.", min_length=1
    )
    balance: tuple[CutName, ...] = parameter(
        ("nonzeros", "rows"), "What all partitions of resident SpMVs have in equal numbers.", min_length=1
    )
    cold_balance: tuple[Literal["paper", "rows"], ...] = parameter(
        ("paper",),
        "What all partitions of cold SpMVs have in equal numbers: as in the paper, or rows.",
        min_length=1,
    )
    placement: tuple[PlacementName, ...] = parameter(
        ("paper",),
        "NUMA nodes of the host arrays of cold SpMVs. The paper leaves them where they were created. Others: one node, "
        "interleaved, or beside the devices that read them.",
        min_length=1,
    )
    affinity: tuple[Literal["paper", "on", "off"], ...] = parameter(
        ("paper",), "Pinning of the host threads of cold SpMVs to the NUMA node of their device.", min_length=1
    )
    kernel_library: tuple[ProductName, ...] = parameter(
        ("sparsight",), "Kernels of the partitions: Sparsight, or cuSPARSE for CSR, which needs a GPU.", min_length=1
    )
    nodes: int = parameter(1, "Number of NUMA nodes over which virtual devices are spread.", ge=1, le=NODES_MAX)
    rounds: int = parameter(
        9, "Number of interleaved rounds, over which confidence intervals are computed.", ge=9, le=199
    )
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*TIME_LIMIT_S, ge=0.0, le=86_400.0)


class ScalingStudy:
    """Study of one SpMV, iteration or PageRank run per case; a partitioning and workload share their rounds.

    Cold SpMVs include all transfers from host to host; the other workloads keep matrix and vector on the devices.
    """

    name = "scaling"
    details = ScalingDetails
    findings = staticmethod(scaling.findings)
    question = "How much faster are SpMV, PageRank, and CG when several devices share one matrix?"
    several = True
    backends = BACKENDS
    Params = ScalingParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """Return the partitionings and strategies, equal on every backend."""
        return {
            "partitionings": tuple(partitioning.name for partitioning in PARTITIONINGS),
            "strategies": tuple(strategy.name for strategy in STRATEGIES),
        }

    def refusal(self, matrix: MatrixInfo) -> str:  # noqa: ARG002
        """Return no reason, because every matrix can be measured."""
        return ""

    def cases(self, params: ScalingParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Yield the cases by matrix, partitioning and workload, then by number of devices.

        Raise ParameterError for an unknown name, and if no workload is possible with the partitionings.
        """
        chosen = settings(params, device)
        return (case_of(m.id, setting) for m in matrices for setting in chosen)

    def estimate_s(self, params: ScalingParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Return the expected seconds: compilation once, then per matrix and case the verification and the rounds."""
        # Bytes/s of an SpMV from host memory, and of one with its data on the devices.
        host, resident, start = (5e9, 1e12, 30.0) if device.backend == "cuda" else (1.4e9, 5e9, 10.0)
        chosen, options = settings(params, device), SamplingOptions.of(params)
        rounds, groups = SHARE[params.sampling] * params.rounds, len({(s.partitioning, s.workload) for s in chosen})

        def turn_s(setting: Setting, m: MatrixInfo) -> float:
            return 4 * 12 * m.nnz / host if setting.workload == "cold" else TURN_S + 5 * 12 * m.nnz / resident

        turns_s = (sum(turn_s(setting, m) for setting in chosen) for m in matrices)
        return start + sum(turn + options.expected_s(turn, rounds, groups) for turn in turns_s)

    def run(
        self, params: ScalingParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Yield the records of `todo`; cases of one matrix, partitioning and workload share their rounds."""
        # The process that measures may see fewer GPUs than the process that listed the cases.
        counts = tuple({int(dict(case.axes)["devices"]): None for case in todo})
        chosen = settings(dataclasses.replace(params, devices=counts), bench.device)
        known = {(setting.kernel, setting.axes): setting for setting in chosen}
        plan = ScalingPlan({case.key: known[case.kernel, case.axes] for case in todo}, params.rounds, params.nodes)
        if bench.device.hosts:
            return measure_cluster(plan, todo, matrices, bench, SamplingOptions.of(params))
        experiments = (ScalingExperiment(plan, cases, matrices[cases[0].matrix_id], bench) for cases in by_matrix(todo))
        return measure(bench, experiments, SamplingOptions.of(params))


def case_of(matrix_id: str, setting: Setting) -> Case:
    """Return the case of a setting."""
    return Case(matrix_id, setting.kernel, "warm", setting.axes)


def settings(params: ScalingParams, device: DeviceInfo) -> tuple[Setting, ...]:
    """Return the settings of each matrix, each once; raise ParameterError if there are none."""
    if device.hosts:
        params = _on_cluster(params, device)
    counts = params.devices or default_devices(device)
    chosen = [
        setting
        for partitioning in map(find_partitioning, params.partitionings)
        for work in params.workload
        for count in counts
        for setting in _settings(params, partitioning, work, count)
    ]
    if not chosen:
        raise ParameterError(
            f"{', '.join(params.workload)} cannot run with the partitionings {', '.join(params.partitionings)}. "
            "Add pCSR."
        )
    return tuple(dict.fromkeys(chosen))


def _on_cluster(params: ScalingParams, device: DeviceInfo) -> ScalingParams:
    """Return the parameters restricted to what a cluster supports; raise ParameterError if nothing remains."""
    workloads = tuple(work for work in params.workload if work in CLUSTER_WORKS)
    if not workloads or "pCSR" not in params.partitionings or "sparsight" not in params.kernel_library:
        raise ParameterError(
            f"{device.id} measures {', '.join(CLUSTER_WORKS)}, partitioned as pCSR, with Sparsight kernels. "
            "Choose one of these workloads, pCSR and sparsight."
        )
    return dataclasses.replace(params, workload=workloads, partitionings=("pCSR",), kernel_library=("sparsight",))


def _placement(strategy: Strategy, placement: PlacementName) -> Placement | None:
    """Return the placement that overrides a strategy, or None."""
    return None if placement == "paper" or placement == strategy.placement else placement


def _affinity(strategy: Strategy, affinity: Literal["paper", "on", "off"]) -> bool | None:
    """Return the affinity that overrides a strategy, or None; without threads per device there is none."""
    pinned = affinity == "on"
    return None if affinity == "paper" or not strategy.threads or pinned == strategy.affinity else pinned


def default_devices(device: DeviceInfo) -> tuple[int, ...]:
    """Return the default numbers of devices: 1, 2 and 4 on a CPU; on GPUs powers of two, and all of them."""
    if device.backend == "cpu":
        return tuple(count for count in CPU_DEVICES if not device.hosts or count <= sum(device.hosts))
    available = max(device_count(device), 1)
    return tuple(sorted({*(2**i for i in range(available.bit_length())), available}))


def _settings(params: ScalingParams, p: Partitioning, work: WorkloadName, count: int) -> Iterator[Setting]:
    """Yield the settings of one partitioning, workload and device count; none if vectors cannot stay there."""
    if work == "cold":
        strategies = [find_strategy(name) for name in params.strategies] or STRATEGIES
        strategies = [strategy for strategy in strategies if p.name == CHUNKED or not strategy.in_chunks]
        chosen = product(
            strategies, params.merge, params.cold_balance, params.placement, params.affinity, params.kernel_library
        )
        for strategy, where, cold_balance, placement, affinity, kernels in chosen:
            merge: MergePlace = strategy.merge_place(p.axis) if where == "paper" else where
            if strategy.in_chunks and (kernels != "sparsight" or merge != "host"):
                continue
            yield Setting(
                *(work, p.name, strategy.name, count, merge),
                # The baseline has equal rows anyway.
                balance="rows" if cold_balance == "rows" and count > 1 and strategy.balanced else "nonzeros",
                placement=_placement(strategy, placement) if count > 1 else None,
                affinity=_affinity(strategy, affinity) if count > 1 else None,
                kernel_library=kernels,
            )
    elif work == "pagerank":
        names = RANKS if p.name == "pCSR" else ()
        for name, exchange, overlap in product(names, params.exchange, params.overlap):
            yield Setting(work, p.name, name, count, exchange=exchange, overlap=overlap == "on")
    elif work == "solve":
        for exchange, overlap in product(params.exchange if p.name == "pCSR" else (), params.overlap):
            yield Setting(work, p.name, work, count, exchange=exchange, overlap=overlap == "on")
    elif p.axis == "rows" and work == "resident":
        # With one device the balance makes no difference.
        for balance, kernels in product(params.balance if count > 1 else ("nonzeros",), params.kernel_library):
            yield Setting(work, p.name, work, count, balance=balance, kernel_library=kernels)
    elif p.axis == "rows":
        for exchange, overlap, kernels in product(params.exchange, params.overlap, params.kernel_library):
            yield Setting(work, p.name, work, count, exchange=exchange, overlap=overlap == "on", kernel_library=kernels)
