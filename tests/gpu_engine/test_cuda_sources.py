"""Every instantiation of every CUDA source compiles for the GPUs in use, without spilling registers; no GPU needed.

Always for the newest; for the others, which has hardly ever another result, where a source has changed.
"""

import re
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import pytest
from cupy.cuda import nvrtc

import gpu_engine
from gpu_engine import batched
from gpu_engine.cpms import convert
from gpu_engine.cuda.load import FLAGS, CudaSource
from gpu_engine.formats import FORMATS
from gpu_engine.formats.base import POINTERS
from gpu_engine.measure.cuda import PROBES
from gpu_engine.multigpu import cuda_chunks, cuda_operations
from gpu_engine.operators import scaling
from gpu_engine.pagerank import cuda_refined, link_products, products, unfused
from gpu_engine.pagerank.between import BETWEEN, CONVERGE, RAISE
from gpu_engine.pagerank.cuda_pulls import source_of
from gpu_engine.pagerank.kernels import KERNELS
from tests.gpu_engine.cpms import kernels


def whole(file: str, sources: Iterable[CudaSource]) -> CudaSource:
    """All that runs of PageRank compile of a file, in one go."""
    names = (name for source in sources for name in source.instantiations)
    return CudaSource("gpu_engine.pagerank", file, tuple(dict.fromkeys(names)))


KINDS = [(kernel, pointer) for kernel in KERNELS for pointer in POINTERS]
RANKS = whole(
    "iterate.cu",
    (source_of(k.layout, k.storage, k.free, pointer, k.short) for k, pointer in KINDS if k.fused and not k.refined),
)
UNFUSED = whole("unfused.cu", (unfused.source_of(k.layout, k.segments, p, k.short) for k, p in KINDS if not k.fused))
REFINED = whole("refine.cu", (cuda_refined.source_of(k.layout, k.refined, p) for k, p in KINDS if k.refined))
IN_SEGMENTS = products.products_in(products.BLOCKS)
PRODUCTS = whole(
    "products.cu", (link_products.source_of(layout, p, IN_SEGMENTS) for layout in products.LAYOUTS for p in POINTERS)
)
SEVERAL = (cuda_operations.SEGMENTS, cuda_operations.ENTRIES, cuda_operations.RANKS, cuda_chunks.SOURCE)
OTHERS = (
    PROBES,
    scaling.SOURCE,
    convert.SOURCE,
    kernels.SOURCE,
    BETWEEN,
    RANKS,
    UNFUSED,
    REFINED,
    PRODUCTS,
    CONVERGE,
    RAISE,
    *SEVERAL,
)
"""The sources that belong to no kernel of a list."""

LISTED = {k.source for f in FORMATS for k in f.kernels} | {k.source for k in batched.KERNELS}
SOURCES = sorted({source for source in LISTED if source} | {*OTHERS}, key=lambda s: (s.file, s.package))
SOURCES_CHANGED = pytest.mark.full(
    *(
        "*.cu",
        "*.cuh",
        "gpu_engine/cuda/*",
        "gpu_engine/formats/*",
        "gpu_engine/batched/*",
        "gpu_engine/pagerank/cuda*",
        "gpu_engine/pagerank/unfused*",
        "gpu_engine/pagerank/refine*",
        "gpu_engine/pagerank/converge*",
        "gpu_engine/pagerank/raise*",
        "gpu_engine/pagerank/between*",
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
        nvrtc.compileProgram(program, (*FLAGS, f"-arch={arch}", "--ptxas-options=-v"))
        for name in source.instantiations:
            assert nvrtc.getLoweredName(program, name)
        return str(nvrtc.getProgramLog(program))
    except nvrtc.NVRTCError:
        pytest.fail(str(nvrtc.getProgramLog(program)))
    finally:
        nvrtc.destroyProgram(program)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("source", SOURCES, ids=lambda s: f"{s.package}/{s.file}".removeprefix("gpu_engine."))
def test_compiles_without_spills(source: CudaSource, arch: str) -> None:
    log = compile_log(source, arch)
    spills = [int(count) for count in SPILL.findall(log)]
    assert len(spills) == 2 * len(source.instantiations), log
    assert not any(spills), log


def test_every_source_of_the_engine_is_compiled_here() -> None:
    listed = {Path(str(resources.files(source.package) / source.file)) for source in SOURCES}
    assert set(Path(gpu_engine.__path__[0]).rglob("*.cu")) <= listed


def test_headers_are_part_of_the_hash() -> None:
    text = next(s for s in SOURCES if s.file == "vector.cu").text
    assert "sum_lanes" in text
    assert "#include" not in text
