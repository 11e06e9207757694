"""Benchmark of the study `scaling`: the strategies of the paper, further merges, and resident workloads."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.measuring import recorded
from gpu_engine.gpu_bench.multigpu_matrices import weak_divisor
from gpu_engine.measure import Bench
from gpu_engine.multigpu.device_group import device_count, open_devices
from gpu_engine.multigpu.from_host.strategies import PAPER_STRATEGIES
from gpu_engine.multigpu.numa import on_several_nodes
from gpu_engine.multigpu.partition import PARTITIONINGS
from gpu_engine.multigpu.workload import Setting
from gpu_engine.multigpu.workloads import WORKLOADS
from gpu_engine.records import DeviceInfo, Measurement, Trace
from gpu_engine.sampling import run as sampling
from gpu_engine.studies.scaling import ScalingParams, case_of, settings
from gpu_engine.studies.scaling.experiment import ScalingExperiment, ScalingPlan

STAYING: dict[str, Any] = {
    "workload": ("resident", "iterate"),
    "partitionings": ("pCSR",),
    "kernel_library": ("sparsight", "cusparse"),
}
"""Parameters of matrices that stay on the devices: strong scaling."""

WEAK: dict[str, Any] = {"workload": ("resident", "iterate"), "partitionings": ("pCSR",), "overlap": ("on",)}
"""Parameters of the smaller matrices of weak scaling, each of which is compared with a larger one of its kind."""

PASSES: tuple[dict[str, Any], ...] = (
    {"workload": ("cold",)},
    # The merge on every device is not in the paper.
    {"workload": ("cold",), "strategies": ("p*-opt",), "merge": ("device",)},
    {"workload": ("cold",), "strategies": ("p*-opt",), "kernel_library": ("cusparse",)},
    STAYING,
    {"workload": ("iterate",), "partitionings": ("pCSR",), "exchange": ("all-gather",)},
)
"""Parameters for a matrix that is not in the paper."""

PAPER: tuple[dict[str, Any], ...] = (
    {"workload": ("cold",), "strategies": tuple(strategy.name for strategy in PAPER_STRATEGIES)},
    {"workload": ("cold",), "strategies": ("p*-opt",), "partitionings": ("pCSC",), "merge": ("device",)},
)
"""Parameters for a matrix of the paper: its strategies with its merges, and our merge of columns on every device."""

NUMA: dict[str, Any] = {
    "workload": ("cold",),
    "strategies": ("p*-opt",),
    "placement": ("paper", "none", "one", "interleaved"),
    "affinity": ("paper", "off"),
}
"""Further parameters on hosts whose GPUs belong to several NUMA nodes."""

RANKS: dict[str, Any] = {"workload": ("pagerank",), "partitionings": ("pCSR",), "exchange": ("all-gather",)}
"""Further parameters for the skewed matrix, which is a graph, and the only ones for graphs with few links."""

SOLVES: dict[str, Any] = {"workload": ("solve",), "partitionings": ("pCSR",)}
"""Parameters for systems that CG solves."""

RATIOS: dict[str, Any] = {"workload": ("resident",), "partitionings": ("pCSR",)}
"""Parameters for matrices with two row lengths: equal rows against equal nonzeros, as in Figure 6 of the paper."""


def measure(
    subjects: Sequence[Subject], matrix_cache: MatrixCache, bench: Bench, rounds: int, say: Callable[[str], None]
) -> Iterator[Measurement | Trace]:
    """Yield the measurements, matrix by matrix."""
    count = device_count(bench.device)
    with open_devices(bench.device, count) as devices:
        several = on_several_nodes(devices)
    # Weak scaling compares one device with as many as the larger matrix has more rows.
    for subject in (each for each in subjects if weak_divisor(each) <= count):
        say(f"measuring {subject.name}")
        chosen = chosen_settings(passes(subject, rounds, several), bench.device)
        cases = [case_of(subject.name, setting) for setting in chosen]
        plan = ScalingPlan({case.key: setting for case, setting in zip(cases, chosen, strict=True)}, rounds, nodes=1)
        experiment = ScalingExperiment(plan, cases, matrix_cache.measured(subject), bench)
        yield from recorded(sampling.measure(bench, [experiment]), say)


def chosen_settings(parameters: Iterable[ScalingParams], device: DeviceInfo) -> Sequence[Setting]:
    """Return the settings of all passes, each once, grouped by partitioning and workload to sort the matrix once."""
    order = [partitioning.name for partitioning in PARTITIONINGS], list(WORKLOADS)
    chosen = dict.fromkeys(setting for params in parameters for setting in settings(params, device))
    return sorted(chosen, key=lambda s: (order[0].index(s.partitioning), order[1].index(s.workload)))


def passes(subject: Subject, rounds: int, several_nodes: bool = False) -> Iterator[ScalingParams]:
    """Yield the parameters for a matrix, on all numbers of devices."""
    chosen = {
        "shared ratio": (RATIOS,),
        "shared paper": PAPER,
        "shared skewed": (*PASSES, RANKS),
        "shared parts": (WEAK if weak_divisor(subject) > 1 else STAYING,),
        "shared links": (RANKS,),
        "shared systems": (SOLVES,),
    }.get(subject.group, PASSES)
    numa = [NUMA] if several_nodes and subject.group in ("shared", "shared skewed", "shared paper") else []
    for fields in (*chosen, *numa):
        yield ScalingParams(rounds=rounds, sampling="fixed", **fields)
