"""`sparsight compile`: fills the kernel cache, on any machine: no GPU is needed."""

import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from gpu_engine.caches import INSTALLED_KERNELS, kernel_folder
from gpu_engine.errors import InputError, ParameterError, quote
from sparsight.exits import Exit
from sparsight.terminal import read_settings, say

ARCH = re.compile(r"sm_[0-9]{2,3}[af]?")


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
    """Compile all kernels for GPUs ahead of their first use; what is compiled already is left as it is."""
    # What is imported next makes a folder in the home, and would make the home for everybody to read.
    with suppress(OSError):
        read_settings().home.mkdir(mode=0o700, parents=True, exist_ok=True)
    from gpu_engine.cuda.ahead import compile_ahead
    from gpu_engine.cuda.kernel_cache import KernelCache
    from gpu_engine.kernel_sources import kernel_sources
    from gpu_engine.measure.stopwatch import now

    folder, archs, begin = _folder(installation), _archs(arch or ()), now()
    counts = Counter[str]()
    for done in compile_ahead(kernel_sources(), archs, KernelCache(folder), jobs):
        counts[done.state] += 1
        if done.state == "failed":
            say(f"{done.source.package}, {done.source.file}: {done.reason}")
    say(
        f"{folder}: {counts['compiled']} sources compiled for {', '.join(archs)} in {now() - begin:.1f} s, "
        f"{counts['there']} were there, {counts['failed']} failed."
    )
    raise typer.Exit(Exit.FAILED if counts["failed"] else Exit.DONE)


def _folder(installation: bool) -> Path:
    """Where they are kept."""
    folder = INSTALLED_KERNELS if installation else kernel_folder()
    if folder is None:
        raise InputError("There is no home to keep compiled kernels in. Set SPARSIGHT_HOME to a folder for them.")
    return folder


def _archs(named: Sequence[str]) -> tuple[str, ...]:
    """Those that were named, else those of the GPUs of this machine, each once."""
    for name in named:
        if not ARCH.fullmatch(name):
            raise ParameterError(f"{quote(name)} is no architecture of a GPU; sm_80 and sm_90 are two.")
    if named:
        return tuple(dict.fromkeys(named))
    from gpu_engine import device
    from gpu_engine.cuda.compiler import architecture

    gpus = [found for found in device.list_devices() if found.backend == "cuda" and not found.is_several]
    if not gpus:
        raise InputError("No GPU is here to compile for. Name an architecture, such as --arch sm_90.")
    return tuple(dict.fromkeys(architecture(gpu.details["compute capability"]) for gpu in gpus))
