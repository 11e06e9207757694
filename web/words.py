"""Help beside words of the field: what GLOSSARY.md says of them, where a page says them first."""

import re
from typing import Any

from jinja2 import pass_context
from jinja2.runtime import Context
from markupsafe import Markup, escape

from web.documents import Term, terms

EXPLAINED = (
    "inconclusive",
    "busy",
    "cold",
    "compulsory bytes",
    "cpms2",
    "cpms4",
    "dangling page",
    "floor",
    "pattern",
    "gather floor",
    "imbalance",
    "nnz",
    "partitioning",
    "p*",
    "p*-opt",
    "reference kernel",
    "ir32",
    "residual",
    "segment",
    "speed-up",
    "stored bytes",
    "strategy",
    "unconverged",
    "unfused-fp64",
    "value-free",
    "virtual device",
    "warm",
)
"""Words of the glossary with which the field is not entered by itself."""

WORDS = "|".join(map(re.escape, sorted(EXPLAINED, key=len, reverse=True)))
IN_TEXT = re.compile(rf"(?<![\w/*-])(\(?)({WORDS})(?![\w/*]|-\w)([),.:;]*)")
IN_NAME = re.compile(rf"(?<![\w*-])({WORDS})(?![\w*-])")
"""A name of a kernel has a word after a slash or a plus: `csr/thread+cpms4`."""

MARKED = re.compile(r"(<code>.*?</code>|<[^>]+>)", re.S)
BUTTON = Markup(
    '<button type="button" class="term" id="word-{anchor}" popovertarget="meaning-{anchor}">{word}</button>'
)

WHOLE = Markup('<span class="whole">{}{}{}</span>')
"""Signs stay on the line of the button beside them."""


@pass_context
def explained(context: Context, text: Any) -> Markup:
    """Text or HTML in which each word that the page says for the first time opens its meaning; code stays code."""
    parts = MARKED.split(str(escape(text)))
    return Markup("").join(
        Markup(part) if place % 2 else _with_buttons(context, part) for place, part in enumerate(parts)
    )


@pass_context
def named(context: Context, name: str) -> str:
    """The name of a kernel as it is; the words in it are explained at the end of the page."""
    for word in IN_NAME.findall(name):
        _said(context).setdefault(word, terms()[word])
    return name


@pass_context
def said(context: Context) -> tuple[Term, ...]:
    """The words that the page has said so far."""
    return tuple(_said(context).values())


def _said(context: Context) -> dict[str, Term]:
    state = context["request"].state
    if not hasattr(state, "said"):
        state.said = {}
    found: dict[str, Term] = state.said
    return found


def _with_buttons(context: Context, escaped: str) -> Markup:
    known = _said(context)

    def button(match: re.Match[str]) -> str:
        before, word, after = match.groups()
        term = terms()[word]
        if word in known:
            return match[0]
        known[word] = term
        shown = BUTTON.format(anchor=term.anchor, word=term.word)
        return WHOLE.format(before, shown, after) if before or after else shown

    return Markup(IN_TEXT.sub(button, escaped))
