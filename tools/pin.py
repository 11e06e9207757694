"""Prints constraints.txt: the versions of the environment it runs in, and those that CuPy's extras would add to it.

Run it as `.venv/bin/python tools/pin.py > constraints.txt` in an environment that passes every test.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CUPY = ("cupy-cuda13x[ctk]", "cupy-cuda12x[ctk]")
# The meta package has one version per CUDA version; its parts are pinned under names of their own.
UNPINNED = {"cuda-toolkit", "pip", "setuptools", "sparsight"}


def pip(*arguments: str) -> str:
    """What a pip command writes to stdout."""
    command = [sys.executable, "-m", "pip", *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def installed() -> dict[str, str]:
    """Version by name of every distribution in this environment."""
    packages = json.loads(pip("list", "--format=json"))
    return {canonical(package["name"]): package["version"] for package in packages}


def added(requirement: str, pins: Path) -> dict[str, str]:
    """Version by name of what the requirement installs, its dependencies included, under these pins."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        pip("install", "-qq", "--dry-run", "--ignore-installed", "-c", str(pins), "--report", report.name, requirement)
        found = [entry["metadata"] for entry in json.loads(Path(report.name).read_text())["install"]]
    return {canonical(metadata["name"]): metadata["version"] for metadata in found}


def canonical(name: str) -> str:
    """The name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def render(versions: dict[str, str]) -> str:
    """The pins as a constraints file."""
    return "".join(f"{name}=={version}\n" for name, version in sorted(versions.items()) if name not in UNPINNED)


def main() -> None:
    """Resolves and prints every pin."""
    versions = installed()
    with tempfile.TemporaryDirectory() as folder:
        pins = Path(folder) / "pins.txt"
        for requirement in CUPY:
            pins.write_text(render(versions))
            versions |= added(requirement, pins)
    sys.stdout.write(render(versions))


if __name__ == "__main__":
    main()
