"""Benchmark of the study `formats`: every kernel on every matrix, original and reordered."""

from collections.abc import Iterator

from gpu_engine.competitors import BEST, competitor_names
from gpu_engine.formats import FORMATS, kernel_names
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.studies.formats import FormatsParams

FAST = ("split/tile", "coo/segmented", "csri/warp", "sellp/t1", "sellp/t2")
"""Kernels measured with the compressed ones if all values are 1, and on reordered matrices."""


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[FormatsParams]:
    """Yield the parameters for a matrix: original order, then each reordering, without energy."""
    few = tuple(name for name in (*_compressed(backend), *FAST) if name in kernel_names(backend))
    rivals = (*competitor_names(backend), BEST) if competitor_names(backend) else ()
    yield FormatsParams(
        (*few, *rivals) if subject.group == "pattern" else (), rounds=rounds, sampling="fixed", energy_s=0.0
    )
    for order in subject.orders:
        yield FormatsParams((*few, *rivals), rounds=rounds, sampling="fixed", energy_s=0.0, reorder=order)  # type: ignore[arg-type]


def _compressed(backend: str) -> Iterator[str]:
    return (name for f in FORMATS if f.compressed for name, _ in f.kernels_on(backend))
