"""Compiling ahead of use: many sources at once, on all cores."""

import os
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Literal

from gpu_engine.cuda.kernel_cache import KernelCache, kernel_cache
from gpu_engine.cuda.load import CudaSource, current_architecture
from gpu_engine.errors import KernelError


@dataclass(frozen=True, slots=True)
class Ahead:
    """What became of a source.

    state  `there` before, `compiled` now, or `failed` for a reason, which has the compiler's log
    """

    source: CudaSource
    arch: str
    state: Literal["there", "compiled", "failed"]
    reason: str = ""


def compile_ahead(
    sources: Collection[CudaSource], archs: Collection[str], cache: KernelCache, jobs: int | None = None
) -> Iterator[Ahead]:
    """Compiles for each architecture what the cache lacks, and tells of each source once it is done.

    jobs  so many at a time; None: one on each core of this process

    Its threads end with the process. What includes headers of its own is left to CuPy.
    """
    # The longest first, as far as the number of kernels tells: one that begins last would end alone.
    wanted = sorted({s for s in sources if not s.includes}, key=lambda s: -len(s.instantiations))
    with ThreadPoolExecutor(jobs or len(os.sched_getaffinity(0))) as threads:
        futures = [threads.submit(_compiled, source, arch, cache) for source in wanted for arch in archs]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            threads.shutdown(cancel_futures=True)


def missing_here(sources: Collection[CudaSource]) -> tuple[CudaSource, ...]:
    """What the cache lacks of them for the current device; raises KernelError where the compiler does not know it."""
    arch, cache = current_architecture(), kernel_cache()
    return tuple(s for s in dict.fromkeys(sources) if not s.includes and cache.find(s.compilation(arch)) is None)


def compile_here(sources: Collection[CudaSource]) -> None:
    """Compiles sources for the current device; whoever uses one that does not compile is told why."""
    for _ in compile_ahead(sources, (current_architecture(),), kernel_cache()):
        pass


def _compiled(source: CudaSource, arch: str, cache: KernelCache) -> Ahead:
    compilation = source.compilation(arch)
    if cache.find(compilation) is not None:
        return Ahead(source, arch, "there")
    try:
        cache.get(compilation)
    except KernelError as error:
        return Ahead(source, arch, "failed", error.message)
    return Ahead(source, arch, "compiled")
