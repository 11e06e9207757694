"""The documents of the product as HTML: Markdown that travels in the wheel; links between documents lead to pages."""

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
from web.parts import Link
from web.single_flight import SingleFlightCache

GLOSSARY = "glossary"

AT_TOP = ("README.md", "GLOSSARY.md", "ARCHITECTURE.md", "CHANGELOG.md")
"""Those that do not lie in `docs/`; the wheel has the same folders."""

FILE = re.compile(r"docs/[\w-]+\.md")
"""A document as texts name it."""


@dataclass(frozen=True, slots=True)
class Head:
    """A document's title and first sentence as text."""

    name: str
    title: str
    lead: str


@dataclass(frozen=True, slots=True)
class Document:
    """A document: its title, its HTML, and links to its headings of the second level."""

    name: str
    title: str
    body: Markup
    contents: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class Term:
    """A word of the glossary, the anchor of its row, and its meaning as text."""

    word: str
    anchor: str
    meaning: str


def names() -> tuple[str, ...]:
    """The names of all documents, as their addresses have them."""
    return tuple(_paths())


def href(name: str) -> str:
    """The address of a document."""
    return "/glossary" if name == GLOSSARY else f"/docs/{name}"


def linked(text: str) -> Markup:
    """Text with the documents that it names, `docs/formats.md`, as links to their pages."""
    names = {path: name for name, path in _paths().items()}

    def link(match: re.Match[str]) -> str:
        name = names.get(match[0])
        return match[0] if name is None else Markup('<a href="{}">{}</a>').format(href(name), match[0])

    return Markup(FILE.sub(link, escape(text)))


@cache
def head(name: str) -> Head:
    """Read what stands before the second heading of a document; raises NotFoundError naming the known ones."""
    tokens = MARKDOWN.parse(_text(name).partition("\n## ")[0])
    first = {token.type: _plain(inside) for token, inside in reversed(tuple(pairwise(tokens)))}
    lead = first.get("paragraph_open", "").partition(". ")[0]
    return Head(name, first.get("heading_open", name), lead.rstrip(".:") + ".")


def document(name: str) -> Document:
    """Return the document of that name; raises NotFoundError naming the known ones."""
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
    if name == GLOSSARY:
        _anchor_words(tokens, anchors)
    for token in tokens:
        _lead_links(token, _paths()[name])
    body = Markup(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))
    return Document(name, head(name).title, body, tuple(contents))


def terms() -> Mapping[str, Term]:
    """Return every word and symbol of the glossary."""
    return _terms.get(GLOSSARY, None, _read_terms)


def _read_terms() -> Mapping[str, Term]:
    found: dict[str, Term] = {}
    for cells in _rows(MARKDOWN.parse(_text(GLOSSARY))):
        for word in _words(cells):
            found.setdefault(word, Term(word, slug(word), _plain(cells[2])))
    return found


def slug(text: str) -> str:
    """The anchor of a heading or a word: lower case, blanks as dashes, no other signs."""
    return re.sub(r"[^\w-]", "", text.lower().replace(" ", "-").replace("*", "-star"))


@cache
def _folder() -> Traversable:
    packed = files("web") / "documents"
    return packed if packed.is_dir() else files("web") / ".."


@cache
def _paths() -> Mapping[str, str]:
    """Name → path below the folder, in the order of reading."""
    inner = sorted(entry.name for entry in (_folder() / "docs").iterdir() if entry.name.endswith(".md"))
    paths = (*AT_TOP, *(f"docs/{name}" for name in inner))
    return {posixpath.basename(path).removesuffix(".md").lower(): path for path in paths}


def _text(name: str) -> str:
    if name not in _paths():
        raise NotFoundError(f"There is no document {quote(name)}; the documents are {', '.join(_paths())}.")
    return (_folder() / _paths()[name]).read_text(encoding="utf-8")


def _plain(inline: Token) -> str:
    """The text of an inline token without marks."""
    return "".join(" " if child.type == "softbreak" else child.content for child in inline.children or ())


def _rows(tokens: Sequence[Token]) -> list[list[Token]]:
    """The cells of every row below the heads of all tables."""
    rows: list[list[Token]] = []
    for token, inside in pairwise(tokens):
        if token.type == "tr_open" and inside.type == "td_open":
            rows.append([])
        elif token.type == "td_open":
            rows[-1].append(inside)
    return rows


def _words(cells: Sequence[Token]) -> tuple[str, ...]:
    """The words of a row of the glossary, then its symbols."""
    symbols = (child.content for cell in cells[:2] for child in cell.children or () if child.type == "code_inline")
    return tuple(dict.fromkeys((*_plain(cells[0]).split(", "), *symbols)))


def _anchor_words(tokens: Sequence[Token], anchors: Counter[str]) -> None:
    """Gives each word of the glossary its anchor where it comes first."""
    for cells in _rows(tokens):
        own = [anchor for anchor in dict.fromkeys(map(slug, _words(cells))) if not anchors[anchor]]
        anchors.update(own)
        spans = [Token("anchor", "span", 0, meta={"id": anchor}) for anchor in own]
        cells[0].children = [*spans, *(cells[0].children or [])]


def _lead_links(inline: Token, path: str) -> None:
    """Turns links to files of the project into addresses of pages; a file that is no document is text."""
    closing: list[Token] = []
    for child in inline.children or ():
        if child.type == "link_close":
            child.tag = closing.pop().tag
        if child.type != "link_open":
            continue
        closing.append(child)
        file, _, anchor = str(child.attrGet("href")).partition("#")
        if not file or ":" in file:
            continue
        wanted = posixpath.normpath(posixpath.join(posixpath.dirname(path), file))
        name = next((name for name, known in _paths().items() if known == wanted), None)
        if name is None:
            child.tag, child.attrs = "span", {}
        else:
            child.attrSet("href", f"{href(name)}{'#' if anchor else ''}{anchor}")


def _table(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    region = '<div class="scroll" role="region" tabindex="0" aria-label="{}"><table>\n'
    return Markup(region).format(tokens[place].meta["label"])


def _code(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    block = '<pre role="region" tabindex="0" aria-label="{}">{}</pre>\n'
    return Markup(block).format(tokens[place].meta["label"], tokens[place].content)


def _anchor(_: Any, tokens: Sequence[Token], place: int, *__: Any) -> str:
    return Markup('<span id="{}"></span>').format(tokens[place].meta["id"])


def _markdown() -> MarkdownIt:
    """CommonMark with tables that scroll; HTML in a document is text."""
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table")
    for kind, rule in {"table_open": _table, "fence": _code, "code_block": _code, "anchor": _anchor}.items():
        markdown.add_render_rule(kind, rule)
    # A document has pictures of these very pages: they are for readers elsewhere.
    markdown.add_render_rule("image", lambda *_: "")
    markdown.add_render_rule("table_close", lambda *_: "</table></div>\n")
    return markdown


MARKDOWN = _markdown()

_documents: SingleFlightCache[Document] = SingleFlightCache(100)
_terms: SingleFlightCache[Mapping[str, Term]] = SingleFlightCache(1)
