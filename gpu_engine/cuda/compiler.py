"""The only place that compiles CUDA: from a text to machine code of one architecture, by NVRTC, which needs no GPU."""

import functools
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpu_engine.errors import KernelError, UnavailableError

FLAGS = ("--std=c++17", "-default-device")
"""NVRTC options of every source; constants come in as template arguments, never as generated text."""

OPTIONS = (*FLAGS, "-ftz=true")
"""The same with what CuPy adds: whoever compiles a text by either gets the same machine code."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of a text.

    cubin  as the driver loads it
    names  what each instantiation is called in it
    """

    cubin: bytes
    names: Mapping[str, str]


def nvrtc_version() -> str:
    """Release of the compiler, `13.0`; raises UnavailableError where it is not installed."""
    return ".".join(map(str, _nvrtc().getVersion()))


@dataclass(frozen=True, slots=True)
class Compilation:
    """All that machine code depends on.

    text            CUDA C++ that includes nothing
    instantiations  C++ name expressions of its kernels
    arch            architecture of the GPU: `sm_90`
    """

    text: str
    instantiations: tuple[str, ...]
    arch: str
    options: tuple[str, ...] = OPTIONS
    version: str = field(default_factory=nvrtc_version)

    @property
    def key(self) -> str:
        """The sha256 of all of it: 64 hex digits."""
        parts = (self.text, self.instantiations, self.arch, self.options, self.version)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def run(self) -> Compiled:
        """Compiles, for a second or so on one core; raises KernelError with the compiler's log.

        Several threads compile at once.
        """
        nvrtc = _nvrtc()
        program = nvrtc.createProgram(self.text, "", (), ())
        try:
            for name in self.instantiations:
                nvrtc.addNameExpression(program, name)
            nvrtc.compileProgram(program, (*self.options, f"-arch={self.arch}"))
            names = {name: nvrtc.getLoweredName(program, name) for name in self.instantiations}
            return Compiled(nvrtc.getCUBIN(program), names)
        except nvrtc.NVRTCError as error:
            log = nvrtc.getProgramLog(program) or str(error)
            raise KernelError(f"A kernel does not compile for {self.arch}: {log}") from error
        finally:
            nvrtc.destroyProgram(program)


def architecture(capability: str) -> str:
    """What to compile for on a GPU of a compute capability, `9.0` or `90`: `sm_90`.

    Raises KernelError where the compiler knows no architecture that runs there.
    """
    wanted = int(capability.replace(".", ""))
    known = sorted(int(arch) for arch in _nvrtc().getSupportedArchs())
    # Machine code runs on all later GPUs of its generation.
    fitting = [arch for arch in known if arch <= wanted and arch // 10 == wanted // 10]
    if not fitting:
        raise KernelError(
            f"NVRTC {nvrtc_version()} compiles for sm_{known[0]} to sm_{known[-1]}, and this GPU is sm_{wanted}. "
            "Install a CuPy whose compiler knows it."
        )
    return f"sm_{fitting[-1]}"


def _nvrtc() -> Any:
    """CuPy's binding of the compiler; raises UnavailableError where the compiler is not installed."""
    with _OPENING:
        return _opened()


_OPENING = threading.Lock()


@functools.cache
def _opened() -> Any:
    """The compiler after its first compilation, in which it opens a library: two at once fail at that."""
    try:
        from cupy.cuda import nvrtc

        program = nvrtc.createProgram("", "", (), ())
        nvrtc.compileProgram(program, ())
        nvrtc.destroyProgram(program)
    except (ImportError, RuntimeError) as error:
        raise UnavailableError(
            f"Kernels for GPUs are compiled by CuPy's NVRTC, which is missing: {error}. "
            "Install Sparsight with the extra cuda13 or cuda12."
        ) from error
    return nvrtc
