"""Precompiles many CUDA sources in parallel, on all cores."""

import os
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Literal

from gpu_engine.cuda.kernel_cache import KernelCache, kernel_cache
from gpu_engine.cuda.load import CudaSource, current_architecture
from gpu_engine.errors import KernelError


@dataclass(frozen=True, slots=True)
class CompileOutcome:
    """Outcome of the precompilation of a CUDA source.

    state  `there`: already in the cache; `compiled`: compiled now; `failed`: see `reason`, which has the compiler's log
    """

    source: CudaSource
    arch: str
    state: Literal["there", "compiled", "failed"]
    reason: str = ""


def compile_ahead(
    sources: Collection[CudaSource], archs: Collection[str], cache: KernelCache, jobs: int | None = None
) -> Iterator[CompileOutcome]:
    """Compile the sources that the cache lacks for each architecture, and yield each outcome as it is done.

    jobs  number of parallel compilations; None: one per core of this process

    The threads end with the process. CuPy compiles sources with other headers at their first use.
    """
    # The longest compilations start first, by number of kernels; a long one at the end would run alone.
    pending = sorted({s for s in sources if not s.includes}, key=lambda s: -len(s.instantiations))
    with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as threads:
        futures = [threads.submit(_compiled, source, arch, cache) for source in pending for arch in archs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            threads.shutdown(cancel_futures=True)


def missing_here(sources: Collection[CudaSource]) -> tuple[CudaSource, ...]:
    """Return the sources that the cache lacks for this device; raises KernelError if NVRTC does not support it."""
    arch, cache = current_architecture(), kernel_cache()
    return tuple(s for s in dict.fromkeys(sources) if not s.includes and cache.find(s.compilation(arch)) is None)


def compile_here(sources: Collection[CudaSource]) -> None:
    """Compile sources for the current device; compile errors are raised when a source is used."""
    for _ in compile_ahead(sources, (current_architecture(),), kernel_cache()):
        pass


def _compiled(source: CudaSource, arch: str, cache: KernelCache) -> CompileOutcome:
    compilation = source.compilation(arch)
    if cache.find(compilation) is not None:
        return CompileOutcome(source, arch, "there")
    try:
        cache.get(compilation)
    except KernelError as error:
        return CompileOutcome(source, arch, "failed", error.message)
    return CompileOutcome(source, arch, "compiled")
