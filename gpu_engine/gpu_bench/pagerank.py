"""Benchmark of the study `pagerank`: every kernel on every graph, then further precision schedules."""

from collections.abc import Iterator

from gpu_engine.competitors.cugraph import peer_names
from gpu_engine.findings.pagerank.conclusions import PAPERS
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.pagerank.kernels import kernels_on
from gpu_engine.studies.pagerank import PagerankParams

EVEN = ("delaunay", "rgg", "road", "stencil", "fem")
"""Generators whose graphs have pages with similar numbers of links.

On other graphs kernels with one thread per page are slow, so that they run only in two precisions.
"""

ENERGY_S = 0.3
"""Seconds of repeated runs for the energy, which is the difference with and without the preparation of a run."""

FEW = ("fp64", "cpms2")


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[PagerankParams]:
    """Yield the parameters for a graph: every kernel with the schedule of the paper, and other schedules.

    The first also have values that stay in segments, and cuGraph; the others measure only time. Graphs of the paper get
    the measurements of the paper.
    """
    fixed = {"rounds": rounds, "sampling": "fixed", "energy": "all", "energy_s": ENERGY_S}
    if subject.group == "paper graph":
        yield PagerankParams(kernels=PAPERS, triangle="lower", **fixed)  # type: ignore[arg-type]
        return
    names = tuple(k.name for k in kernels_on(backend) if not k.single and _is_measured(k.name, subject))
    ends: tuple[str, ...] = ("fp64", "segments") if backend == "cuda" else ("fp64",)
    yield PagerankParams(kernels=(*names, *peer_names(backend)), final_storage=ends, **fixed)  # type: ignore[arg-type]
    best = "split/tile" if backend == "cuda" else "csr/thread"
    four, both = (f"{best}+cpms4",), (f"{best}+cpms2", f"{best}+cpms4")
    others = {"rounds": rounds, "sampling": "fixed", "energy": "all", "energy_s": 0.0, "final_storage": ends[-1:]}
    yield PagerankParams(kernels=four, start_segments=(2,), **others)  # type: ignore[arg-type]
    yield PagerankParams(kernels=both, raise_at=(1.0, 256.0), **others)  # type: ignore[arg-type]


def _is_measured(kernel: str, subject: Subject) -> bool:
    """Return whether a run is short enough; one thread per page takes long if a page has many links."""
    layout, _, precision = kernel.partition("+")
    return not layout.endswith("/thread") or subject.source.get("generator") in EVEN or precision in FEW
