"""The arrows web → server → gpu_engine, the floors inside packages, and what the API process must never load."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.floors import FLOORS, arrows, circles, rooms, upward

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


@pytest.mark.parametrize("package", FLOORS)
def test_imports_go_down_the_floors(package: str) -> None:
    assert upward(package, arrows(package)) == []


@pytest.mark.parametrize("package", PACKAGES)
def test_no_modules_and_no_rooms_import_each_other_in_a_circle(package: str) -> None:
    between = arrows(package)
    assert len(between) > 30
    assert circles(between) == []
    assert circles(rooms(package, between)) == []


def test_an_import_that_goes_up_a_room_on_no_floor_and_circles_are_seen() -> None:
    top = "gpu_engine.studies.formats"
    between = {"gpu_engine.formats.csr": {top}, top: {"gpu_engine.new.x"}, "gpu_engine.new.x": {"gpu_engine.records"}}
    assert upward("gpu_engine", between) == [
        "gpu_engine.formats.csr -> gpu_engine.studies.formats",
        "new could stand on floor 2",
    ]
    assert upward("gpu_engine", {top: {"gpu_engine.studies.base", "gpu_engine.findings.data"}}) == []
    assert upward("gpu_engine", {"gpu_engine.errors": {"gpu_engine.rounds"}}) == [
        "gpu_engine.errors -> gpu_engine.rounds"
    ]
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e"}}) == [
        ["a", "b", "c"],
        ["e", "f"],
    ]
    found = arrows("gpu_engine")
    # Of types alone, inside a function, and of a package's own module.
    assert "gpu_engine.pagerank.converging" in found["gpu_engine.studies.pagerank.timed_run"]
    assert "gpu_engine.measure.cuda" in found["gpu_engine.measure.bench"]
    assert "gpu_engine.studies.formats" in found["gpu_engine.studies"]


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
        "import gpu_engine.studies, gpu_engine.formats, gpu_engine.host.device, gpu_engine.measure\n"
        "import gpu_engine.__main__, gpu_engine.operators"
    )
    ended = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_every_package_folder_is_a_package() -> None:
    folders = {path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
