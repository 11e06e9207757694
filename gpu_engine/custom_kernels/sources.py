"""References to custom kernels: `spmv.py:VECTOR` in a file, or an entry point `fast`; their code is imported late."""

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
"""Group of entry points: `fast = package.module:VECTOR` in the metadata of an installed package."""

FORMER_GROUP = "sparsight.contestants"
"""Former name of that group; packages that declare it are still found."""

PREFIX = "custom:"
"""Prefix of the names of custom kernels; no Sparsight format has it."""

CALLS = ("CustomKernel", "CustomCudaKernel", "Contestant", "CudaContestant", "Format")
"""Names of calls that create a custom kernel, including former names; they are found without running a file."""

EXPECTED = "expected FILE.py:NAME or the name of an entry point, followed by /VARIANT if the Format has several kernels"

KERNEL_MAX = 200
"""Longest name of a kernel, in characters; it is part of a case key and shown in tables and legends."""

_FORM = re.compile(r"(?P<place>.+\.py):(?P<symbol>[A-Za-z_]\w*)(?:/(?P<variant>[\w.-]+))?")
_ENTRY = re.compile(r"(?P<place>\w[\w.-]*)(?:/(?P<variant>[\w.-]+))?")
_PLAIN = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference to a custom kernel, as a caller writes it.

    place    path of a .py file, or the name of an entry point
    symbol   name in the file; empty for an entry point
    variant  kernel of a Format; empty if it has only one
    """

    place: str
    symbol: str = ""
    variant: str = ""

    @property
    def kernel(self) -> str:
        """Name in records and pages, such as `custom:spmv/vector`; known before any code is imported."""
        name = ".".join(filter(None, (self.symbol.lower(), self.variant)))
        return f"{PREFIX}{Path(self.place).stem if self.symbol else self.place}/{name or 'kernel'}"

    def __str__(self) -> str:
        named = f"{self.place}:{self.symbol}" if self.symbol else self.place
        return f"{named}/{self.variant}" if self.variant else named


def parse_reference(text: str) -> Reference:
    """Return the reference that a text denotes; raise ParameterError if it is invalid."""
    match = _FORM.fullmatch(text) or _ENTRY.fullmatch(text)
    # A stem becomes part of a kernel's name, which is part of a case's key.
    if match is None or not _PLAIN.fullmatch(Path(match["place"]).stem):
        raise ParameterError(f"{quote(text)} names no custom kernel: {EXPECTED}.")
    reference = Reference(**{name: value for name, value in match.groupdict().items() if value})
    if len(reference.kernel) > KERNEL_MAX:
        raise ParameterError(
            f"The name of {quote(text)} has {len(reference.kernel)} characters; the limit is {KERNEL_MAX}. "
            "Shorten the name of its file, object or variant."
        )
    return reference


def parse_references(texts: Sequence[str]) -> tuple[Reference, ...]:
    """Return the references that texts denote; raise ParameterError if two kernels have the same name."""
    references = tuple(map(parse_reference, texts))
    names = [reference.kernel for reference in references]
    for name in names:
        if names.count(name) > 1:
            raise ParameterError(f"Two custom kernels have the name {name}. Rename the file of one of them.")
    return references


def check_reference(reference: Reference) -> None:
    """Check without running any code that a reference exists; raise InputError if it does not."""
    if not reference.symbol:
        _entry_point(reference)
        return
    names = set(_top_names(Path(reference.place)))
    if reference.symbol not in names:
        known = ", ".join(sorted(names)) or "nothing"
        raise InputError(f"{quote(reference.place)} does not define {reference.symbol}; it defines {known}.")


def offered(folder: Path) -> tuple[str, ...]:
    """Return the references in a folder and the entry points of installed packages, without running any code.

    Files that are not Python and names that begin with an underscore are skipped.
    """
    files = sorted(path for path in folder.glob("*.py") if _PLAIN.fullmatch(path.stem) and path.name[0] != "_")
    in_files = [f"{path.name}:{name}" for path in files for name in _custom_kernels(path)]
    return (*in_files, *sorted({entry.name for entry in _entry_points() if _ENTRY.fullmatch(entry.name)}))


def in_folder(texts: Sequence[str], folder: Path | None) -> tuple[str, ...]:
    """Return the references of an outside caller, with the folder prepended to those of files.

    Raise ParameterError for a reference that is not offered, because no path of a caller may be followed.
    """
    if not texts:
        return ()
    if folder is None:
        raise ParameterError(
            "This server has no custom kernels. Its operator can set SPARSIGHT_CUSTOM_KERNELS to a folder of them."
        )
    known, located = offered(folder), []
    for text in texts:
        reference = parse_reference(text)
        if str(replace(reference, variant="")) not in known:
            raise ParameterError(f"There is no custom kernel {quote(text)}; known: {', '.join(known) or 'none'}.")
        located.append(str(replace(reference, place=str(folder / reference.place)) if reference.symbol else reference))
    return tuple(located)


def imported(reference: Reference) -> tuple[Any, str, str]:
    """Import a reference; return its object, the hash of its source and its file.

    Raise KernelError if the reference does not exist; exceptions of its code propagate.
    """
    if not reference.symbol:
        entry = _entry_point(reference)
        custom = entry.load()
        file = str(getattr(sys.modules.get(entry.module), "__file__", "") or "")
        return custom, _hash(Path(file)) if file else "", file
    path = Path(reference.place).resolve()
    source = _hash(path)
    module = _module(path, f"sparsight_custom_kernel_{path.stem}_{source}")
    if not hasattr(module, reference.symbol):
        raise KernelError(f"{path.name} does not define {reference.symbol}.")
    return getattr(module, reference.symbol), source, str(path)


def _module(path: Path, name: str) -> ModuleType:
    """Return the module of a file, shared by all its custom kernels; remove it if its code raises."""
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise KernelError(f"{quote(path)} is not a Python file.")
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
    """Return the entry points of both groups; GROUP overrides FORMER_GROUP."""
    return (*entry_points(group=FORMER_GROUP), *entry_points(group=GROUP))


def _entry_point(reference: Reference) -> EntryPoint:
    entries = {entry.name: entry for entry in _entry_points()}
    if reference.place not in entries:
        known = ", ".join(sorted(entries)) or "none is installed"
        raise InputError(f"There is no entry point {reference.place!r} in {GROUP}; known: {known}. {EXPECTED}.")
    return entries[reference.place]


def _tree(path: Path) -> ast.Module:
    """Return the parsed file; raise InputError with the line if it is not Python."""
    try:
        return ast.parse(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise InputError(f"{quote(path)} cannot be read: {error.strerror}.") from None
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(
            f"{quote(path)} is not valid Python{f', line {line}' if line else ''}: {quote(error)}."
        ) from None


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
    """Yield the names of a file that are assigned from one of CALLS."""
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
