"""Prints a bill of materials, CycloneDX 1.6 as JSON: what is installed with Sparsight, as locked/ has it.

`python -m tools.bom [EXTRA…]`; licences are those that the installed packages name.
"""

import json
import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

LOCKED = Path(__file__).parents[1] / "locked"
PIN = re.compile(r"^([a-z0-9-]+)==(\S+)(?: ; (.+?))? \\$", re.M)


def pins(extras: list[str]) -> dict[str, str]:
    """Version by name of `base` and these extras."""
    texts = [(LOCKED / f"{name}.txt").read_text() for name in ("base", *extras)]
    return {name: version for text in texts for name, version, _ in PIN.findall(text)}


def licence(name: str, version: str) -> list[dict[str, Any]]:
    """The licence that an installed package of this version names; nothing where it names none, or is not installed."""
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return []
    if found.version != version:
        return []
    if expression := found.metadata.json.get("license_expression"):
        return [{"expression": expression}]
    classified = [
        line.rpartition(" :: ")[2] for line in found.metadata.get_all("Classifier") or () if "License ::" in line
    ]
    return [{"license": {"name": text}} for text in classified]


def component(name: str, version: str) -> dict[str, Any]:
    """A package of PyPI."""
    purl = f"pkg:pypi/{name}@{version}"
    entry = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    licences = licence(name, version)
    return {**entry, "licenses": licences} if licences else entry


def document(extras: list[str]) -> dict[str, Any]:
    """The bill; it has no time and no serial number, so that equal ones are equal files."""
    version = metadata.version("sparsight")
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {"type": "application", "bom-ref": "sparsight", "name": "sparsight", "version": version}
        },
        "components": [component(name, version) for name, version in sorted(pins(extras).items())],
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(document(sys.argv[1:]), indent=1) + "\n")
