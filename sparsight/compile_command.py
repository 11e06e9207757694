"""Command `sparsight compile`: fill the kernel cache, and on machines with GPUs the caches of CuPy and Numba."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gpu_engine.errors import InputError, ParameterError, quote
from gpu_engine.host.caches import INSTALLED_KERNELS, kernel_folder
from sparsight.exit_codes import Exit
from sparsight.terminal import print_status, read_settings

ARCH = re.compile(r"sm_[0-9]{2,3}[af]?")
"""Name of a GPU architecture, such as sm_90."""

REHEARSED = "web:n=2000", "stencil:points=7,nx=8,ny=8,nz=8"
"""Small matrices with very uneven and with equal row lengths, so that every format fits into memory."""

WIDE = "web:n=70000"
"""Matrix with more than 2¹⁶ columns, for which some formats store wider column indices."""

REHEARSAL_S = 300
"""Timeout of one rehearsal in seconds; a rehearsal takes about 50 s."""


def compile(  # noqa: A001 (the command's name)
    arch: Annotated[
        list[str] | None,
        typer.Option(help="Target architecture, such as sm_90; repeatable. Default: the GPUs of this machine."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Parallel compilations. Default: one per core.")] = None,
    installation: Annotated[
        bool,
        typer.Option("--installation", help="Store the kernels in the installation instead of the data directory."),
    ] = False,
) -> None:
    """Compile all kernels before their first use.

    Kernels in the cache are not compiled again. On a machine with GPUs, every study also runs once on small matrices,
    to fill the caches of CuPy and Numba.
    """
    # The next import creates a folder in the data directory, and with it a data directory that everybody can read.
    with suppress(OSError):
        read_settings().home.mkdir(mode=0o700, parents=True, exist_ok=True)
    from gpu_engine.cuda.kernel_cache import KernelCache
    from gpu_engine.cuda.precompile import compile_ahead
    from gpu_engine.kernel_sources import kernel_sources
    from gpu_engine.measure.stopwatch import now

    folder, gpus = _kernel_folder(installation), {} if arch else _gpus()
    archs, start = _archs(arch) if arch else tuple(gpus), now()
    counts = Counter[str]()
    for done in compile_ahead(kernel_sources(), archs, KernelCache(folder), jobs):
        counts[done.state] += 1
        if done.state == "failed":
            print_status(f"{done.source.package}, {done.source.file}: {done.reason}")
    print_status(
        f"{folder}: {counts['compiled']} sources compiled for {', '.join(archs)} in {now() - start:.1f} s; "
        f"{counts['there']} already in the cache; {counts['failed']} failed."
    )
    failures = [sentence for gpu in gpus.values() for sentence in _rehearse(gpu)]
    for sentence in failures:
        print_status(sentence)
    raise typer.Exit(Exit.FAILED if counts["failed"] or failures else Exit.DONE)


def _kernel_folder(installation: bool) -> Path:
    """Return the folder of the kernel cache; raise InputError if there is none."""
    folder = INSTALLED_KERNELS if installation else kernel_folder()
    if folder is None:
        raise InputError("No data directory for the compiled kernels. Set SPARSIGHT_HOME to a folder.")
    return folder


def _archs(names: Sequence[str]) -> tuple[str, ...]:
    """Return the architectures without duplicates; raise ParameterError for an unknown one."""
    for name in names:
        if not ARCH.fullmatch(name):
            raise ParameterError(f"Unknown GPU architecture {quote(name)}. Use a name such as sm_80 or sm_90.")
    return tuple(dict.fromkeys(names))


def _gpus() -> Mapping[str, str]:
    """Return the GPU architectures of this machine, each with the id of one device."""
    from gpu_engine.cuda.compiler import architecture
    from gpu_engine.host import device

    gpus = [info for info in device.list_devices() if info.backend == "cuda" and not info.is_several]
    if not gpus:
        raise InputError("This machine has no GPU. Give a target architecture, such as --arch sm_90.")
    first: dict[str, str] = {}
    for gpu in gpus:
        first.setdefault(architecture(gpu.details["compute capability"]), gpu.id)
    return first


def _rehearse(gpu: str) -> Iterator[str]:
    """Run every study on small matrices in parallel; yield one sentence for each failure."""
    from gpu_engine.studies import STUDIES

    def run(study: str, *matrices: str) -> str:
        command = (sys.executable, "-P", "-m", "gpu_engine", study, *matrices, "--device", gpu)
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=REHEARSAL_S, check=False)
        except subprocess.TimeoutExpired:
            return f"{study} on {gpu} did not end within {REHEARSAL_S} s."
        return f"{study} on {gpu} failed: {ended.stderr[-2000:]}" if ended.returncode else ""

    rehearsals = [(study.name, *REHEARSED) for study in STUDIES if "cuda" in study.backends] + [("formats", WIDE)]
    with ThreadPoolExecutor(len(rehearsals)) as threads:
        yield from filter(None, threads.map(lambda arguments: run(*arguments), rehearsals))
