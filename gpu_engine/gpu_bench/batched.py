"""The benchmark of study `batched`: the paper's experiments, and random matrices against the floor and cuSPARSE."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from gpu_engine.gpu_bench.batch_subjects import is_similar
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.gpu_bench.measuring import ENERGY_S, measure_passes
from gpu_engine.gpu_bench.subjects import Group, Subject
from gpu_engine.measure import Bench
from gpu_engine.records import Measurement, Trace
from gpu_engine.studies.batched import BatchedParams, BatchedStudy, chosen_kernels

MEDIUM, LARGE = 1000, 10_000
"""Problems of the paper's batches."""

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
"""What is measured of each group, the paper's figures in one cache state; loops over problems take part up to 1,000."""

GROWING = (10, 100, MEDIUM, LARGE)
"""Batches of Figure 3."""


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[BatchedParams]:
    """Batches of copies of a subject: those of the figure or the target that it stands for."""
    for fields in PASSES[subject.group]:
        chosen = fields | ({"batches": GROWING} if is_similar(subject.name) else {})
        kernels = () if subject.group == "batch random" and chosen["batches"] == (MEDIUM,) else apart(backend)
        yield BatchedParams(
            kernels=kernels,
            compose=("uniform",),
            rounds=rounds,
            sampling="fixed",
            energy_s=ENERGY_S,
            energy="all",
            **chosen,
        )


def apart(backend: str) -> tuple[str, ...]:
    """The kernels that see no problem in the light of another: those that do would multiply copies as one matrix."""
    return tuple(name for name in chosen_kernels(BatchedParams(), backend) if not name.endswith("/shared"))


def measure_mixed(
    subjects: Sequence[Subject], matrix_cache: MatrixCache, bench: Bench, rounds: int, say: Callable[[str], None]
) -> Iterator[Measurement | Trace]:
    """The measurements of Figures 6 and 7: mixed batches of the paper's matrices of similar order, and of all."""
    kernels = apart(bench.device.backend)
    params = BatchedParams(
        kernels, (MEDIUM, LARGE), ("mixed",), rounds=rounds, sampling="fixed", energy_s=ENERGY_S, energy="all"
    )
    for members in mixtures(subjects):
        yield from measure_passes(BatchedStudy(), [params], members, matrix_cache, bench, say)


def mixtures(subjects: Sequence[Subject]) -> list[list[Subject]]:
    """The matrices of each mixed batch: those of similar order, and all, where these are others; two or more each."""
    paper = [subject for subject in subjects if subject.group == "batch paper"]
    similar = [subject for subject in paper if is_similar(subject.name)]
    return [members for members in (similar, paper if similar != paper else []) if len(members) > 1]
