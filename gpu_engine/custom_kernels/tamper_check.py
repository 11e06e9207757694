"""TamperCheck: detects and undoes what custom code replaced or set in the process that measures it."""

import builtins
import gc
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter, is_
from typing import Any

import numpy as np
import scipy.sparse

from gpu_engine.errors import KernelError
from gpu_engine.host.jit import numba

ENGINE = "gpu_engine"

CORE = tuple(f"{ENGINE}.{name}" for name in ("measure", "custom_kernels", "verify", "sampling", "studies.formats"))
"""Modules of the engine that time and verify."""

LIBRARIES = (
    *("builtins", "gc", "math", "operator", "os", "random", "secrets", "statistics", "time", "tracemalloc"),
    *("numpy", "numpy.random", "scipy.sparse", "scipy.sparse._sparsetools", "scipy.sparse._compressed"),
    *("cupy", "cupy.cuda", "cupy.cuda.runtime", "cupy.cuda.driver"),
)
"""Modules outside the engine that timing and verification depend on, if they are loaded."""

CLASSES = scipy.sparse.csr_array.__mro__[:-1]
"""Classes that compute the expected y."""

PARTS = ("__code__", "__defaults__", "__kwdefaults__")
"""Replaceable attributes of a function."""

every, each = all, map
"""Bound here, so that replacements in `builtins` cannot disable the check."""


class Attributes:
    """Snapshot of the attributes of a module, class or object.

    closed  whether no attribute may be added, because an added one could hide that of a class above it
    """

    def __init__(self, owner: Any, words: str, closed: bool = True) -> None:
        self._owner, self._words, self._closed = owner, words, closed
        self._now: Mapping[str, Any] = vars(owner)
        self._known = frozenset(self._now)
        self._count = len(self._known)
        sealed = {name: value for name, value in self._now.items() if _counts(name, value)}
        self._names, self._values = tuple(sealed), tuple(sealed.values())

    @property
    def is_whole(self) -> bool:
        """Return whether no attribute was replaced, added or removed."""
        return len(self._now) == self._count and every(each(is_, each(self._now.get, self._names), self._values))

    def mend(self) -> Iterator[str]:
        """Restore replaced attributes, delete added ones, and yield their names."""
        for name, value in zip(self._names, self._values, strict=True):
            if self._now.get(name) is not value:
                setattr(self._owner, name, value)
                yield f"{self._words}.{name}"
        for name in sorted(self._now.keys() - self._known):
            if (self._closed and _counts(name, self._now[name])) or hasattr(builtins, name):
                delattr(self._owner, name)
                yield f"{self._words}.{name}"
        self._count = len(self._now)

    @property
    def functions(self) -> Iterator[types.FunctionType]:
        """Yield the functions among the attributes, for methods the underlying function."""
        callables = (getattr(value, "__func__", value) for value in self._values)
        yield from (value for value in callables if isinstance(value, types.FunctionType))


def _counts(name: str, value: Any) -> bool:
    """Return whether an attribute is checked, because Python does not change it by itself."""
    return name[:2] != "__" or callable(value)


class Parts:
    """Snapshot of one attribute of many functions."""

    def __init__(self, functions: Sequence[types.FunctionType], part: str) -> None:
        self._functions, self._part, self._get = functions, part, attrgetter(part)
        self._values = tuple(map(self._get, functions))

    @property
    def is_whole(self) -> bool:
        """Return whether none was replaced."""
        return every(each(is_, each(self._get, self._functions), self._values))

    def mend(self) -> Iterator[str]:
        """Restore replaced parts and yield the names of their functions."""
        for function, value in zip(self._functions, self._values, strict=True):
            if self._get(function) is not value:
                setattr(function, self._part, value)
                yield f"the code of {function.__module__}.{function.__qualname__}"


@dataclass(frozen=True, slots=True)
class Setting:
    """Snapshot of a setting of the process, with its description."""

    words: str
    read: Callable[[], Any]
    write: Callable[[Any], Any]
    value: Any

    @property
    def is_whole(self) -> bool:
        """Return whether it is unchanged."""
        return bool(self.read() == self.value)

    def mend(self) -> Iterator[str]:
        """Restore it if it was changed, and yield its description."""
        if not self.is_whole:
            self.write(self.value)
            yield self.words


Snapshot = Attributes | Parts | Setting
"""Kinds of snapshots."""


class TamperCheck:
    """Snapshots of the engine, of the libraries that it measures with, and of the settings of the process.

    instances  objects whose attributes are checked too

    Modules may get new names, as by late imports, unless a name hides one of Python's builtins. Writes to memory that
    bypass Python are not detected.
    """

    def __init__(self, *instances: object, backend: str = "cpu") -> None:
        names = [name for name in sys.modules if name.partition(".")[0] == ENGINE]
        core = [name for name in names if name.startswith(CORE)]
        near = [*_modules((*core, *LIBRARIES)), *(Attributes(owner, _words(owner)) for owner in (*CLASSES, *instances))]
        far = list(_modules([name for name in names if name not in core]))
        self._near: tuple[Snapshot, ...] = (*near, *_parts(near), *_settings(backend))
        self._all: tuple[Snapshot, ...] = (*self._near, *far, *_parts(far))

    def check(self, glance: bool = False) -> None:
        """Restore everything that was changed, then raise KernelError with the names of the changes.

        glance  checks only what the timing itself depends on, a tenth of all
        """
        looked = self._near if glance else self._all
        broken = [words for sealed in looked if not sealed.is_whole for words in sealed.mend()]
        if broken:
            more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
            raise KernelError(f"rejected: it replaced {broken[0]}{more}, which the measurement depends on")


def _parts(known: Sequence[Attributes]) -> Iterator[Parts]:
    """Yield the snapshots of all functions among them."""
    functions = tuple({id(f): f for attributes in known for f in attributes.functions}.values())
    return (Parts(functions, part) for part in PARTS)


def _words(owner: Any) -> str:
    return owner.__qualname__ if isinstance(owner, type) else f"a {type(owner).__name__}"


def _modules(names: Sequence[str]) -> Iterator[Attributes]:
    """Yield the snapshots of the loaded modules, and of the classes of the engine."""
    for name in names:
        module = sys.modules.get(name)
        if module is None:
            continue
        yield Attributes(module, name, closed=False)
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == name and name.partition(".")[0] == ENGINE:
                yield Attributes(value, f"{name}.{value.__qualname__}")


def _settings(backend: str) -> Iterator[Setting]:
    known: list[tuple[str, Callable[[], Any], Callable[[Any], Any]]] = [
        ("Numba's number of threads", numba.get_num_threads, numba.set_num_threads),
        ("the cores of the process", lambda: os.sched_getaffinity(0), lambda value: os.sched_setaffinity(0, value)),
        ("the switch interval of threads", sys.getswitchinterval, sys.setswitchinterval),
        ("the trace function", sys.gettrace, sys.settrace),
        ("the profile function", sys.getprofile, sys.setprofile),
        ("garbage collection", gc.isenabled, lambda on: gc.enable() if on else gc.disable()),
        ("NumPy's handling of floating-point errors", np.geterr, lambda value: np.seterr(**value)),
    ]
    if backend == "cuda":
        import cupy

        runtime = cupy.cuda.runtime
        known += [
            ("the current GPU", runtime.getDevice, runtime.setDevice),
            ("the current CUDA stream", cupy.cuda.get_current_stream, lambda stream: stream.use()),
        ]
    return (Setting(words, read, write, read()) for words, read, write in known)
