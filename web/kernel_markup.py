"""Markup of sentences: kernel names and commands as code."""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache

from markupsafe import Markup, escape

from gpu_engine.findings.finding import Finding

PART = r"[\w/+*]"
"""Characters that continue a name, so that `csr/vector` does not match in `csr/vector+rcm`."""

KERNEL = re.compile(rf"(?<!{PART})((?:[a-z][a-z0-9-]*|p[A-Z]{{3}})/[a-z][\w*-]+(?:\+[\w-]*\w)*)")
"""Pattern of the name of a kernel: format and variant, then its options."""


def as_code(sentence: str, findings: Iterable[Finding]) -> Markup:
    """Return a sentence as escaped HTML in which the kernels of these findings are code."""
    return in_code(sentence, labels(findings))


def labels(findings: Iterable[Finding]) -> frozenset[str]:
    """Return the labels and kernel names of all rows of these findings."""
    rows = (row for finding in findings for row in finding.rows)
    return frozenset(name for row in rows for name in (row.label, row.measurement.kernel))


def in_code(sentence: str, names: Collection[str]) -> Markup:
    """Return a sentence as escaped HTML in which these names are code."""
    if not names:
        return escape(sentence)
    parts = _any_of(frozenset(names)).split(sentence)
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def kernels_in_code(sentence: str) -> Markup:
    """Return a sentence as escaped HTML in which everything that is written like a kernel is code: `csr/vector`."""
    parts = KERNEL.split(sentence)
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def with_links(sentence: Markup, links: Iterable[tuple[str, str]]) -> Markup:
    """Return a sentence as HTML in which texts lead to addresses: each text after the one before it."""
    done, rest = Markup(""), sentence
    for text, href in links:
        before, match, after = rest.partition(escape(text))
        if match:
            done, rest = done + before + Markup('<a href="{}">{}</a>').format(href, text), after
    return done + rest


def backticks(sentence: str) -> Markup:
    """Return a sentence as escaped HTML in which text between backticks is code."""
    parts = sentence.split("`")
    if len(parts) % 2 == 0:
        return escape(sentence)
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def breakable(name: str) -> Markup:
    """Return a kernel name as escaped HTML that may wrap after `+`, and after `:` of a custom kernel."""
    return Markup(str(escape(name)).replace("+", "+<wbr>").replace(":", ":<wbr>"))


@lru_cache
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern of these names as whole words, in a group."""
    # The longest first: a label may begin with the name of its kernel.
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?<!{PART})({known})(?!-?{PART})")
