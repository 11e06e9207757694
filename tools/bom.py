"""Print a bill of materials, CycloneDX 1.6 as JSON: the packages installed with Sparsight, according to locked/.

`python -m tools.bom [EXTRA…]`; licenses are those that the installed packages name.
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
    """Return version by name for `base` and these extras."""
    texts = [(LOCKED / f"{name}.txt").read_text() for name in ("base", *extras)]
    return {name: version for text in texts for name, version, _ in PIN.findall(text)}


def license_of(name: str, version: str) -> list[dict[str, Any]]:
    """Return the license that an installed package of this version names; empty if none, or not installed."""
    try:
        distribution = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return []
    if distribution.version != version:
        return []
    if expression := distribution.metadata.json.get("license_expression"):
        return [{"expression": expression}]
    classified = [
        line.rpartition(" :: ")[2] for line in distribution.metadata.get_all("Classifier") or () if "License ::" in line
    ]
    return [{"license": {"name": text}} for text in classified]


def component(name: str, version: str) -> dict[str, Any]:
    """Return the entry of a PyPI package."""
    purl = f"pkg:pypi/{name}@{version}"
    entry = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    licenses = license_of(name, version)
    return {**entry, "licenses": licenses} if licenses else entry


def document(extras: list[str]) -> dict[str, Any]:
    """Return the bill; without a time and serial number, so that equal bills are equal files."""
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
