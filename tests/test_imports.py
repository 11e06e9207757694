"""The arrows web → server → gpu_engine, and what the API process must never load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("gpu_engine", "server", "web", "sparsight")

FORBIDDEN = {
    "gpu_engine": {"server", "web", "sparsight", "fastapi", "sqlalchemy", "plotly", "pydantic", "httpx", "ray"},
    "server": {"web", "sparsight", "plotly", "numba"},
    "web": {"sparsight", "ray", "cupy", "numba"},
    "sparsight": {"numba"},
}
"""What no module of a package may import, at the top or inside a function; gpu_engine places Numba's cache first."""

WIRING = ("server/main.py", "web")
"""The one module that may cross an arrow, and the package it may import."""


def imports(source: str) -> set[str]:
    """The top packages that a module imports anywhere in its text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def violations(package: str, path: Path) -> set[str]:
    """The forbidden packages that the module imports."""
    crossed = imports(path.read_text(encoding="utf-8")) & FORBIDDEN[package]
    return crossed - {WIRING[1]} if path.relative_to(ROOT).as_posix() == WIRING[0] else crossed


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_imports_against_the_arrows(package: str) -> None:
    modules = sorted((ROOT / package).rglob("*.py"))
    assert modules
    assert {str(path): found for path in modules if (found := violations(package, path))} == {}


def test_imports_are_found_wherever_they_stand() -> None:
    source = "import a.b as c\ndef f():\n    from d.e import g\n    if g:\n        import h\nfrom . import near\n"
    assert imports(source) == {"a", "d", "h"}


@pytest.mark.parametrize("module", ["server.main", "sparsight.cli", "sparsight.client", "sparsight.serve"])
def test_the_api_process_starts_without_what_takes_long_to_load(module: str) -> None:
    program = f"import {module}, sys; print(*sorted({{'ray', 'cupy', 'ruptures'}} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == []


@pytest.mark.parametrize(
    ("program", "heavy"),
    [("import sparsight", "numba numpy httpx"), ("from sparsight import operator", "httpx fastapi ray cupy torch")],
)
def test_who_imports_sparsight_loads_what_is_used(program: str, heavy: str) -> None:
    program += f"; import sys; print(*sorted(set({heavy.split()}) & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout.split()) == (0, []), ended.stderr


def test_the_engine_is_importable_without_cupy() -> None:
    program = (
        "import sys; sys.modules['cupy'] = None\n"
        "import gpu_engine.studies, gpu_engine.formats, gpu_engine.device, gpu_engine.measure, gpu_engine.__main__\n"
        "import gpu_engine.operators"
    )
    ended = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_every_package_folder_is_a_package() -> None:
    folders = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
