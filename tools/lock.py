"""Write locked/: the packages to install, every version with the sha256 of each of its files.

`python tools/lock.py` uses the versions of constraints.txt; with `--upgrade`, the newest that pyproject.toml allows,
which it writes to constraints.txt. `base` is for a server, `build` for building it; each extra has the packages that it
adds to `base`. A package may be for other platforms only: uv resolves for every platform and Python version at once.
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
"""openapi-python-client, which the tests use, requires an older Typer than we do, but works with this one."""

OF_CUDA = ("cuda-toolkit",)
"""Meta packages with one version per CUDA version; their parts are constrained by their own names."""

HEAD = "# tools/lock.py writes this file: pip install --require-hashes --no-deps --requirement …\n"
OPTIONS = ("--universal", "--python-version", "3.11", "--generate-hashes", "--no-annotate", "--no-header", "--quiet")


SERVER = ("pyproject.toml", "--extra", "server")


def resolve(arguments: list[str], constrained: str) -> dict[str, str]:
    """Return the resolved requirements: name and version → the line with the hashes.

    constrained  the pins to keep
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as pins:
        pins.write(constrained)
        pins.flush()
        command = [str(Path(sys.executable).with_name("uv")), "pip", "compile", *arguments, *OPTIONS, "-c", pins.name]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=ROOT).stdout
    lines = re.findall(r"^[^\s#].*(?:\n +--hash.*)+", output, re.M)
    return {line.split()[0]: line for line in lines}


def groups(constrained: str) -> dict[str, dict[str, str]]:
    """Return the lines of every file of locked/."""
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / name for name in ("build.in", "client.in", "override.txt")}
        for file, text in zip(files.values(), (BUILD, CLIENT, OVERRIDE), strict=True):
            file.write_text(text)
        more = {"test": [str(files["client.in"]), "--override", str(files["override.txt"])]}
        base = resolve([*SERVER], constrained)
        lines_by_file = {"base": base, "build": resolve([str(files["build.in"])], constrained)}
        for extra in EXTRAS:
            needed = resolve([*SERVER, "--extra", extra, *more.get(extra, [])], constrained)
            lines_by_file[extra] = {pin: line for pin, line in needed.items() if base.get(pin) != line}
        return lines_by_file


def name_of(pin: str) -> str:
    """Return the name before the version."""
    return pin.partition("==")[0]


def pins_of(lines_by_file: dict[str, dict[str, str]]) -> str:
    """Return the pins of all files as constraints."""
    pins = {pin for group in lines_by_file.values() for pin in group if name_of(pin) not in OF_CUDA}
    return "".join(f"{pin}\n" for pin in sorted(pins, key=name_of))


def newest() -> str:
    """Return pins of the newest versions that all extras support together."""
    together = [word for extra in EXTRAS if extra != "cuda12" for word in ("--extra", extra)]
    pins = "".join(f"{pin}\n" for pin in resolve([*SERVER, *together], ""))
    return "".join(line for line in pins.splitlines(keepends=True) if name_of(line) not in OF_CUDA)


def main() -> None:
    """Resolve, then write all files."""
    upgrade = sys.argv[1:] == ["--upgrade"]
    lines_by_file = groups(newest() if upgrade else CONSTRAINTS.read_text())
    LOCKED.mkdir(exist_ok=True)
    for name, lines in lines_by_file.items():
        text = "".join(f"{line}\n" for _, line in sorted(lines.items(), key=lambda entry: name_of(entry[0])))
        (LOCKED / f"{name}.txt").write_text(HEAD + text)
    CONSTRAINTS.write_text(pins_of(lines_by_file))


if __name__ == "__main__":
    main()
