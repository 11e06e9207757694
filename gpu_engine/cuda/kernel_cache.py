"""KernelCache: compiled kernels in files, by all that their machine code depends on."""

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
"""The two files of a compilation, which are called by its key: machine code, and a digest above the names in it."""

UNUSED_S = 90 * 86_400
"""What no process has loaded for so long is deleted when something else is kept."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Compiled kernels that lie in a file.

    path   of the machine code
    names  what each instantiation is called in it
    """

    path: Path
    names: Mapping[str, str]


class KernelCache:
    """Compiled kernels in folders, which any number of processes may use, fill and empty at once.

    folder        where they are kept; None: nowhere
    brought       folders that are looked into before, and never written
    compile_text  what compiles where no folder has them
    """

    def __init__(
        self,
        folder: Path | None,
        brought: Sequence[Path] = (),
        compile_text: Callable[[Compilation], Compiled] = Compilation.run,
    ) -> None:
        self._folder, self._brought, self._compile = folder, tuple(brought), compile_text

    def get(self, compilation: Compilation) -> Kept:
        """The kernels, compiled if need be; raises KernelError with the compiler's log, or where none can be kept."""
        found = self.find(compilation)
        if found is not None:
            return found
        if self._folder is None:
            raise KernelError("There is no home to keep compiled kernels in. Set SPARSIGHT_HOME to a folder for them.")
        compiled = self._compile(compilation)
        try:
            return _keep(self._folder, compilation, compiled)
        except OSError as error:
            raise KernelError(
                f"Compiled kernels cannot be kept in {self._folder}: {error.strerror or error}. "
                "Set SPARSIGHT_HOME to a folder that you may write."
            ) from error

    def find(self, compilation: Compilation) -> Kept | None:
        """The kernels where a folder has them, whole."""
        for folder in (*self._brought, self._folder):
            kept = _read(folder, compilation) if folder is not None else None
            if kept is not None:
                return kept
        return None


def kernel_cache() -> KernelCache:
    """Return the cache of what the installation brings and of the home; raises KernelError where others write there."""
    folder = kernel_folder()
    for each in (INSTALLED_KERNELS, folder):
        if each is not None:
            _check_private(each)
    return KernelCache(folder, (INSTALLED_KERNELS,))


@functools.cache
def _check_private(folder: Path) -> None:
    """Raise KernelError where other users can change a folder; one that was private is walked no second time."""
    if sentence := refusal(folder):
        raise KernelError(sentence)


def _read(folder: Path, compilation: Compilation) -> Kept | None:
    """What a folder has; None for files that are missing, cut off or somebody else's."""
    code, names = (folder / f"{compilation.key}{ending}" for ending in (CODE, NAMES))
    try:
        digest, *lowered = names.read_text(encoding="ascii").splitlines()
        whole = digest == _digest(code.read_bytes(), lowered) and len(lowered) == len(compilation.instantiations)
    except (OSError, ValueError):
        return None
    if not whole:
        return None
    for path in (code, names):
        # Of a folder that only others write, nothing is deleted by us.
        with suppress(OSError):
            os.utime(path)
    return Kept(code, dict(zip(compilation.instantiations, lowered, strict=True)))


def _keep(folder: Path, compilation: Compilation, compiled: Compiled) -> Kept:
    # For all users of an installation to read, whatever the umask: what others could write would not be loaded.
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    _delete_unused(folder)
    lowered = [compiled.names[name] for name in compilation.instantiations]
    lines = (_digest(compiled.cubin, lowered), *lowered)
    code, names = (folder / f"{compilation.key}{ending}" for ending in (CODE, NAMES))
    _write(code, compiled.cubin)
    _write(names, "".join(f"{line}\n" for line in lines).encode("ascii"))
    return Kept(code, compiled.names)


def _digest(cubin: bytes, lowered: Iterable[str]) -> str:
    return hashlib.sha256(cubin + "\n".join(lowered).encode()).hexdigest()


def _write(path: Path, content: bytes) -> None:
    """Puts the whole file there at once, readable for all who may enter the folder."""
    with tempfile.NamedTemporaryFile(dir=path.parent, suffix=path.suffix, delete=False) as file:
        file.write(content)
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)


def _delete_unused(folder: Path) -> None:
    oldest = time.time() - UNUSED_S
    for path in folder.iterdir():
        # Another process may be deleting the same.
        with suppress(FileNotFoundError):
            if path.suffix in (CODE, NAMES) and path.stat().st_mtime < oldest:
                path.unlink()
