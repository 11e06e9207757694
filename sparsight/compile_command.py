"""`sparsight compile`: fills the kernel cache, on any machine; where GPUs are, also the caches of CuPy and Numba."""

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
from sparsight.exits import Exit
from sparsight.terminal import read_settings, say

ARCH = re.compile(r"sm_[0-9]{2,3}[af]?")

REHEARSED = "web:n=2000", "stencil:points=7,nx=8,ny=8,nz=8"
"""Rows of very uneven lengths, and of even ones: no format is left out for want of room."""

WIDE = "web:n=70000"
"""More columns than 16 bits count: some formats store others then."""

REHEARSAL_S = 300
"""A rehearsal takes some 50 s; one that takes so long hangs."""


def compile(  # noqa: A001 (the command's name)
    arch: Annotated[
        list[str] | None,
        typer.Option(help="Architecture to compile for, sm_90; may be repeated. Default: those of the GPUs here."),
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="Sources at a time. Default: one on each core.")] = None,
    installation: Annotated[
        bool, typer.Option("--installation", help="Keep them in the installation, for all its users, not in the home.")
    ] = False,
) -> None:
    """Compile all kernels for GPUs ahead of their first use; what is compiled already is left as it is.

    For the GPUs of this machine every study is run once on two small matrices, too: CuPy and Numba compile what they
    need then, and keep it in the home.
    """
    # What is imported next makes a folder in the home, and would make the home for everybody to read.
    with suppress(OSError):
        read_settings().home.mkdir(mode=0o700, parents=True, exist_ok=True)
    from gpu_engine.cuda.ahead import compile_ahead
    from gpu_engine.cuda.kernel_cache import KernelCache
    from gpu_engine.kernel_sources import kernel_sources
    from gpu_engine.measure.stopwatch import now

    folder, gpus = _folder(installation), {} if arch else _gpus()
    archs, begin = _archs(arch) if arch else tuple(gpus), now()
    counts = Counter[str]()
    for done in compile_ahead(kernel_sources(), archs, KernelCache(folder), jobs):
        counts[done.state] += 1
        if done.state == "failed":
            say(f"{done.source.package}, {done.source.file}: {done.reason}")
    say(
        f"{folder}: {counts['compiled']} sources compiled for {', '.join(archs)} in {now() - begin:.1f} s, "
        f"{counts['there']} were there, {counts['failed']} failed."
    )
    failed = [sentence for gpu in gpus.values() for sentence in _rehearse(gpu)]
    for sentence in failed:
        say(sentence)
    raise typer.Exit(Exit.FAILED if counts["failed"] or failed else Exit.DONE)


def _folder(installation: bool) -> Path:
    """Where they are kept."""
    folder = INSTALLED_KERNELS if installation else kernel_folder()
    if folder is None:
        raise InputError("There is no home to keep compiled kernels in. Set SPARSIGHT_HOME to a folder for them.")
    return folder


def _archs(named: Sequence[str]) -> tuple[str, ...]:
    """Those that were named, each once."""
    for name in named:
        if not ARCH.fullmatch(name):
            raise ParameterError(f"{quote(name)} is no architecture of a GPU; sm_80 and sm_90 are two.")
    return tuple(dict.fromkeys(named))


def _gpus() -> Mapping[str, str]:
    """The architectures of the GPUs of this machine, and a device of each."""
    from gpu_engine.cuda.compiler import architecture
    from gpu_engine.host import device

    gpus = [found for found in device.list_devices() if found.backend == "cuda" and not found.is_several]
    if not gpus:
        raise InputError("No GPU is here to compile for. Name an architecture, such as --arch sm_90.")
    first: dict[str, str] = {}
    for gpu in gpus:
        first.setdefault(architecture(gpu.details["compute capability"]), gpu.id)
    return first


def _rehearse(gpu: str) -> Iterator[str]:
    """Runs every study on small matrices, all at once; tells of each that fails."""
    from gpu_engine.studies import STUDIES

    def run(study: str, *matrices: str) -> str:
        command = (sys.executable, "-P", "-m", "gpu_engine", study, *matrices, "--device", gpu)
        try:
            ended = subprocess.run(command, capture_output=True, text=True, timeout=REHEARSAL_S, check=False)
        except subprocess.TimeoutExpired:
            return f"{study} on {gpu} does not end."
        return f"{study} on {gpu} failed: {ended.stderr[-2000:]}" if ended.returncode else ""

    rehearsals = [(study.name, *REHEARSED) for study in STUDIES if "cuda" in study.backends] + [("formats", WIDE)]
    with ThreadPoolExecutor(len(rehearsals)) as threads:
        yield from filter(None, threads.map(lambda each: run(*each), rehearsals))
