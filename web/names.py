"""Names of kernels in sentences, set as code."""

import re
from collections.abc import Collection, Iterable

from markupsafe import Markup, escape

from gpu_engine.findings.finding import Finding

PART = r"[\w/+*]"
"""What a name goes on with: `csr/vector` does not stand in `csr/vector+rcm`."""


def as_code(sentence: str, findings: Iterable[Finding]) -> Markup:
    """A sentence as HTML, escaped, in which the names of the rows of these findings are code."""
    return in_code(
        sentence, {name for finding in findings for row in finding.rows for name in (row.label, row.measurement.kernel)}
    )


def in_code(sentence: str, names: Collection[str]) -> Markup:
    """A sentence as HTML, escaped, in which these names are code."""
    if not names:
        return escape(sentence)
    # The longest first: a label may begin with the name of its kernel.
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    parts = re.split(rf"(?<!{PART})({known})(?!-?{PART})", sentence)
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))
