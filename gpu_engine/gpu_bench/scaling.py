"""The benchmark of study `scaling`: the paper's strategies, our merges, products that stay on the devices."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.measuring import measure_passes
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.measure import Bench
from gpu_engine.multigpu.device_group import device_count, open_devices
from gpu_engine.multigpu.numa import on_several_nodes
from gpu_engine.records import Measurement, Trace
from gpu_engine.studies.scaling import ScalingParams, ScalingStudy

PASSES: tuple[dict[str, Any], ...] = (
    {"work": ("cold",)},
    # On every device we alone merge.
    {"work": ("cold",), "strategies": ("p*-opt",), "merge": ("device",)},
    {"work": ("cold",), "strategies": ("p*-opt",), "product": ("cusparse",)},
    {
        "work": ("resident", "iterate"),
        "partitionings": ("pCSR",),
        "exchange": ("image", "all-gather"),
        "product": ("ours", "cusparse"),
    },
)
"""What is measured of a matrix; of those of the paper what the paper measures, and our merge beside it."""

NUMA: dict[str, Any] = {
    "work": ("cold",),
    "strategies": ("p*-opt",),
    "placement": ("paper", "none", "one", "interleaved"),
    "affinity": ("paper", "off"),
}
"""And on hosts whose GPUs hang on several NUMA nodes."""

RANKS: dict[str, Any] = {"work": ("pagerank",), "partitionings": ("pCSR",), "exchange": ("all-gather",)}
"""And of the skewed one, which is a graph; of graphs of few links alone."""

RATIOS: tuple[dict[str, Any], ...] = (
    {"work": ("cold",), "strategies": ("p*-opt",), "cold_cut": ("paper", "lines"), "partitionings": ("pCSR",)},
    {"work": ("resident",), "partitionings": ("pCSR",)},
)
"""What is measured of rows of two lengths: equal rows and equal nonzeros, all else alike."""


def measure(
    subjects: Sequence[Subject], matrix_cache: MatrixCache, bench: Bench, rounds: int, say: Callable[[str], None]
) -> Iterator[Measurement | Trace]:
    """The measurements of one matrix after the other."""
    with open_devices(bench.device, device_count(bench.device)) as devices:
        several = on_several_nodes(devices)
    for subject in subjects:
        yield from measure_passes(ScalingStudy(), passes(subject, rounds, several), [subject], matrix_cache, bench, say)


def passes(subject: Subject, rounds: int, several_nodes: bool = False) -> Iterator[ScalingParams]:
    """What is measured of a matrix, on all numbers of devices."""
    chosen = {
        "shared ratio": RATIOS,
        "shared paper": PASSES[:2],
        "shared skewed": (*PASSES, RANKS),
        "shared parts": PASSES[-1:],
        "shared links": (RANKS,),
    }.get(subject.group, PASSES)
    numa = [NUMA] if several_nodes and subject.group in ("shared", "shared skewed", "shared paper") else []
    for fields in (*chosen, *numa):
        yield ScalingParams(rounds=rounds, sampling="full", **fields)
