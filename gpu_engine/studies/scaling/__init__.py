"""Study `scaling`: how far does a product get when one matrix is shared by several devices?"""

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
from gpu_engine.sampling.effort import BUDGET_S, SAMPLING, SHARE, Effort, Sampling
from gpu_engine.sampling.run import by_matrix, measure
from gpu_engine.studies.scaling.cluster import CLUSTER_WORKS, measure_cluster
from gpu_engine.studies.scaling.experiment import ScalingDetails, ScalingExperiment, ScalingPlan

NODES_MAX = 8
CPU_DEVICES = (1, 2, 4)

CHUNKED = "pCSR"
"""The partitioning that is sent in chunks."""

TURN_S = 0.1
"""Seconds of a turn of small products that stay on the devices: so long are they repeated."""

Merge = Literal["paper", "host", "device", "gather"]
WantedPlacement = Literal["paper", "none", "one", "interleaved", "beside"]


@dataclass(frozen=True, slots=True)
class ScalingParams:
    """Parameters of the study."""

    devices: tuple[int, ...] = parameter(
        (), "Devices that share the matrix; empty: 1, 2, 4 … up to all GPUs, 1, 2 and 4 on a CPU.", ge=1, le=VIRTUAL_MAX
    )
    partitionings: tuple[str, ...] = parameter(("pCSR", "pCSC", "pCOO"), "Ways to cut the matrix.", min_length=1)
    strategies: tuple[str, ...] = parameter(
        (), "Strategies of cold products; empty: all. Those in chunks are for pCSR, merged on the host."
    )
    workload: tuple[WorkloadName, ...] = parameter(
        ("cold", "resident", "iterate"),
        "Products from host to host, products on the devices, iterated ones, iterations of PageRank.",
        min_length=1,
    )
    merge: tuple[Merge, ...] = parameter(
        ("paper",),
        "Where cold products are merged: as the paper's strategy does, on the host, on every device, or on the first, "
        "which gathers all results.",
        min_length=1,
    )
    exchange: tuple[ExchangeName, ...] = parameter(
        ("halo",), "What a device fetches of an iterated vector: all, or what its part reads.", min_length=1
    )
    overlap: tuple[Literal["on", "off"], ...] = parameter(
        ("on", "off"), "Whether a device multiplies what it has while the rest arrives.", min_length=1
    )
    balance: tuple[CutName, ...] = parameter(
        ("nonzeros", "rows"), "What parts of resident products have in equal numbers.", min_length=1
    )
    cold_balance: tuple[Literal["paper", "rows"], ...] = parameter(
        ("paper",),
        "What parts of cold products have in equal numbers: what the paper's strategy says, or lines.",
        min_length=1,
    )
    placement: tuple[WantedPlacement, ...] = parameter(
        ("paper",),
        "On which of several NUMA nodes arrays of cold products lie: as the paper's strategy says, where they were "
        "made, on one, by turns on all, or beside the devices that read them.",
        min_length=1,
    )
    affinity: tuple[Literal["paper", "on", "off"], ...] = parameter(
        ("paper",), "Whether threads of cold products stay on the NUMA node of their device.", min_length=1
    )
    kernel_library: tuple[ProductName, ...] = parameter(
        ("sparsight",), "Whose kernels multiply: ours, or those of cuSPARSE for CSR, which needs a GPU.", min_length=1
    )
    nodes: int = parameter(1, "NUMA nodes over which virtual devices are spread.", ge=1, le=NODES_MAX)
    rounds: int = parameter(9, "Interleaved rounds; the interval is bootstrapped over them.", ge=9, le=199)
    sampling: Sampling = parameter(*SAMPLING)  # noqa: RUF009 (a field)
    time_limit_s: float = parameter(*BUDGET_S, ge=0.0, le=86_400.0)


class ScalingStudy:
    """One product, iteration or run per case; all of one partitioning and work in the same interleaved rounds.

    Cold products count everything from host to host, the others leave matrix and vector on the devices.
    """

    name = "scaling"
    details = ScalingDetails
    findings = staticmethod(scaling.findings)
    question = "How far does a product get when several devices share one matrix?"
    several = True
    backends = BACKENDS
    Params = ScalingParams

    def names(self, backend: str) -> Mapping[str, tuple[str, ...]]:  # noqa: ARG002
        """The partitionings and strategies, the same on every backend."""
        return {
            "partitionings": tuple(partitioning.name for partitioning in PARTITIONINGS),
            "strategies": tuple(strategy.name for strategy in STRATEGIES),
        }

    def refusal(self, matrix: MatrixInfo) -> str:  # noqa: ARG002
        """None: every matrix has products."""
        return ""

    def cases(self, params: ScalingParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> Iterator[Case]:
        """Matrix by matrix, partitioning by partitioning, work by work, then by number of devices.

        Raises ParameterError on an unknown name, and where nothing of the work is possible with the partitionings.
        """
        chosen = settings(params, device)
        return (case_of(m.id, setting) for m in matrices for setting in chosen)

    def estimate_s(self, params: ScalingParams, matrices: Sequence[MatrixInfo], device: DeviceInfo) -> float:
        """Compiling once, then per matrix and case the check and the rounds."""
        # Bytes/s of a product from the host, and of one whose matrix is on the devices.
        host, resident, start = (5e9, 1e12, 30.0) if device.backend == "cuda" else (1.4e9, 5e9, 10.0)
        chosen, effort = settings(params, device), Effort.of(params)
        rounds, groups = SHARE[params.sampling] * params.rounds, len({(s.partitioning, s.workload) for s in chosen})

        def turn_s(setting: Setting, m: MatrixInfo) -> float:
            return 4 * 12 * m.nnz / host if setting.workload == "cold" else TURN_S + 5 * 12 * m.nnz / resident

        turns_s = (sum(turn_s(setting, m) for setting in chosen) for m in matrices)
        return start + sum(turn + effort.expected_s(turn, rounds, groups) for turn in turns_s)

    def run(
        self, params: ScalingParams, todo: Sequence[Case], matrices: Mapping[str, CsrMatrix], bench: Bench
    ) -> Iterator[Record]:
        """Measures the cases of `todo`; those of one matrix, partitioning and work share their rounds."""
        # A process that measures may see fewer GPUs than the one that listed the cases.
        counts = tuple({int(dict(case.axes)["devices"]): None for case in todo})
        chosen = settings(dataclasses.replace(params, devices=counts), bench.device)
        known = {(setting.kernel, setting.axes): setting for setting in chosen}
        plan = ScalingPlan({case.key: known[case.kernel, case.axes] for case in todo}, params.rounds, params.nodes)
        if bench.device.hosts:
            return measure_cluster(plan, todo, matrices, bench, Effort.of(params))
        found = (ScalingExperiment(plan, cases, matrices[cases[0].matrix_id], bench) for cases in by_matrix(todo))
        return measure(bench, found, Effort.of(params))


def case_of(matrix_id: str, setting: Setting) -> Case:
    """The case that a setting is measured as."""
    return Case(matrix_id, setting.kernel, "warm", setting.axes)


def settings(params: ScalingParams, device: DeviceInfo) -> tuple[Setting, ...]:
    """What is measured of each matrix, each once; raises ParameterError where that is nothing."""
    if device.hosts:
        params = _on_cluster(params, device)
    counts = params.devices or default_devices(device)
    found = [
        setting
        for partitioning in map(find_partitioning, params.partitionings)
        for work in params.workload
        for count in counts
        for setting in _settings(params, partitioning, work, count)
    ]
    if not found:
        raise ParameterError(
            f"{', '.join(params.workload)} needs parts of rows, chunks and PageRank pCSR; partitionings are "
            f"{', '.join(params.partitionings)}. Add pCSR."
        )
    return tuple(dict.fromkeys(found))


def _on_cluster(params: ScalingParams, device: DeviceInfo) -> ScalingParams:
    """What of it members of a cluster do; raises ParameterError where that is nothing."""
    works = tuple(work for work in params.workload if work in CLUSTER_WORKS)
    if not works or "pCSR" not in params.partitionings or "sparsight" not in params.kernel_library:
        raise ParameterError(
            f"{device.id} measures {' and '.join(CLUSTER_WORKS)}, cut as pCSR, with Sparsight kernels. "
            "Choose one of these workloads, pCSR and sparsight."
        )
    return dataclasses.replace(params, workload=works, partitionings=("pCSR",), kernel_library=("sparsight",))


def _placement(strategy: Strategy, wanted: WantedPlacement) -> Placement | None:
    """What overrides a strategy, if anything does."""
    return None if wanted == "paper" or wanted == strategy.placement else wanted


def _affinity(strategy: Strategy, affinity: Literal["paper", "on", "off"]) -> bool | None:
    """What overrides a strategy, if anything does: without threads for devices none can stay beside them."""
    wanted = affinity == "on"
    return None if affinity == "paper" or not strategy.threads or wanted == strategy.affinity else wanted


def default_devices(device: DeviceInfo) -> tuple[int, ...]:
    """1, 2 and 4 virtual devices, of a cluster as far as it has them; powers of two up to all GPUs, and all of them."""
    if device.backend == "cpu":
        return tuple(count for count in CPU_DEVICES if not device.hosts or count <= sum(device.hosts))
    there = max(device_count(device), 1)
    return tuple(sorted({*(2**i for i in range(there.bit_length())), there}))


def _settings(params: ScalingParams, p: Partitioning, work: WorkloadName, count: int) -> Iterator[Setting]:
    """Of one partitioning, work and number of devices; none where a vector cannot stay on the devices."""
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
                # The baseline is cut by lines anyway.
                balance="rows" if cold_balance == "rows" and count > 1 and strategy.balanced else "nonzeros",
                placement=_placement(strategy, placement) if count > 1 else None,
                affinity=_affinity(strategy, affinity) if count > 1 else None,
                kernel_library=kernels,
            )
    elif work == "pagerank":
        names = RANKS if p.name == "pCSR" else ()
        for name, exchange, overlap in product(names, params.exchange, params.overlap):
            yield Setting(work, p.name, name, count, exchange=exchange, overlap=overlap == "on")
    elif p.axis == "rows" and work == "resident":
        # Whatever is equal, one device has all of it.
        for balance, kernels in product(params.balance if count > 1 else ("nonzeros",), params.kernel_library):
            yield Setting(work, p.name, work, count, balance=balance, kernel_library=kernels)
    elif p.axis == "rows":
        for exchange, overlap, kernels in product(params.exchange, params.overlap, params.kernel_library):
            yield Setting(work, p.name, work, count, exchange=exchange, overlap=overlap == "on", kernel_library=kernels)
