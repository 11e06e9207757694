"""The benchmark of study `scaling`: the paper's strategies, our merges, products that stay on the devices."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.measuring import recorded
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.measure import Bench
from gpu_engine.multigpu.device_group import device_count, open_devices
from gpu_engine.multigpu.numa import on_several_nodes
from gpu_engine.multigpu.partition import PARTITIONINGS
from gpu_engine.multigpu.workload import Setting
from gpu_engine.multigpu.workloads import WORKLOADS
from gpu_engine.records import DeviceInfo, Measurement, Trace
from gpu_engine.sampling import run as sampling
from gpu_engine.studies.scaling import ScalingParams, case_of, settings
from gpu_engine.studies.scaling.experiment import ScalingExperiment, ScalingPlan

PASSES: tuple[dict[str, Any], ...] = (
    {"workload": ("cold",)},
    # On every device we alone merge.
    {"workload": ("cold",), "strategies": ("p*-opt",), "merge": ("device",)},
    {"workload": ("cold",), "strategies": ("p*-opt",), "kernel_library": ("cusparse",)},
    {
        "workload": ("resident", "iterate"),
        "partitionings": ("pCSR",),
        "exchange": ("halo", "all-gather"),
        "kernel_library": ("sparsight", "cusparse"),
    },
)
"""What is measured of a matrix; of those of the paper what the paper measures, and our merge beside it."""

PARTS: dict[str, Any] = {
    "workload": ("resident", "iterate"),
    "partitionings": ("pCSR",),
    "kernel_library": ("sparsight", "cusparse"),
}
"""And of matrices that fill a device, of which few stay there at once."""

NUMA: dict[str, Any] = {
    "workload": ("cold",),
    "strategies": ("p*-opt",),
    "placement": ("paper", "none", "one", "interleaved"),
    "affinity": ("paper", "off"),
}
"""And on hosts whose GPUs hang on several NUMA nodes."""

RANKS: dict[str, Any] = {"workload": ("pagerank",), "partitionings": ("pCSR",), "exchange": ("all-gather",)}
"""And of the skewed one, which is a graph; of graphs of few links alone."""

RATIOS: tuple[dict[str, Any], ...] = (
    {"workload": ("cold",), "strategies": ("p*-opt",), "cold_balance": ("paper", "rows"), "partitionings": ("pCSR",)},
    {"workload": ("resident",), "partitionings": ("pCSR",)},
)
"""What is measured of rows of two lengths: equal rows and equal nonzeros, all else alike."""


def measure(
    subjects: Sequence[Subject], matrix_cache: MatrixCache, bench: Bench, rounds: int, say: Callable[[str], None]
) -> Iterator[Measurement | Trace]:
    """The measurements of one matrix after the other."""
    with open_devices(bench.device, device_count(bench.device)) as devices:
        several = on_several_nodes(devices)
    for subject in subjects:
        say(f"measuring {subject.name}")
        chosen = chosen_settings(passes(subject, rounds, several), bench.device)
        cases = [case_of(subject.name, setting) for setting in chosen]
        plan = ScalingPlan({case.key: setting for case, setting in zip(cases, chosen, strict=True)}, rounds, nodes=1)
        experiment = ScalingExperiment(plan, cases, matrix_cache.measured(subject), bench)
        yield from recorded(sampling.measure(bench, [experiment]), say)


def chosen_settings(found: Iterable[ScalingParams], device: DeviceInfo) -> Sequence[Setting]:
    """Those of all passes, each once; of one partitioning and work in turn, for their matrix is sorted once for all."""
    order = [partitioning.name for partitioning in PARTITIONINGS], list(WORKLOADS)
    chosen = dict.fromkeys(setting for params in found for setting in settings(params, device))
    return sorted(chosen, key=lambda s: (order[0].index(s.partitioning), order[1].index(s.workload)))


def passes(subject: Subject, rounds: int, several_nodes: bool = False) -> Iterator[ScalingParams]:
    """What is measured of a matrix, on all numbers of devices."""
    chosen = {
        "shared ratio": RATIOS,
        "shared paper": PASSES[:2],
        "shared skewed": (*PASSES, RANKS),
        "shared parts": (PARTS,),
        "shared links": (RANKS,),
    }.get(subject.group, PASSES)
    numa = [NUMA] if several_nodes and subject.group in ("shared", "shared skewed", "shared paper") else []
    for fields in (*chosen, *numa):
        yield ScalingParams(rounds=rounds, sampling="fixed", **fields)
