"""Compiling ahead of the first launch: what is compiled of sources, how often, and how many at a time."""

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from gpu_engine.cuda import precompile
from gpu_engine.cuda.compiler import Compilation, Compiled
from gpu_engine.cuda.kernel_cache import KernelCache
from gpu_engine.cuda.load import CudaSource
from gpu_engine.cuda.precompile import CompileOutcome, compile_ahead, compile_here, missing_here
from gpu_engine.custom_kernels.adapters import GivenSource
from gpu_engine.errors import KernelError
from gpu_engine.formats import coo, ell, ellr

SOURCES = (coo.SOURCE, ell.SOURCE, ellr.SOURCE)
WRONG = CudaSource("gpu_engine.formats", "coo.cu", ("no_such_kernel",))
GIVEN = GivenSource("", "mine.cu", ("spmv",), "#include <cuda_fp16.h>")


class Compiler:
    """In place of NVRTC; it knows no kernel of the name `no_such_kernel`."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, ...]] = []

    def __call__(self, compilation: Compilation) -> Compiled:
        self.asked.append(compilation.instantiations)
        if "no_such_kernel" in compilation.instantiations:
            raise KernelError("the log")
        return Compiled(b"code", dict.fromkeys(compilation.instantiations, "_Z"))


@pytest.fixture
def compiler() -> Compiler:
    return Compiler()


@pytest.fixture
def cache(tmp_path: Path, compiler: Compiler) -> KernelCache:
    return KernelCache(tmp_path, (), compiler)


def told(sources: Sequence[CudaSource], archs: Sequence[str], cache: KernelCache) -> set[CompileOutcome]:
    return set(compile_ahead(sources, archs, cache, jobs=2))


def test_each_source_is_compiled_once_for_each_architecture(cache: KernelCache, compiler: Compiler) -> None:
    archs = ("sm_80", "sm_90")
    assert told((*SOURCES, *SOURCES), archs, cache) == {
        CompileOutcome(s, a, "compiled") for s in SOURCES for a in archs
    }
    assert sorted(compiler.asked) == sorted([s.instantiations for s in SOURCES] * 2)
    assert told(SOURCES, archs, cache) == {CompileOutcome(s, a, "there") for s in SOURCES for a in archs}
    assert len(compiler.asked) == 6


def test_what_does_not_compile_is_told_with_its_log_and_keeps_nothing_else_up(cache: KernelCache) -> None:
    found = told((WRONG, *SOURCES), ("sm_90",), cache)
    assert found == {
        CompileOutcome(WRONG, "sm_90", "failed", "the log"),
        *(CompileOutcome(s, "sm_90", "compiled") for s in SOURCES),
    }


def test_what_includes_headers_of_its_own_is_left_to_cupy(cache: KernelCache, compiler: Compiler) -> None:
    assert told((GIVEN,), ("sm_90",), cache) == set()
    assert compiler.asked == []


def test_as_many_are_compiled_at_a_time_as_there_are_jobs(tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=60)

    def compile_text(compilation: Compilation) -> Compiled:
        # Less than three at a time would wait here for ever.
        together.wait()
        return Compiled(b"code", dict.fromkeys(compilation.instantiations, "_Z"))

    found = list(compile_ahead(SOURCES, ("sm_90",), KernelCache(tmp_path, (), compile_text), jobs=3))
    assert [each.state for each in found] == ["compiled"] * 3


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, cache: KernelCache) -> KernelCache:
    """The cache, on a device for which it has the code of one source."""
    monkeypatch.setattr(precompile, "current_architecture", lambda: "sm_90")
    monkeypatch.setattr(precompile, "kernel_cache", lambda: cache)
    cache.get(coo.SOURCE.compilation("sm_90"))
    return cache


def test_what_is_missing_here_is_what_the_cache_lacks(here: KernelCache) -> None:
    assert missing_here((ell.SOURCE, coo.SOURCE, GIVEN, ell.SOURCE, ellr.SOURCE)) == (ell.SOURCE, ellr.SOURCE)
    compile_here((ell.SOURCE, WRONG))
    assert missing_here(SOURCES) == (ellr.SOURCE,)
