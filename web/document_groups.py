"""Groups of documents by what their readers want."""

import re
from collections.abc import Mapping, Sequence

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Start": ("readme", "glossary"),
    "Methods": ("measuring", "formats", "spmm", "solvers", "pagerank", "batched", "scaling"),
    "Results": (),
    "Use": ("operator", "cli", "client", "api", "custom-kernels"),
    "Operate": ("building", "deployment", "operating", "settings", "security", "faults", "changelog"),
    "Develop": ("architecture", "adding", "developing", "facts", "sanitizer"),
}
"""Label → names of documents in the order of reading; all others are results of a GPU, or for developers."""

OF_RESULTS = re.compile(r"[a-z]+\d+")
"""Beginning of the names of documents with results: that of a GPU model."""


def grouped(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the documents by group."""
    listed = {name for group in GROUPS.values() for name in group}
    results = [name for name in names if OF_RESULTS.match(name)]
    more = {"Results": results, "Develop": [name for name in names if name not in {*listed, *results}]}
    return {label: tuple(n for n in (*group, *more.get(label, ())) if n in names) for label, group in GROUPS.items()}
