"""Bundle: the modules of the pages as one script, so that a page asks for one file instead of one per module."""

import re
from collections.abc import Mapping

IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
EXPORT = re.compile(r"^export (?=(?:async )?function (\w+)|(?:const|let|class) (\w+))", re.MULTILINE)


def bundle(modules: Mapping[str, str], entry: str) -> str:
    """Return the entry and all modules that it imports, each in a function of its own, after those it imports.

    modules  file name → text

    Raises ValueError if modules import each other in a circle, or in a form that the bundle does not know.
    """
    parts: dict[str, str] = {}
    _add(entry, modules, parts, ())
    return "const modules = {};\n" + "".join(parts.values()) + "export { modules };\n"


def _add(name: str, modules: Mapping[str, str], parts: dict[str, str], importers: tuple[str, ...]) -> None:
    """Add a module and all that it imports, unless they are there."""
    if name in importers:
        raise ValueError(f"Modules import each other: {' → '.join((*importers, name))}.")
    if name in parts:
        return
    text = modules[name]
    for match in IMPORT.finditer(text):
        _add(match[2], modules, parts, (*importers, name))
    exported = [match[1] or match[2] for match in EXPORT.finditer(text)]
    body = EXPORT.sub("", IMPORT.sub(r'const {\1} = modules["\2"];' + "\n", text))
    if unknown := re.search(r"^(?:import|export)\b.*", body, re.MULTILINE):
        raise ValueError(f"{name}: the bundle does not know {unknown[0]!r}.")
    parts[name] = f'modules["{name}"] = (() => {{\n{body}return {{ {", ".join(exported)} }};\n}})();\n'
