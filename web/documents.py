"""Documentation as HTML: Markdown files of the wheel, with links between documents turned into page addresses."""

import posixpath
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import pairwise
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from gpu_engine.errors import NotFoundError, quote
from gpu_engine.text.units import MISSING, THIN
from web.components import Link
from web.single_flight import SingleFlightCache

GLOSSARY = "glossary"

AT_TOP = ("README.md", "GLOSSARY.md", "ARCHITECTURE.md", "CHANGELOG.md")
"""Documents outside `docs/`; the wheel has the same folders."""

FILE = re.compile(r"docs/[\w-]+\.md")
"""Pattern of a document path in text."""

RATIO = re.compile(r"(?<=\d)×(?!\s?\d)")
"""Pattern of the sign of a ratio, `1.24×`; that of a size, `3×3`, is none."""


@dataclass(frozen=True, slots=True)
class Head:
    """Title and first sentence of a document, as text."""

    name: str
    title: str
    lead: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its title, its HTML, and links to its second-level headings."""

    name: str
    title: str
    body: Markup
    contents: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A term of the glossary, the anchor of its row, and its meaning as text."""

    word: str
    anchor: str
    meaning: str


def names() -> tuple[str, ...]:
    """Return the names of all documents, as in their addresses."""
    return tuple(_paths())


def href(name: str) -> str:
    """Return the address of a document."""
    return "/glossary" if name == GLOSSARY else f"/docs/{name}"


def linked(text: str) -> Markup:
    """Return text as HTML in which document paths, such as `docs/formats.md`, are links to their pages."""
    names = {path: name for name, path in _paths().items()}

    def link(match: re.Match[str]) -> str:
        name = names.get(match[0])
        return match[0] if name is None else Markup('<a href="{}">{}</a>').format(href(name), match[0])

    return Markup(FILE.sub(link, escape(text)))


@cache
def head(name: str) -> Head:
    """Read the part before the second heading of a document; raises NotFoundError that lists the known ones."""
    tokens = MARKDOWN.parse(_text(name).partition("\n## ")[0])
    first = {token.type: _plain(inside) for token, inside in reversed(tuple(pairwise(tokens)))}
    lead = first.get("paragraph_open", "").partition(". ")[0]
    return Head(name, first.get("heading_open", name), lead.rstrip(".:") + ".")


def document(name: str) -> Document:
    """Return the document of that name; raises NotFoundError that lists the known ones."""
    return _documents.get(name, None, lambda: _document(name))


def _document(name: str) -> Document:
    tokens = MARKDOWN.parse(_text(name))
    contents = []
    anchors, heading = Counter[str](), ""
    # The last token has none after it, and may be a block of code.
    for token, inside in pairwise((*tokens, Token("end", "", 0))):
        if token.type == "heading_open":
            heading = _plain(inside)
            anchor = slug(heading)
            token.attrSet("id", f"{anchor}-{anchors[anchor]}" if anchors[anchor] else anchor)
            anchors[anchor] += 1
            contents += [Link(heading, f"#{token.attrGet('id')}")] if token.tag == "h2" else []
        elif token.type in ("table_open", "fence", "code_block"):
            anchors[token.type] += 1
            kind = "table" if token.type == "table_open" else token.type.replace("fence", "code")
            token.meta["label"] = f"{heading}: {kind} {anchors[token.type]}"
        elif token.type == "th_open":
            token.attrSet("scope", "col")
        elif token.type == "td_open" and inside.type == "inline" and not inside.content:
            inside.children = [Token("text", "", 0, content=MISSING)]
    if name == GLOSSARY:
        _anchor_words(tokens, anchors)
    for token in tokens:
        _lead_links(token, _paths()[name])
    body = Markup(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))
    return Document(name, head(name).title, body, tuple(contents))


def terms() -> Mapping[str, Term]:
    """Return all terms and symbols of the glossary by their text."""
    return _terms.get(GLOSSARY, None, _read_terms)


def _read_terms() -> Mapping[str, Term]:
    terms_by_word: dict[str, Term] = {}
    for cells in _rows(MARKDOWN.parse(_text(GLOSSARY))):
        for word in _words(cells):
            terms_by_word.setdefault(word, Term(word, slug(word), _plain(cells[2])))
    return terms_by_word


def slug(text: str) -> str:
    """Return the anchor of a heading or a term: lower case, dashes for blanks, no punctuation."""
    return re.sub(r"[^\w-]", "", text.lower().replace(" ", "-").replace("*", "-star"))


@cache
def _folder() -> Traversable:
    packed = files("web") / "documents"
    return packed if packed.is_dir() else files("web") / ".."


@cache
def _paths() -> Mapping[str, str]:
    """Return the path of each document below the folder by its name, in reading order."""
    inner = sorted(entry.name for entry in (_folder() / "docs").iterdir() if entry.name.endswith(".md"))
    paths = (*AT_TOP, *(f"docs/{name}" for name in inner))
    return {posixpath.basename(path).removesuffix(".md").lower(): path for path in paths}


def _text(name: str) -> str:
    if name not in _paths():
        raise NotFoundError(f"Unknown document {quote(name)}. Documents: {', '.join(_paths())}.")
    return (_folder() / _paths()[name]).read_text(encoding="utf-8")


def spaced(text: str) -> str:
    """Return text with ratios as all pages write them: `1.24×` of a file as `1.24 ×`."""
    return RATIO.sub(f"{THIN}×", text)


def _plain(inline: Token) -> str:
    """Return the text of an inline token without markup."""
    text = "".join(" " if child.type == "softbreak" else child.content for child in inline.children or ())
    return spaced(text)


def _rows(tokens: Sequence[Token]) -> list[list[Token]]:
    """Return the cells of all table rows, without heads."""
    rows: list[list[Token]] = []
    for token, inside in pairwise(tokens):
        if token.type == "tr_open" and inside.type == "td_open":
            rows.append([])
        elif token.type == "td_open":
            rows[-1].append(inside)
    return rows


def _words(cells: Sequence[Token]) -> tuple[str, ...]:
    """Return the terms of a glossary row, then its symbols."""
    symbols = (child.content for cell in cells[:2] for child in cell.children or () if child.type == "code_inline")
    return tuple(dict.fromkeys((*_plain(cells[0]).split(", "), *symbols)))


def _anchor_words(tokens: Sequence[Token], anchors: Counter[str]) -> None:
    """Add an anchor to the first occurrence of each glossary term."""
    for cells in _rows(tokens):
        new_anchors = [anchor for anchor in dict.fromkeys(map(slug, _words(cells))) if not anchors[anchor]]
        anchors.update(new_anchors)
        spans = [Token("anchor", "span", 0, meta={"id": anchor}) for anchor in new_anchors]
        cells[0].children = [*spans, *(cells[0].children or [])]


def _lead_links(inline: Token, path: str) -> None:
    """Replace links to project files with page addresses, and file names with titles; other links become text."""
    closing: list[Token] = []
    for child, inside in pairwise((*(inline.children or ()), Token("end", "", 0))):
        if child.type == "link_close":
            child.tag = closing.pop().tag
        if child.type != "link_open":
            continue
        closing.append(child)
        file, _, anchor = str(child.attrGet("href")).partition("#")
        if not file or ":" in file:
            continue
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        name = next((name for name, known in _paths().items() if known == target), None)
        if name is None:
            child.tag, child.attrs = "span", {}
        else:
            child.attrSet("href", f"{href(name)}{'#' if anchor else ''}{anchor}")
            if inside.content in (file, posixpath.basename(target)):
                inside.content = head(name).title


def _table(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    region = '<div class="scroll" role="region" tabindex="0" aria-label="{}"><table>\n'
    return Markup(region).format(tokens[place].meta["label"])


def _code(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    block = '<pre role="region" tabindex="0" aria-label="{}">{}</pre>\n'
    return Markup(block).format(tokens[place].meta["label"], tokens[place].content)


def _prose(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    return escape(spaced(tokens[place].content))


def _anchor(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    return Markup('<span id="{}"></span>').format(tokens[place].meta["id"])


def _markdown() -> MarkdownIt:
    """Return a CommonMark parser with scrollable tables that treats HTML as text."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    for kind, rule in {
        "table_open": _table,
        "fence": _code,
        "code_block": _code,
        "anchor": _anchor,
        "text": _prose,
    }.items():
        markdown.add_render_rule(kind, rule)
    # Images show these pages, which the reader of a page does not need.
    markdown.add_render_rule("image", lambda *_: "")
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return markdown


MARKDOWN = _markdown()

_documents: SingleFlightCache[Document] = SingleFlightCache(100)
_terms: SingleFlightCache[Mapping[str, Term]] = SingleFlightCache(1)
