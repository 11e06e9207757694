"""Benchmark of the study `pagerank`: the kernels of the paper on every graph, and the others where a run is short."""

from collections.abc import Iterator
from typing import Any

from gpu_engine.competitors.cugraph import peer_names
from gpu_engine.findings.pagerank.conclusions import PAPERS
from gpu_engine.findings.pagerank.runs import UNFUSED
from gpu_engine.gpu_bench.benchmark_matrices import STAND_IN, Subject
from gpu_engine.pagerank.kernels import kernels_on
from gpu_engine.studies.pagerank import PagerankParams
from gpu_engine.studies.pagerank.graph_runs import REFERENCES

EVEN = ("delaunay", "rgg", "road", "mesh", "stencil", "fem")
"""Generators whose graphs have pages with similar numbers of links; on others one thread per page is slow."""

SLOWEST = ("web10m, links", "wb-edu")
"""Graphs on which a run with one thread per page takes more than a second: only kernels of the paper have one there."""

SLOW_ROUNDS = 9
"""Most rounds of an uneven graph, as many as a verdict needs."""

ENERGY_S = 0.3
"""Seconds of repeated runs for the energy, which is the difference with and without the preparation of a run."""

UNFUSED_KERNELS = tuple(kernel for kernel in PAPERS if f"+{UNFUSED}" in kernel)
"""Kernels that the paper has: one kernel per step of an iteration."""

FEW = {
    "cuda": ("csr/thread+fp64", "csr/vector+fp64"),
    "cpu": ("csr/thread+fp64", "csr/thread+cpms2", "ell/thread+fp64", "ell/thread+cpms2"),
}
"""Fused kernels in CSR and ELLPACK that run on uneven graphs, by backend; on a GPU one and several threads per page."""

CONTROL = REFERENCES[0]
"""Control kernel, which runs twice per round and is fast on every graph."""

FASTEST_LAYOUTS = {"cuda": ("sellp/thread", "split/tile"), "cpu": ("csr/thread",)}
"""Layouts that are the fastest on some graph, by backend."""


def passes(subject: Subject, backend: str, rounds: int) -> Iterator[PagerankParams]:
    """Yield the parameters for a graph: kernels with the schedule of the paper, then other schedules.

    The first pass of a GPU also has cuGraph. The others measure values that stay in segments, and only time. Graphs of
    the paper get the measurements of the paper.
    """
    fixed: dict[str, Any] = {"rounds": rounds, "sampling": "fixed", "energy_s": ENERGY_S}
    if not is_even(subject):
        fixed["rounds"] = min(rounds, SLOW_ROUNDS)
    if subject.group == "paper graph":
        yield PagerankParams(kernels=papers_kernels(subject), triangle="lower", energy="all", **fixed)
        return
    names = tuple(k.name for k in kernels_on(backend) if not k.single and _is_measured(k.name, subject, backend))
    yield PagerankParams(kernels=(*names, *peer_names(backend)), energy="fastest", **fixed)
    others = fixed | {"energy_s": 0.0}
    if backend == "cuda":
        stay = tuple(k.name for k in kernels_on(backend) if k.segments and not k.free and _is_fast(k.name, subject))
        yield PagerankParams(kernels=stay, final_storage=("segments",), **others)
        others["final_storage"] = ("segments",)
    best = FASTEST_LAYOUTS[backend][-1]
    yield PagerankParams(kernels=(f"{best}+cpms4",), start_segments=(2,), **others)
    yield PagerankParams(kernels=(f"{best}+cpms2", f"{best}+cpms4"), raise_at=(1.0, 256.0), **others)


def is_even(subject: Subject) -> bool:
    """Return whether the pages of a benchmark graph, or of its stand-in, have similar numbers of links."""
    return (subject.stand_in or subject.source).get("generator") in EVEN


def papers_kernels(subject: Subject) -> tuple[str, ...]:
    """Return the kernels for a graph of the paper: its own, few fused ones, and a fast one as the control kernel."""
    if is_even(subject):
        return (CONTROL, *PAPERS, FEW["cuda"][-1])
    few = () if subject.name.removesuffix(STAND_IN) in SLOWEST else FEW["cuda"]
    return (CONTROL, *few, *UNFUSED_KERNELS)


def _is_fast(kernel: str, subject: Subject) -> bool:
    """Return whether a kernel has one of the fastest layouts for a graph."""
    layout = kernel.partition("+")[0]
    return layout in FASTEST_LAYOUTS["cuda"] and (is_even(subject) or not layout.endswith("/thread"))


def _is_measured(kernel: str, subject: Subject, backend: str) -> bool:
    """Return whether a kernel runs on a graph: on uneven ones few with one thread per page, short exponents if fast."""
    layout, _, storage = kernel.partition("+")
    if "short" in storage and layout not in FASTEST_LAYOUTS[backend]:
        return False
    if is_even(subject) or kernel in UNFUSED_KERNELS or layout == "split/tile":
        return True
    return kernel in FEW[backend] and subject.name not in SLOWEST
