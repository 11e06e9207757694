"""Kernels from the kernel cache multiply as those do that were just compiled."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from gpu_engine.cuda import load, precompile
from gpu_engine.cuda.compiler import Compilation, Compiled, architecture
from gpu_engine.cuda.kernel_cache import KernelCache
from gpu_engine.errors import KernelError
from gpu_engine.formats import find_kernel
from gpu_engine.measure import Bench, open_bench
from gpu_engine.records import DeviceInfo
from gpu_engine.verify import POISON, check, reference
from tests.battery import BATTERY

# One launch, two launches, dynamic shared memory.
KERNELS = ("csr/vector", "split/tile", "sellp/t4")


@pytest.fixture(scope="module")
def bench(gpu: DeviceInfo) -> Iterator[Bench]:
    with open_bench(gpu) as opened:
        yield opened


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[KernelCache], None]]:
    """Has kernels loaded from this cache from now on, as a new process loads them."""

    def forget() -> None:
        for loaded in (load._function, load._cached):
            loaded.cache_clear()

    def chosen(cache: KernelCache) -> None:
        forget()
        for module in (load, precompile):
            monkeypatch.setattr(module, "kernel_cache", lambda: cache)

    yield chosen
    forget()


def refused(compilation: Compilation) -> Compiled:
    raise KernelError(f"It is compiled again for {compilation.arch}.")


def multiplied(bench: Bench, name: str) -> bytes:
    """The bits of a product, checked against SciPy."""
    host, (f, kernel) = BATTERY["band"](), find_kernel(name)
    expected = reference(host)
    layout = f.from_csr(bench.stopwatch.upload(host))
    y = bench.xp.full(host.n_rows, POISON)
    kernel.bound("cuda", layout)(bench.xp.asarray(expected.x), y)
    bench.stopwatch.synchronize()
    check(expected.on(bench.xp), y)
    return np.asarray(y.get()).tobytes()


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_from_the_cache_multiplies_as_the_one_just_compiled(
    bench: Bench, use: Callable[[KernelCache], None], tmp_path: Path, name: str
) -> None:
    use(KernelCache(tmp_path / "cold"))
    cold = multiplied(bench, name)
    # CuPy keeps modules by their path: a copy is loaded from its file.
    shutil.copytree(tmp_path / "cold", tmp_path / "warm")
    use(KernelCache(tmp_path / "warm", (), refused))
    assert multiplied(bench, name) == cold


def test_what_is_compiled_for_the_gpu_as_nvml_tells_it_is_found_by_the_device(
    bench: Bench, gpu: DeviceInfo, use: Callable[[KernelCache], None], tmp_path: Path
) -> None:
    arch = architecture(gpu.details["compute capability"])
    assert load.current_architecture() == arch
    sources = [source for name in KERNELS for source in find_kernel(name)[1].sources]
    cache = KernelCache(tmp_path)
    use(cache)
    assert len(precompile.missing_here(sources)) == len(KERNELS)
    assert {each.state for each in precompile.compile_ahead(sources, (arch,), cache)} == {"compiled"}
    assert precompile.missing_here(sources) == ()
    use(KernelCache(tmp_path, (), refused))
    for name in KERNELS:
        multiplied(bench, name)


def test_a_damaged_file_is_compiled_again(bench: Bench, use: Callable[[KernelCache], None], tmp_path: Path) -> None:
    use(KernelCache(tmp_path / "whole"))
    right = multiplied(bench, "csr/vector")
    shutil.copytree(tmp_path / "whole", tmp_path / "damaged")
    for path in (tmp_path / "damaged").glob("*.cubin"):
        path.write_bytes(path.read_bytes()[:-100])
    use(KernelCache(tmp_path / "damaged"))
    assert multiplied(bench, "csr/vector") == right


def test_a_kernel_from_the_cache_tells_what_the_compiler_made_of_it(
    bench: Bench, use: Callable[[KernelCache], None], tmp_path: Path
) -> None:
    use(KernelCache(tmp_path))
    (source,) = find_kernel("csr/vector")[1].sources
    for instantiation in source.instantiations:
        found = source.function(instantiation).attributes
        assert 0 < found["num_regs"] <= 255
        assert found["local_size_bytes"] == 0
