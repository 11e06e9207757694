"""Writes locked/: what is installed, every version with the sha256 of each of its files.

`python tools/lock.py` takes the versions of constraints.txt; with `--upgrade` the newest that pyproject.toml allows,
which it writes there. `base` is what a server needs, `build` what it is built with; each extra has what it adds to
`base`, where a package may be for other platforms only. uv resolves for every platform and Python at once.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
CONSTRAINTS = ROOT / "constraints.txt"
LOCKED = ROOT / "locked"
EXTRAS = ("cuda12", "cuda13", "nvrtc", "test", "check", "lock")
BUILD = "hatchling>=1.27\neditables>=0.5\npip>=26\n"
CLIENT = "openapi-python-client>=0.29\n"
OVERRIDE = "typer>=0.20\n"
"""The tests read with openapi-python-client, which asks for an older Typer than ours, but not in earnest."""

OF_CUDA = ("cuda-toolkit",)
"""The meta package has one version per CUDA version; its parts are constrained under names of their own."""

HEAD = "# tools/lock.py writes this file: pip install --require-hashes --no-deps --requirement …\n"
OPTIONS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate", "--no-header", "--quiet")


SERVER = ("pyproject.toml", "--extra", "server")


def resolve(arguments: list[str], constrained: str) -> dict[str, str]:
    """What the requirements need: the line with the hashes by name and version.

    constrained  the pins to keep to
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.write(constrained)
        pins.flush()
        command = [str(Path(sys.executable).with_name("uv")), "pip", "compile", *arguments, *OPTIONS, "-c", pins.name]
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    lines = re.findall(r"^[^\s#].*(?:\n +--hash.*)+", found, re.M)
    return {line.split()[0]: line for line in lines}


def groups(constrained: str) -> dict[str, dict[str, str]]:
    """The lines of every file of locked/."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in ("build.in", "client.in", "override.txt")}
        for file, text in zip(files.values(), (BUILD, CLIENT, OVERRIDE), strict=True):
            file.write_text(text)
        more = {"test": [str(files["client.in"]), "--override", str(files["override.txt"])]}
        base = resolve([*SERVER], constrained)
        found = {"base": base, "build": resolve([str(files["build.in"])], constrained)}
        for extra in EXTRAS:
            needed = resolve([*SERVER, "--extra", extra, *more.get(extra, [])], constrained)
            found[extra] = {pin: line for pin, line in needed.items() if base.get(pin) != line}
        return found


def name_of(pin: str) -> str:
    """The name before the version."""
    return pin.partition("==")[0]


def pins_of(found: dict[str, dict[str, str]]) -> str:
    """The pins of all files as constraints."""
    pins = {pin for group in found.values() for pin in group if name_of(pin) not in OF_CUDA}
    return "".join(f"{pin}\n" for pin in sorted(pins, key=name_of))


def newest() -> str:
    """Pins of the newest versions that all extras agree on, as far as they can be installed together."""
    together = [word for extra in EXTRAS if extra != "cuda12" for word in ("--extra", extra)]
    pins = "".join(f"{pin}\n" for pin in resolve([*SERVER, *together], ""))
    return "".join(line for line in pins.splitlines(keepends=True) if name_of(line) not in OF_CUDA)


def main() -> None:
    """Resolves, then writes everything."""
    upgrade = sys.argv[1:] == ["--upgrade"]
    found = groups(newest() if upgrade else CONSTRAINTS.read_text())
    LOCKED.mkdir(exist_ok=True)
    for name, lines in found.items():
        text = "".join(f"{line}\n" for _, line in sorted(lines.items(), key=lambda entry: name_of(entry[0])))
        (LOCKED / f"{name}.txt").write_text(HEAD + text)
    CONSTRAINTS.write_text(pins_of(found))


if __name__ == "__main__":
    main()
