"""`python light.py PROGRAM ARGUMENT…`: runs it as if nothing but what a client needs were installed."""

import sys
import tomllib
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import packages_distributions, requires
from pathlib import Path
from types import ModuleType

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def closure(wanted: Sequence[str]) -> set[str]:
    """The distributions that these requirements bring."""
    found: set[str] = set()
    names = [(requirement.name, requirement.extras) for requirement in map(Requirement, wanted)]
    while names:
        name, extras = names.pop()
        if canonicalize_name(name) in found:
            continue
        found.add(canonicalize_name(name))
        for requirement in map(Requirement, requires(name) or ()):
            environments = [{"extra": extra} for extra in (extras or {""})]
            if not requirement.marker or any(requirement.marker.evaluate(each) for each in environments):
                names.append((requirement.name, requirement.extras))
    return found


class Blocked(MetaPathFinder):
    """Finds no module of another distribution than those."""

    def __init__(self, allowed: set[str]) -> None:
        owners = packages_distributions()
        self._hidden = {m for m in owners if not any(canonicalize_name(owner) in allowed for owner in owners[m])}

    def find_spec(self, fullname: str, path: object = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Raises ModuleNotFoundError as if it were not installed."""
        if fullname.partition(".")[0] in self._hidden:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


if __name__ == "__main__":
    sys.meta_path.insert(0, Blocked(closure(PROJECT["dependencies"]) | {"sparsight"}))
    program, sys.argv[1:] = sys.argv[1], sys.argv[2:]
    exec(program)
