"""References to custom kernels: `spmv.py:VECTOR` in a file or an entry point `fast`; their code is imported late."""

import ast
import importlib.util
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from gpu_engine.cuda.load import digest
from gpu_engine.errors import InputError, KernelError, ParameterError, quote

GROUP = "sparsight.custom_kernels"
"""The group of entry points: `fast = package.module:VECTOR` in the metadata of an installed package."""

FORMER_GROUP = "sparsight.contestants"
"""What that group was called; packages that declare it are still found."""

PREFIX = "custom:"
"""What names of custom kernels begin with: no format of ours ever does."""

CALLS = ("CustomKernel", "CustomCudaKernel", "Contestant", "CudaContestant", "Format")
"""Calls that make a custom kernel, former names among them; a folder's files are listed without running them."""

EXPECTED = "expected FILE.py:NAME, or the name of an entry point, and /VARIANT behind it where a Format has several"

KERNEL_MAX = 200
"""Longest name of a kernel; it is part of a case's key, and stands in tables and legends."""

_FORM = re.compile(r"(?P<place>.+\.py):(?P<symbol>[A-Za-z_]\w*)(?:/(?P<variant>[\w.-]+))?")
_ENTRY = re.compile(r"(?P<place>\w[\w.-]*)(?:/(?P<variant>[\w.-]+))?")
_PLAIN = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Reference:
    """What a caller names.

    place    path of a .py file, or the name of an entry point
    symbol   name in the file; empty for an entry point
    variant  which kernel of a Format; empty where it has one
    """

    place: str
    symbol: str = ""
    variant: str = ""

    @property
    def kernel(self) -> str:
        """`custom:spmv/vector`: how records and pages name the kernel; known before any code is imported."""
        own = ".".join(filter(None, (self.symbol.lower(), self.variant)))
        return f"{PREFIX}{Path(self.place).stem if self.symbol else self.place}/{own or 'kernel'}"

    def __str__(self) -> str:
        named = f"{self.place}:{self.symbol}" if self.symbol else self.place
        return f"{named}/{self.variant}" if self.variant else named


def parse_reference(text: str) -> Reference:
    """The reference that a text is; raises ParameterError."""
    found = _FORM.fullmatch(text) or _ENTRY.fullmatch(text)
    # A stem becomes part of a kernel's name, which is part of a case's key.
    if found is None or not _PLAIN.fullmatch(Path(found["place"]).stem):
        raise ParameterError(f"{quote(text)} names no custom kernel: {EXPECTED}.")
    reference = Reference(**{name: value for name, value in found.groupdict().items() if value})
    if len(reference.kernel) > KERNEL_MAX:
        raise ParameterError(
            f"{quote(text)} would be called by {len(reference.kernel)} characters; a kernel has at most {KERNEL_MAX}. "
            "Rename its file, its object or its variant."
        )
    return reference


def parse_references(texts: Sequence[str]) -> tuple[Reference, ...]:
    """The same of several; raises ParameterError where two kernels would have one name."""
    references = tuple(map(parse_reference, texts))
    names = [reference.kernel for reference in references]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"Two custom kernels would be called {name}; give them files of different names.")
    return references


def check_reference(reference: Reference) -> None:
    """Looks whether a reference leads somewhere, without running any code; raises InputError."""
    if not reference.symbol:
        _entry_point(reference)
        return
    names = set(_top_names(Path(reference.place)))
    if reference.symbol not in names:
        known = ", ".join(sorted(names)) or "nothing"
        raise InputError(f"{quote(reference.place)} defines no {reference.symbol}; it defines {known}.")


def offered(folder: Path) -> tuple[str, ...]:
    """What can be named in a folder, and the entry points of installed packages: read, never run.

    A file that is no Python offers nothing; names that begin with an underscore are left out.
    """
    files = sorted(path for path in folder.glob("*.py") if _PLAIN.fullmatch(path.stem) and path.name[0] != "_")
    found = [f"{path.name}:{name}" for path in files for name in _custom_kernels(path)]
    return (*found, *sorted({entry.name for entry in _entry_points() if _ENTRY.fullmatch(entry.name)}))


def in_folder(texts: Sequence[str], folder: Path | None) -> tuple[str, ...]:
    """References as a caller from outside gives them, with the folder before those of files.

    Raises ParameterError for what is not offered: no path of a caller is ever followed.
    """
    if not texts:
        return ()
    if folder is None:
        raise ParameterError("This server measures no custom kernels: its operator has named no folder of them.")
    known, located = offered(folder), []
    for text in texts:
        reference = parse_reference(text)
        if str(replace(reference, variant="")) not in known:
            raise ParameterError(f"There is no custom kernel {quote(text)}; known: {', '.join(known) or 'none'}.")
        located.append(str(replace(reference, place=str(folder / reference.place)) if reference.symbol else reference))
    return tuple(located)


def imported(reference: Reference) -> tuple[Any, str, str]:
    """The object behind a reference, the hash of its source and its file: here its code runs.

    Raises KernelError where there is none, and lets through what the code raises.
    """
    if not reference.symbol:
        entry = _entry_point(reference)
        found = entry.load()
        file = str(getattr(sys.modules.get(entry.module), "__file__", "") or "")
        return found, _hash(Path(file)) if file else "", file
    path = Path(reference.place).resolve()
    source = _hash(path)
    module = _module(path, f"sparsight_custom_kernel_{path.stem}_{source}")
    if not hasattr(module, reference.symbol):
        raise KernelError(f"{path.name} defines no {reference.symbol}.")
    return getattr(module, reference.symbol), source, str(path)


def _module(path: Path, name: str) -> ModuleType:
    """The module of a file, which all custom kernels of it share; what is raised leaves none behind."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise KernelError(f"{quote(path)} is no Python file.")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _hash(path: Path) -> str:
    return digest(path.read_text(encoding="utf-8", errors="replace"))


def _entry_points() -> tuple[EntryPoint, ...]:
    """Declared under the former group or the present one, which wins."""
    return (*entry_points(group=FORMER_GROUP), *entry_points(group=GROUP))


def _entry_point(reference: Reference) -> EntryPoint:
    found = {entry.name: entry for entry in _entry_points()}
    if reference.place not in found:
        known = ", ".join(sorted(found)) or "none is installed"
        raise InputError(f"There is no entry point {reference.place!r} in {GROUP}; known: {known}. {EXPECTED}.")
    return found[reference.place]


def _tree(path: Path) -> ast.Module:
    """The parsed file; raises InputError, naming the line where it is no Python."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise InputError(f"{quote(path)} cannot be read: {error.strerror}.") from None
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(f"{quote(path)} is no Python{f', line {line}' if line else ''}: {quote(error)}.") from None


def _top_names(path: Path) -> Iterator[str]:
    for node in _tree(path).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        else:
            yield from _assigned(node)


def _assigned(node: ast.stmt) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _custom_kernels(path: Path) -> Iterator[str]:
    """The names of a file that a call makes which is a custom kernel's by its name."""
    try:
        body = _tree(path).body
    except InputError:
        return
    for node in body:
        value = getattr(node, "value", None)
        if isinstance(value, ast.Call) and _called(value.func) in CALLS:
            yield from (name for name in _assigned(node) if name[0] != "_")


def _called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
