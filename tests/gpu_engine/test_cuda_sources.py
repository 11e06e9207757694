"""Every instantiation of every CUDA source compiles for the GPUs in use, without spilling registers; no GPU needed.

Always for the newest; for the others, which has hardly ever another result, where a source has changed.
"""

import re
from collections.abc import Iterable, Iterator
from importlib import resources
from pathlib import Path

import pytest
from cupy.cuda import nvrtc

import gpu_engine
from gpu_engine.cuda.compiler import OPTIONS
from gpu_engine.cuda.load import CudaSource
from gpu_engine.kernel_sources import kernel_sources
from tests.gpu_engine.cpms import kernels


def whole_files(sources: Iterable[CudaSource]) -> Iterator[CudaSource]:
    """All that is compiled of a file, in one go: that is sooner than as often as it is compiled in use."""
    names: dict[tuple[str, str], dict[str, None]] = {}
    for source in sources:
        names.setdefault((source.file, source.package), {}).update(dict.fromkeys(source.instantiations))
    for file, package in sorted(names):
        yield CudaSource(package, file, tuple(names[file, package]))


SOURCES = tuple(whole_files((*kernel_sources(), kernels.SOURCE)))
SOURCES_CHANGED = pytest.mark.full(
    *(
        "*.cu",
        "*.cuh",
        "gpu_engine/cuda/*",
        "gpu_engine/kernel_sources.py",
        "gpu_engine/formats/*",
        "gpu_engine/spmm/*",
        "gpu_engine/batched/*",
        "gpu_engine/pagerank/cuda*",
        "gpu_engine/pagerank/unfused*",
        "gpu_engine/pagerank/refine*",
        "gpu_engine/pagerank/converge*",
        "gpu_engine/pagerank/raise*",
        "gpu_engine/pagerank/between*",
        "gpu_engine/pagerank/seeded_cuda*",
        "gpu_engine/pagerank/*products*",
    ),
    *("gpu_engine/multigpu/cuda*", "tests/gpu_engine/test_cuda_sources.py"),
)
ARCHS = [pytest.param(arch, marks=SOURCES_CHANGED) for arch in ("sm_80", "sm_90", "sm_100")]
SPILL = re.compile(r"(\d+) bytes spill (?:stores|loads)")


def compile_log(source: CudaSource, arch: str) -> str:
    program = nvrtc.createProgram(source.text, source.file, (), ())
    try:
        for name in source.instantiations:
            nvrtc.addNameExpression(program, name)
        nvrtc.compileProgram(program, (*OPTIONS, f"-arch={arch}", "--ptxas-options=-v"))
        for name in source.instantiations:
            assert nvrtc.getLoweredName(program, name)
        return str(nvrtc.getProgramLog(program))
    except nvrtc.NVRTCError:
        pytest.fail(str(nvrtc.getProgramLog(program)))
    finally:
        nvrtc.destroyProgram(program)


SPILLS_MAX = {"solve.cu": 104}
"""Bytes that a kernel may spill: a block that solves a system divides scalars once per iteration, by a subroutine."""


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("source", SOURCES, ids=lambda s: f"{s.package}/{s.file}".removeprefix("gpu_engine."))
def test_compiles_without_spills(source: CudaSource, arch: str) -> None:
    log = compile_log(source, arch)
    spills = [int(count) for count in SPILL.findall(log)]
    assert len(spills) == 2 * len(source.instantiations), log
    assert max(spills) <= SPILLS_MAX.get(source.file, 0), log


def test_every_source_of_the_engine_is_compiled_here() -> None:
    listed = {Path(str(resources.files(source.package) / source.file)) for source in SOURCES}
    assert set(Path(gpu_engine.__path__[0]).rglob("*.cu")) <= listed


def test_headers_are_part_of_the_hash() -> None:
    text = next(s for s in SOURCES if s.file == "vector.cu").text
    assert "sum_lanes" in text
    assert "#include" not in text
