"""Cut: the source code that some functions use, from several modules, in one namespace and without annotations."""

import ast
import copy
import functools
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

PACKAGE = "gpu_engine."
"""Package whose definitions are copied; other modules are imported."""

Place = tuple[str, str]
"""Location of a top-level definition: (module, name)."""

NOWHERE = ("", "")

CALLED, READ = "()", "."
"""Pseudo-modules for attributes of objects that are called (methods) or read (properties)."""

SCOPES = (ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Cut:
    """The definitions that are reachable from some functions and methods, possibly bound to arguments.

    given  definitions that the text provides itself, with the arguments that they take there; they are not followed
    """

    def __init__(self, roots: Collection[Callable[..., object]], given: Mapping[Place, slice]) -> None:
        self._reached: dict[Place, ast.stmt] = {}
        self._imports: dict[str, str] = {}
        self._attributes: set[Place] = set()
        self._given = given
        for root in roots:
            place, method = _place(root)
            self._attributes.add((CALLED, method))
            self._reach(place)
            for argument in _arguments(root).values():
                if callable(argument):
                    self._reach(_place(argument)[0])
        known = -1
        while known != (known := len(self._attributes) + len(self._reached)):
            for (module, _), node in list(self._reached.items()):
                _Flat(module, self._given, self._use).visit(self._without_unused_methods(node))

    @functools.cached_property
    def names(self) -> dict[Place, str]:
        """Name of each definition, with the module as prefix if the name is not unique."""
        places = {*self._reached, *self._given}
        often = Counter(name for _, name in places)
        nodes = (child for node in self._reached.values() for child in ast.walk(node) if isinstance(child, SCOPES))
        often.update({name for node in nodes for name in _bound(node)})
        return {
            (module, name): name if often[name] == 1 else f"{module.rpartition('.')[2]}_{name.lstrip('_')}"
            for module, name in places
        }

    @property
    def imports(self) -> Collection[str]:
        """Import statements of other packages."""
        return self._imports.values()

    @property
    def definitions(self) -> Iterator[str]:
        """Source text of the definitions; imported modules come before their importers."""
        names = self.names
        for module in _in_order({module for module, _ in self._reached}):
            places = _tree(module).places
            for node in dict.fromkeys(places[name] for name in places if (module, name) in self._reached):
                flat = _Flat(module, self._given, lambda place: names.get(place, place[1])).visit(
                    self._without_unused_methods(node)
                )
                gap = "\n" if isinstance(node, ast.FunctionDef | ast.ClassDef) else ""
                yield gap + ast.unparse(ast.fix_missing_locations(flat))

    def call(self, root: Callable[..., object], argument: str) -> str:
        """Return the source text of a call of a root with one more argument."""
        place, method = _place(root)
        bound = _arguments(root)
        written = {k: self.names[_place(v)[0]] if callable(v) else repr(v) for k, v in bound.items()}
        before = [text for k, text in written.items() if isinstance(k, int)]
        named = [f"{k}={text}" for k, text in written.items() if isinstance(k, str)]
        function = self.names[place] + (f".{method}" if method else "")
        return f"{function}({', '.join((*before, argument, *named))})"

    def _reach(self, place: Place) -> None:
        module, name = place
        if place in self._given or place in self._reached:
            return
        tree = _tree(module)
        if name in tree.places:
            self._reached[place] = tree.places[name]
        elif name in tree.foreign:
            self._imports[name] = tree.foreign[name]

    def _use(self, place: Place) -> str:
        module, name = place
        if module in (CALLED, READ):
            self._attributes.add(place)
        else:
            self._reach(place)
        return name

    def _without_unused_methods(self, node: ast.stmt) -> ast.stmt:
        """Return a copy of a definition; classes lose their unused methods."""
        node = copy.deepcopy(node)
        if isinstance(node, ast.ClassDef):
            node.body = [part for part in node.body if not isinstance(part, ast.FunctionDef) or self._is_used(part)]
        return node

    def _is_used(self, method: ast.FunctionDef) -> bool:
        is_property = any(isinstance(d, ast.Name) and d.id == "property" for d in method.decorator_list)
        return (READ if is_property else CALLED, method.name) in self._attributes or method.name.startswith("__")


def _place(function: Callable[..., object]) -> tuple[Place, str]:
    """Return the location of a function, and the name of the method if it is one."""
    while isinstance(function, functools.partial):
        function = function.func
    name, _, method = function.__qualname__.partition(".")
    return (function.__module__, name), method


def _arguments(function: Callable[..., object]) -> dict[int | str, Any]:
    """Return the bound arguments of a function, by position or name."""
    if not isinstance(function, functools.partial):
        return {}
    return dict(enumerate(function.args)) | dict(function.keywords)


@dataclass(frozen=True)
class _Tree:
    """The top-level names of a module.

    places   name → definition; foreign: name → import statement of another package
    modules  name → module of the package; names: name → location of its definition in the package
    """

    places: dict[str, ast.stmt] = field(default_factory=dict)
    foreign: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    names: dict[str, Place] = field(default_factory=dict)


@functools.cache
def _tree(module: str) -> _Tree:
    tree = _Tree()
    for node in ast.parse(inspect.getsource(import_module(module))).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            tree.places[node.name] = node
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            stored = (child for target in targets for child in ast.walk(target))
            tree.places.update({child.id: node for child in stored if isinstance(child, ast.Name)})
        elif isinstance(node, ast.Import | ast.ImportFrom):
            _note_imports(node, tree)
    return tree


def _note_imports(node: ast.Import | ast.ImportFrom, tree: _Tree) -> None:
    origin = getattr(node, "module", "") or ""
    for alias in node.names:
        name = alias.asname or alias.name
        if not f"{origin}.".startswith(PACKAGE):
            only = copy.copy(node)
            only.names = [alias]
            tree.foreign[name] = ast.unparse(only)
        elif hasattr(import_module(origin), "__path__") and find_spec(f"{origin}.{alias.name}"):
            tree.modules[name] = f"{origin}.{alias.name}"
        else:
            tree.names[name] = origin, alias.name


def _in_order(modules: Collection[str]) -> Iterator[str]:
    """Return the modules in an order in which imported modules come first."""
    done: dict[str, None] = {}

    def add(module: str) -> None:
        if module not in done:
            tree = _tree(module)
            for other in (*tree.modules.values(), *(origin for origin, _ in tree.names.values())):
                add(other)
            done[module] = None

    for module in sorted(modules):
        add(module)
    return (module for module in done if module in modules)


class _Flat(ast.NodeTransformer):
    """Transformer of a definition to the common namespace: `name_of` returns the new name of a location.

    It also receives attributes, as CALLED or READ. Annotations and docstrings are removed; fields keep `object`.
    """

    def __init__(self, module: str, given: Mapping[Place, slice], name_of: Callable[[Place], str]) -> None:
        self._module, self._given, self._name_of, self._tree = module, given, name_of, _tree(module)
        self._bound: list[set[str]] = []
        self._top: ast.AST | None = None

    def visit(self, node: ast.AST) -> Any:
        """Visit a node; local names of functions and comprehensions are not names of the module."""
        self._top = self._top or node
        if not isinstance(node, SCOPES):
            return super().visit(node)
        self._bound.append(_bound(node))
        try:
            return super().visit(node)
        finally:
            self._bound.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """Remove annotations and docstring of a function."""
        node.returns, node.body = None, _without_docstring(node.body)
        node.name = self._of_module(node.name) if node is self._top else node.name
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Remove the docstring of a class."""
        node.body, node.name = _without_docstring(node.body), self._of_module(node.name)
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        """Remove the annotation of an argument."""
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        """Replace an annotation by `object`, which dataclasses need."""
        node.annotation = ast.Name("object", ast.Load())
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Rename a name, unless a function binds it."""
        if not self._is_bound(node.id):
            node.id = self._of_module(node.id)
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Reduce the arguments of given definitions, and report called attributes."""
        function = node.func
        if isinstance(function, ast.Name) and (
            arguments := self._given.get(self._tree.names.get(function.id, NOWHERE))
        ):
            node.args = node.args[arguments]
        if isinstance(function, ast.Attribute):
            self._name_of((CALLED, function.attr))
        return self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Replace an attribute of a module of the package, such as `tiles.cut`, by its new name."""
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id in self._tree.modules and not self._is_bound(owner.id):
            return ast.Name(self._resolved((self._tree.modules[owner.id], node.attr)), node.ctx)
        self._name_of((READ, node.attr))
        return self.generic_visit(node)

    def _is_bound(self, name: str) -> bool:
        return any(name in names for names in self._bound)

    def _of_module(self, name: str) -> str:
        if name in self._tree.names:
            return self._resolved(self._tree.names[name])
        known = name in self._tree.places or name in self._tree.foreign
        return self._name_of((self._module, name)) if known else name

    def _resolved(self, place: Place) -> str:
        """Return the new name of a location, following re-exports to the definition."""
        while place[1] in (names := _tree(place[0]).names):
            place = names[place[1]]
        return self._name_of(place)


def _bound(node: ast.AST) -> set[str]:
    """Return the local names of a function or comprehension."""
    names = {child.arg for child in ast.walk(node) if isinstance(child, ast.arg)}
    names |= {c.id for c in ast.walk(node) if isinstance(c, ast.Name) and isinstance(c.ctx, ast.Store)}
    names |= {c.name for c in ast.walk(node) if isinstance(c, ast.FunctionDef) and c is not node}
    return names | {
        a.asname or a.name for c in ast.walk(node) if isinstance(c, ast.Import | ast.ImportFrom) for a in c.names
    }


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        body = body[1:]
    return body or [ast.Pass()]
