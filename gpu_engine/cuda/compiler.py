"""Compiles CUDA text to machine code of one architecture with NVRTC, which needs no GPU."""

import functools
import hashlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gpu_engine.errors import KernelError, UnavailableError

FLAGS = ("--std=c++17", "-default-device")
"""NVRTC options of every source; constants are template arguments, never generated text."""

OPTIONS = (*FLAGS, "-ftz=true")
"""FLAGS and the options that CuPy adds, so that both compile a text to the same machine code."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """Machine code of a CUDA text.

    cubin  binary for the driver
    names  instantiation → name in the binary
    """

    cubin: bytes
    names: Mapping[str, str]


def nvrtc_version() -> str:
    """Return the release of NVRTC, such as `13.0`; raises UnavailableError if it is not installed."""
    return ".".join(map(str, _nvrtc().getVersion()))


@dataclass(frozen=True, slots=True)
class Compilation:
    """Inputs that determine machine code.

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
        """SHA-256 of all inputs: 64 hex digits."""
        parts = (self.text, self.instantiations, self.arch, self.options, self.version)
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def run(self) -> Compiled:
        """Compile, in about a second on one core; raises KernelError with the compiler's log.

        Several threads may compile at the same time.
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
    """Return the architecture to compile for, such as `sm_90`, of a compute capability, `9.0` or `90`.

    Raises KernelError if NVRTC supports no architecture that runs on this GPU.
    """
    requested = int(capability.replace(".", ""))
    known = sorted(int(arch) for arch in _nvrtc().getSupportedArchs())
    # Machine code runs on all later GPUs of its generation.
    fitting = [arch for arch in known if arch <= requested and arch // 10 == requested // 10]
    if not fitting:
        raise KernelError(
            f"NVRTC {nvrtc_version()} compiles for sm_{known[0]} to sm_{known[-1]}, but this GPU is sm_{requested}. "
            "Install a CuPy whose NVRTC supports it."
        )
    return f"sm_{fitting[-1]}"


def _nvrtc() -> Any:
    """Return CuPy's binding of NVRTC; raises UnavailableError if NVRTC is not installed."""
    with _OPENING:
        return _opened()


_OPENING = threading.Lock()


@functools.cache
def _opened() -> Any:
    """Return NVRTC after a first compilation, because its initialization fails in two threads at once."""
    try:
        from cupy.cuda import nvrtc

        program = nvrtc.createProgram("", "", (), ())
        nvrtc.compileProgram(program, ())
        nvrtc.destroyProgram(program)
    except (ImportError, RuntimeError) as error:
        raise UnavailableError(
            f"CuPy's NVRTC, which compiles the GPU kernels, is missing: {error}. "
            "Install Sparsight with the extra cuda13 or cuda12."
        ) from error
    return nvrtc
