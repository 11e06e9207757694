"""Tree: a source tree imported as a package with another name, so that one process can have two of them."""

import importlib
import inspect
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from gpu_engine import errors
from gpu_engine.errors import InputError, KernelError, quote
from gpu_engine.formats.base import Format

ENGINE = "gpu_engine"

Side = Literal["base", "head"]

LEFT_OUT = shutil.ignore_patterns("__pycache__", "recorded", "gpu_bench")
"""Files that kernels do not need."""

NAME = re.compile(rf"\b{ENGINE}\b")


@dataclass(frozen=True, slots=True)
class Tree:
    """The formats of a source tree, named `base:csr` and `head:csr`.

    package  name of its package in this process
    """

    side: Side
    package: str
    formats: tuple[Format, ...]

    def sources(self, backend: str) -> dict[str, str]:
        """Return kernel name → source text on a back end; equal in two trees if the source is equal."""
        every = (named for f in self.formats for named in f.kernels_on(backend))
        prefix = f"{self.side}:"
        return {n.removeprefix(prefix): _source(k, backend).replace(self.package, ENGINE) for n, k in every}


@contextmanager
def opened(folder: Path, side: Side) -> Iterator[Tree]:
    """Open the tree of a checkout; raises InputError if its engine is missing or cannot be imported.

    The name of the package is replaced everywhere in a temporary copy, so that late imports and CUDA sources are
    also found there.
    """
    engine = folder / ENGINE
    if not (engine / "formats" / "__init__.py").is_file():
        raise InputError(f"{quote(folder)} has no folder {ENGINE}/formats. Give the path of a Sparsight checkout.")
    package = f"{ENGINE}_{side}"
    with TemporaryDirectory(prefix="sparsight-ab-") as place:
        _copy(engine, Path(place) / package, package)
        sys.path.insert(0, place)
        importlib.invalidate_caches()
        try:
            yield Tree(side, package, tuple(_called(f, side) for f in _formats(package, folder)))
        finally:
            sys.path.remove(place)
            for name in [name for name in sys.modules if name.partition(".")[0] == package]:
                del sys.modules[name]


def _source(kernel: Any, backend: str) -> str:
    if kernel.parts:
        return "".join(_source(part, backend) for part in kernel.parts)
    if backend == "cuda" and kernel.source is not None:
        return str(kernel.source.text)
    module = inspect.getmodule(kernel.cuda if backend == "cuda" else kernel.cpu)
    return inspect.getsource(module) if module else ""


def _copy(engine: Path, to: Path, package: str) -> None:
    shutil.copytree(engine, to, ignore=LEFT_OUT)
    for file in to.rglob("*.py"):
        file.write_text(NAME.sub(package, file.read_text(encoding="utf-8")), encoding="utf-8")


def _formats(package: str, folder: Path) -> tuple[Any, ...]:
    try:
        return tuple(importlib.import_module(f"{package}.formats").FORMATS)
    except Exception as error:
        # The import runs code of the tree, which may raise any error.
        raise InputError(f"The formats of {quote(folder)} cannot be imported: {quote(error)}.") from error


def _called(f: Any, side: Side) -> Format:
    """Return a format of a tree with a prefixed name and with the error classes of this process."""
    return Format(
        name=f"{side}:{f.name}",
        title=f"{f.title} ({side})",
        summary=f.summary,
        bytes_needed=_with_our_errors(f.bytes_needed),
        from_csr=_with_our_errors(f.from_csr),
        kernels=f.kernels,
        compressed=f.compressed,
    )


def _with_our_errors(call: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a call that converts errors of the tree's copy to the error classes of this process."""

    def called(matrix: Any) -> Any:
        try:
            return call(matrix)
        except Exception as error:
            ours = getattr(errors, type(error).__name__, None)
            if ours is None or isinstance(error, ours):
                raise
            raise (ours if issubclass(ours, errors.SparsightError) else KernelError)(str(error)) from error

    return called
