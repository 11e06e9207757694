"""A source tree as a package of another name: two trees can be imported into one process."""

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
"""What kernels do not need."""

NAME = re.compile(rf"\b{ENGINE}\b")


@dataclass(frozen=True, slots=True)
class Tree:
    """The formats of a source tree, called `base:csr` and `head:csr`.

    package  what its modules are called in this process
    """

    side: Side
    package: str
    formats: tuple[Format, ...]

    def sources(self, backend: str) -> dict[str, str]:
        """The text that each kernel of a backend is compiled from, by its name; the same in two trees where it is."""
        every = (named for f in self.formats for named in f.kernels_on(backend))
        own = f"{self.side}:"
        return {n.removeprefix(own): _source(k, backend).replace(self.package, ENGINE) for n, k in every}


@contextmanager
def opened(folder: Path, side: Side) -> Iterator[Tree]:
    """The tree of a checkout; raises InputError where there is no engine in it, or none that can be imported.

    Every mention of the package's name is replaced in a copy: what is imported late, and the sources of CUDA, are
    found there too.
    """
    engine = folder / ENGINE
    if not (engine / "formats" / "__init__.py").is_file():
        raise InputError(f"{quote(folder)} holds no folder {ENGINE}/formats. Name a checkout of Sparsight.")
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
        # Whatever a tree does while it is imported, the reader has to mend that tree.
        raise InputError(f"The formats of {quote(folder)} cannot be imported: {quote(error)}.") from error


def _called(f: Any, side: Side) -> Format:
    """A format of a tree in the words of this one: its errors are ours, and it shares no layout with the other side."""
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
    """The same call; an error of the tree's own copy becomes that of the same name here."""

    def called(matrix: Any) -> Any:
        try:
            return call(matrix)
        except Exception as error:
            ours = getattr(errors, type(error).__name__, None)
            if ours is None or isinstance(error, ours):
                raise
            raise (ours if issubclass(ours, errors.SparsightError) else KernelError)(str(error)) from error

    return called
