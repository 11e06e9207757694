"""The benchmark of study `pagerank`: every kernel on every graph, then schedules that the paper did not try."""

from collections.abc import Iterator

from gpu_engine.competitors.cugraph import peer_names
from gpu_engine.findings.pagerank.conclusions import PAPERS
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.pagerank.kernels import kernels_on
from gpu_engine.studies.pagerank import PagerankParams

EVEN = ("delaunay", "rgg", "road", "stencil", "fem")
"""Families in which no page has many more links than others. Elsewhere one thread a page waits for the links of a
popular page: it runs in two precisions there, no more.
"""

ENERGY_S = 0.3
"""Seconds of repeats for the energy of a run: it is the difference of two, with what goes before a run and without."""

FEW = ("fp64", "cpms2")


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[PagerankParams]:
    """Every kernel with the paper's schedule and with values that stay in segments, cuGraph; then other schedules, in
    time alone. Of the paper's graphs what the paper measures.
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
    """Whether a run is short enough: one thread a page takes long where a page has many links."""
    layout, _, precision = kernel.partition("+")
    return not layout.endswith("/thread") or subject.source.get("generator") in EVEN or precision in FEW
