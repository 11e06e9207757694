"""Glossary help: terms of a page that open their meaning in GLOSSARY.md, each at its first occurrence."""

import re
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from web.documents import Term, terms

EXPLAINED = (
    "A/A gap",
    "break-even",
    "cold",
    "compulsory bytes",
    "control kernel",
    "cpms2",
    "cpms4",
    "custom kernel",
    "dangling page",
    "gather probe",
    "halo exchange",
    "imbalance",
    "inconclusive",
    "ir32",
    "library kernel",
    "mean slowdown",
    "nnz",
    "no clear winner",
    "noisy",
    "not converged",
    "p*",
    "p*-opt",
    "partitioning",
    "pattern-only",
    "reference results",
    "residual",
    "roofline",
    "segment",
    "simulated device",
    "speedup",
    "stored bytes",
    "strategy",
    "unfused-fp64",
    "virtual device",
    "warm",
)
"""Glossary terms that newcomers to the field do not know."""

EXPLAINED_IN_NAMES = (*EXPLAINED, "pattern")
"""Glossary terms that the names of kernels have: `pattern` in `csr/thread+pattern`, an ordinary word elsewhere."""


def _any_of(words: tuple[str, ...]) -> str:
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


IN_TEXT = re.compile(rf"(?<![\w/*-])(\(?)({_any_of(EXPLAINED)})(?![\w/*]|-\w)([),.:;]*)")
IN_NAME = re.compile(rf"(?<![\w*-])({_any_of(EXPLAINED_IN_NAMES)})(?![\w*-])")
"""A term of a kernel name follows a slash or a plus: `csr/thread+cpms4`."""

MARKED = re.compile(r"(<code>.*?</code>|<[^>]+>)", re.S)
BUTTON = Markup(
    '<button type="button" class="term" id="word-{anchor}" popovertarget="meaning-{anchor}">{word}</button>'
)

WHOLE = Markup('<span class="whole">{}{}{}</span>')
"""Keeps punctuation on the line of its button."""


@pass_context
def with_help(context: Context, text: Any) -> Markup:
    """Return text or HTML in which the first occurrence of each term opens its meaning; code stays unchanged."""
    parts = MARKED.split(str(escape(text)))
    return Markup("").join(
        Markup(part) if index % 2 else _with_buttons(context, part) for index, part in enumerate(parts)
    )


@pass_context
def kernel_name(context: Context, name: str) -> str:
    """Return a kernel name unchanged; the end of the page explains its terms."""
    for word in IN_NAME.findall(name):
        _page_terms(context).setdefault(word, terms()[word])
    return name


@pass_context
def explained_terms(context: Context) -> tuple[Term, ...]:
    """Return the terms that the page has used so far."""
    return tuple(_page_terms(context).values())


def _page_terms(context: Context) -> dict[str, Term]:
    state = context["request"].state
    if not hasattr(state, "explained_terms"):
        state.explained_terms = {}
    page_terms: dict[str, Term] = state.explained_terms
    return page_terms


def _with_buttons(context: Context, escaped: str) -> Markup:
    known = _page_terms(context)

    def button(match: re.Match[str]) -> str:
        before, word, after = match.groups()
        term = terms()[word]
        if word in known:
            return match[0]
        known[word] = term
        opener = BUTTON.format(anchor=term.anchor, word=term.word)
        return WHOLE.format(before, opener, after) if before or after else opener

    return Markup(IN_TEXT.sub(button, escaped))
