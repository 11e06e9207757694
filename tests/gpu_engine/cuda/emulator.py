"""CUDA kernels run on a CPU, without a GPU: their own text, compiled by g++ behind `emulator.h`."""

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gpu_engine.cuda.load import CudaSource
from tests.programs import missing

HEADER = Path(__file__).with_name("emulator.h")
DYNAMIC = "extern __shared__ double parts[];"
FLAGS = (
    *("-O1", "-std=c++17", "-fPIC", "-shared", "-w", "-fpermissive", "-ffp-contract=off", "-Wl,-Bsymbolic"),
    # Checks of the stack do not know fibers.
    *("-U_FORTIFY_SOURCE", "-fno-stack-protector"),
)


def bound(
    source: CudaSource,
    name: str,
    blocks: int,
    threads: int,
    arguments: Sequence[Any],
    shared_mem: int = 0,
    follows: bool = False,
) -> Callable[..., None]:
    """In place of `CudaSource.bound`, with NumPy arrays in place of CuPy's."""
    run = getattr(library(source), f"run_{source.instantiations.index(name)}")

    def call(*vectors: Any) -> None:
        given = iter(vectors)
        values = [_value(next(given) if argument is None else argument) for argument in arguments]
        run(int(blocks), int(threads), (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values)))

    return call


def _value(argument: Any) -> Any:
    if isinstance(argument, np.ndarray):
        assert argument.flags.c_contiguous
        return ctypes.c_void_p(argument.ctypes.data)
    return np.ctypeslib.as_ctypes_type(argument.dtype)(argument.item())


@functools.cache
def library(source: CudaSource) -> ctypes.CDLL:
    """The kernels of a source, each as `run_<its number>`."""
    runs = "".join(
        f"void run_{number}(int blocks, int threads, void **given) {{ run({name}, blocks, threads, given); }}\n"
        for number, name in enumerate(source.instantiations)
    )
    compiler, text = (
        shutil.which("c++") or missing("g++"),
        source.text.replace(DYNAMIC, "double *parts = dynamic_shared;"),
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "kernels.cpp")
        file.write_text(f'#include "{HEADER}"\n{text}\nextern "C" {{\n{runs}}}\n', encoding="utf-8")
        subprocess.run((compiler, *FLAGS, str(file), "-o", f"{folder}/kernels.so"), check=True)
        return ctypes.CDLL(f"{folder}/kernels.so")
