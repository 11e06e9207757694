"""Benchmark of the study `batched`: the experiments of the paper, and random matrices against cuSPARSE."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from gpu_engine.gpu_bench.batch_matrices import is_similar
from gpu_engine.gpu_bench.benchmark_matrices import Group, Subject
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.measuring import measure_passes
from gpu_engine.measure import Bench
from gpu_engine.records import Measurement, Trace
from gpu_engine.studies.batched import BatchedParams, BatchedStudy, chosen_kernels

ENERGY_S = 0.4
"""Seconds of repeated SpMVs for the energy: the counter of an H200 is updated about every 20 to 100 ms."""

MEDIUM, LARGE = 1000, 10_000
"""Batch sizes of the paper."""

OPERATIONS = ("y = Ax + y", "y = Ax")
WARM = {"caches": ("warm",)}

PASSES: dict[Group, tuple[dict[str, Any], ...]] = {
    "batch random": tuple(
        {"batches": batches, "operation": o} for o in OPERATIONS for batches in ((MEDIUM,), (LARGE,))
    ),
    "batch balanced": ({"batches": (MEDIUM,)} | WARM,),
    "batch few rows": ({"batches": (MEDIUM,)} | WARM,),
    "batch paper": ({"batches": (LARGE,)} | WARM,),
}
"""Parameters per group of matrices: the figures of the paper in one cache state; launch loops up to 1,000 items."""

GROWING = (10, 100, MEDIUM, LARGE)
"""Batch sizes of Figure 3."""


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[BatchedParams]:
    """Yield the parameters of uniform batches of a matrix, as in its figure of the paper."""
    for fields in PASSES[subject.group]:
        chosen = fields | ({"batches": GROWING} if is_similar(subject.name) else {})
        kernels = (
            ()
            if subject.group == "batch random" and chosen["batches"] == (MEDIUM,)
            else kernels_without_deduplication(backend)
        )
        for batches in _with_energy_last(chosen["batches"]):
            yield BatchedParams(
                kernels=kernels,
                compose=("uniform",),
                rounds=rounds,
                sampling="fixed",
                energy="all",
                **chosen | batches,
            )


def _with_energy_last(sizes: Iterable[int]) -> Iterator[dict[str, Any]]:
    """Yield batch sizes and the seconds of the energy measurement: only LARGE, whose energy pages show, has one."""
    for energy_s, chosen in ((0.0, tuple(size for size in sizes if size != LARGE)), (ENERGY_S, (LARGE,))):
        if set(chosen) & set(sizes):
            yield {"batches": chosen, "energy_s": energy_s}


def kernels_without_deduplication(backend: str) -> tuple[str, ...]:
    """Return the kernels without deduplication, because the others would multiply copies as one matrix."""
    return tuple(name for name in chosen_kernels(BatchedParams(), backend) if not name.endswith("/shared"))


def measure_mixed(
    subjects: Sequence[Subject], matrix_cache: MatrixCache, bench: Bench, rounds: int, say: Callable[[str], None]
) -> Iterator[Measurement | Trace]:
    """Yield the measurements of Figures 6 and 7: mixed batches of the paper's matrices of similar size, and of all."""
    kernels = kernels_without_deduplication(bench.device.backend)
    passes = [
        BatchedParams(kernels, compose=("mixed",), rounds=rounds, sampling="fixed", energy="all", **batches)
        for batches in _with_energy_last((MEDIUM, LARGE))
    ]
    for members in mixtures(subjects):
        yield from measure_passes(BatchedStudy(), passes, members, matrix_cache, bench, say)


def mixtures(subjects: Sequence[Subject]) -> list[list[Subject]]:
    """Return the matrices of each mixed batch: those of similar size, and all if there are others; at least two."""
    paper = [subject for subject in subjects if subject.group == "batch paper"]
    similar = [subject for subject in paper if is_similar(subject.name)]
    return [members for members in (similar, paper if similar != paper else []) if len(members) > 1]
