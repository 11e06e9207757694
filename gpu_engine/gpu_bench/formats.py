"""The benchmark of study `formats`: every kernel on every subject, in its own order and in new ones."""

from collections.abc import Iterator

from gpu_engine.competitors import BEST, competitor_names
from gpu_engine.formats import FORMATS, kernel_names
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.studies.formats import FormatsParams

FAST = ("split/tile", "coo/segmented", "csri/warp", "sellp/t1", "sellp/t2")
"""What is measured beside the compressed kernels where all values are 1, and in a new order."""


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[FormatsParams]:
    """What is measured on a subject: in its own order, then in each new one. Energy is left to the study itself."""
    few = tuple(name for name in (*_compressed(backend), *FAST) if name in kernel_names(backend))
    rivals = (*competitor_names(backend), BEST) if competitor_names(backend) else ()
    yield FormatsParams(
        (*few, *rivals) if subject.group == "pattern" else (), rounds=rounds, sampling="fixed", energy_s=0.0
    )
    for order in subject.orders:
        yield FormatsParams((*few, *rivals), rounds=rounds, sampling="fixed", energy_s=0.0, reorder=order)  # type: ignore[arg-type]


def _compressed(backend: str) -> Iterator[str]:
    return (name for f in FORMATS if f.compressed for name, _ in f.kernels_on(backend))
