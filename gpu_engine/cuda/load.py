"""CudaSource: a CUDA file with its headers inlined, compiled if necessary and loaded from the kernel cache."""

import functools
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, ClassVar

from gpu_engine.cuda.bound_launch import bind_arguments
from gpu_engine.cuda.compiler import FLAGS, Compilation, architecture
from gpu_engine.cuda.kernel_cache import kernel_cache
from gpu_engine.errors import KernelError

HEADERS = "gpu_engine.cuda"
"""Package of all headers."""

_INCLUDE = re.compile(r'^#include "(?P<file>[\w.]+)"$', re.MULTILINE)


def digest(text: str) -> str:
    """Return the first 16 hex digits of the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class CudaSource:
    """A .cu file of a package, with all instantiations that its launches may use.

    instantiations  C++ name expressions, compiled together
    includes        whether the text may include headers that are not inlined; CuPy then compiles and caches it
    """

    includes: ClassVar[bool] = False

    package: str
    file: str
    instantiations: tuple[str, ...]

    @property
    def text(self) -> str:
        """Source text with its headers inlined."""
        return _read(self.package, self.file)

    def compilation(self, arch: str) -> Compilation:
        """Return the compilation for an architecture, such as `sm_90`."""
        return Compilation(self.text, self.instantiations, arch)

    def function(self, instantiation: str) -> Any:
        """Return the kernel on the current device (a CuPy RawKernel); raises KernelError with the compiler's log."""
        return _function(self, instantiation, _current_device())

    def bound(
        self,
        instantiation: str,
        blocks: int,
        threads: int,
        arguments: Sequence[Any],
        shared_mem: int = 0,
        follows: bool = False,
    ) -> Callable[..., None]:
        """Return a launch of the kernel (see `bind_arguments`); raises KernelError with the compiler's log."""
        return bind_arguments(self.function(instantiation), blocks, threads, arguments, shared_mem, follows)


def current_architecture() -> str:
    """Return the architecture of the current device, `sm_90`; raises KernelError if NVRTC does not support it."""
    import cupy

    return architecture(str(cupy.cuda.Device().compute_capability))


def _current_device() -> int:
    import cupy

    return int(cupy.cuda.runtime.getDevice())


@functools.cache
def _read(package: str, file: str) -> str:
    return _inlined(package, file, set())


def _inlined(package: str, file: str, included: set[str]) -> str:
    """Return the text of a file with all headers in place of the includes, each header once."""
    source = resources.files(package).joinpath(file).read_text(encoding="utf-8")

    def inline(match: re.Match[str]) -> str:
        following = f'#line {source.count(chr(10), 0, match.end()) + 2} "{file}"'
        if match["file"] in included:
            return following
        included.add(match["file"])
        return f"{_inlined(HEADERS, match['file'], included)}\n{following}"

    return f'#line 1 "{file}"\n{_INCLUDE.sub(inline, source)}'


@functools.cache
def _function(source: CudaSource, instantiation: str, device: int) -> Any:
    module, names = (_included if source.includes else _cached)(source, device)
    return module.get_function(names[instantiation])


@functools.cache
def _cached(source: CudaSource, device: int) -> tuple[Any, Mapping[str, str]]:  # noqa: ARG001 (a module is one device's)
    """Return the cached module on a device, and the names in it."""
    import cupy

    kernel = kernel_cache().get(source.compilation(current_architecture()))
    return cupy.RawModule(path=str(kernel.path)), kernel.names


@functools.cache
def _included(source: CudaSource, device: int) -> tuple[Any, Mapping[str, str]]:  # noqa: ARG001
    """Return a module that CuPy compiles, and the names in it."""
    import cupy

    module = cupy.RawModule(code=source.text, options=FLAGS, name_expressions=source.instantiations)
    try:
        module.compile()
    except cupy.cuda.compiler.CompileException as error:
        raise KernelError(f"{source.file} does not compile on this device: {error}") from error
    return module, {name: name for name in source.instantiations}
