"""KernelCache: compiled kernels in files, with a key of all inputs that determine their machine code."""

import functools
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gpu_engine.cuda.compiler import Compilation, Compiled
from gpu_engine.errors import KernelError
from gpu_engine.host.caches import INSTALLED_KERNELS, kernel_folder, refusal

CODE, NAMES = ".cubin", ".names"
"""Endings of the two files per compilation: machine code, and a digest followed by the names in it."""

UNUSED_S = 90 * 86_400
"""Seconds after which an unused file is deleted, when another one is stored."""


@dataclass(frozen=True, slots=True)
class CachedKernel:
    """Compiled kernels in a file.

    path   file of the machine code
    names  instantiation → name in the machine code
    """

    path: Path
    names: Mapping[str, str]


class KernelCache:
    """A cache of compiled kernels in folders, which several processes may read, fill, and empty at the same time.

    folder        folder for new kernels; None: there is none
    installed     folders that are searched first and never written
    compile_text  function that compiles kernels that no folder has
    """

    def __init__(
        self,
        folder: Path | None,
        installed: Sequence[Path] = (),
        compile_text: Callable[[Compilation], Compiled] = Compilation.run,
    ) -> None:
        self._folder, self._installed, self._compile = folder, tuple(installed), compile_text

    def get(self, compilation: Compilation) -> CachedKernel:
        """Return the kernels, compiled if necessary; raises KernelError if they cannot be compiled or stored."""
        cached = self.find(compilation)
        if cached is not None:
            return cached
        if self._folder is None:
            raise KernelError("There is no data directory for compiled kernels. Set SPARSIGHT_HOME to a folder.")
        compiled = self._compile(compilation)
        try:
            return _keep(self._folder, compilation, compiled)
        except OSError as error:
            raise KernelError(
                f"Compiled kernels cannot be stored in {self._folder}: {error.strerror or error}. "
                "Set SPARSIGHT_HOME to a writable folder."
            ) from error

    def find(self, compilation: Compilation) -> CachedKernel | None:
        """Return the kernels if a folder has them completely, else None."""
        for folder in (*self._installed, self._folder):
            cached = _read(folder, compilation) if folder is not None else None
            if cached is not None:
                return cached
        return None


def kernel_cache() -> KernelCache:
    """Return the cache of the installation and the data directory; raises KernelError if others can write there."""
    folder = kernel_folder()
    for directory in (INSTALLED_KERNELS, folder):
        if directory is not None:
            _check_private(directory)
    return KernelCache(folder, (INSTALLED_KERNELS,))


@functools.cache
def _check_private(folder: Path) -> None:
    """Raise KernelError if other users can change a folder; a private folder is checked only once."""
    if sentence := refusal(folder):
        raise KernelError(sentence)


def _read(folder: Path, compilation: Compilation) -> CachedKernel | None:
    """Return the kernels in a folder; None if files are missing, truncated, or of another compilation."""
    code, names = (folder / f"{compilation.key}{ending}" for ending in (CODE, NAMES))
    try:
        digest, *lowered = names.read_text(encoding="ascii").splitlines()
        whole = digest == _digest(code.read_bytes(), lowered) and len(lowered) == len(compilation.instantiations)
    except (OSError, ValueError):
        return None
    if not whole:
        return None
    for path in (code, names):
        # A folder that this user cannot write needs no new time: nothing in it is deleted.
        with suppress(OSError):
            os.utime(path)
    return CachedKernel(code, dict(zip(compilation.instantiations, lowered, strict=True)))


def _keep(folder: Path, compilation: Compilation, compiled: Compiled) -> CachedKernel:
    # Readable for all users of an installation, independent of the umask; files that others can write are not loaded.
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    _delete_unused(folder)
    lowered = [compiled.names[name] for name in compilation.instantiations]
    lines = (_digest(compiled.cubin, lowered), *lowered)
    code, names = (folder / f"{compilation.key}{ending}" for ending in (CODE, NAMES))
    _write(code, compiled.cubin)
    _write(names, "".join(f"{line}\n" for line in lines).encode("ascii"))
    return CachedKernel(code, compiled.names)


def _digest(cubin: bytes, lowered: Iterable[str]) -> str:
    return hashlib.sha256(cubin + "\n".join(lowered).encode()).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Write a file atomically, readable for all users who can enter the folder."""
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=path.suffix, delete=False) as file:
        file.write(content)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def _delete_unused(folder: Path) -> None:
    oldest = time.time() - UNUSED_S
    for path in folder.iterdir():
        # Another process may delete the same file.
        with suppress(FileNotFoundError):
            if path.suffix in (CODE, NAMES) and path.stat().st_mtime < oldest:
                path.unlink()
