"""Sentences of all study pages and paper pages over the reference results: mechanical rules of style."""

import re
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest

from gpu_engine.findings.verdict_reasons import WORDS_MAX
from gpu_engine.recordings import files as recordings
from server import import_recordings
from server.db import Database
from server.result_sources import find_sources
from web.contexts import PaperPage, StudyPage
from web.page_cache import PageCache
from web.papers import PAPERS
from web.plots.dots import Dots
from web.selection import Selection
from web.studies import PAGES
from web.views.papers import paper_page
from web.views.study import page

UNIT = re.compile(r"(?<=\d)[\u00a0\u202f ](?=(?:×|%|[µmn]?s|[TGMk]?B(?:/s)?|[µm]?J|GFLOP/s|bits?|bytes)\b|×|%)")
"""Space between a number and its unit: both are one word."""

SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z“]|[\w+-]+/)")
"""End of a sentence; the next one may begin with the name of a kernel."""

LIST = re.compile(r"^(Not for|For|Such as|Nearest:|Reasons:) ")
"""Beginning of a list of cases, whose entries are counted apart."""

RULES = {
    "double space": re.compile(r"\S {2,}\S"),
    "plural of one": re.compile(
        r"(?<![\d,./])1[ \u202f](matrices|graphs|batches|rounds|devices|GPUs|kernels|cases|SpMVs|statements|verdicts)\b"
    ),
    "zero for a small number": re.compile(r"(?<![\d,.])0\.0+(?!\d)"),
    "power of ten": re.compile(r"\de[+-]\d"),
    "id of Python": re.compile(r"\b(csr|coo|ell|hyb|jad|loop|cusparse)_[a-z]+\b"),
    "digits": re.compile(r"\b\d{2,}\.\d{2}\u202f×"),
}


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text."""
    yield from (sentence for sentence in SENTENCE.split(text) if re.search(r"[A-Za-z]{2}", sentence))


def length(sentence: str) -> int:
    """Return the number of words of a sentence, of the longest entry if it is a list."""
    joined = UNIT.sub("", sentence)
    parts = joined.split("; ") if LIST.match(sentence) else [joined]
    return max(len(part.split()) for part in parts)


def of_paper(page: PaperPage) -> Iterator[str]:
    """Yield the texts that a paper page says of its verdicts."""
    yield page.summary.sentence
    for row in (*page.summary.checked, *page.summary.unchecked):
        yield from (row.why, row.numbers)
    tables = (part.statements for part in page.exhibits if part.statements)
    for each in (each for table in tables for each in table.statements):
        yield from (text for row in each.rows for cell in row.cells if cell for text in (cell.why, cell.numbers))
    yield from page.notes


def of_study(page: StudyPage) -> Iterator[str]:
    """Yield the texts that a study page says of its results."""
    if page.explore:
        yield from (page.explore.eyebrow, page.explore.sentence, *page.explore.under, *page.explore.notes)
        yield from (row.note for picture in page.explore.pictures if isinstance(picture, Dots) for row in picture.rows)
    yield from page.overview
    yield from (without_options(answer.sentence, answer.labels) for answer in page.answers)
    for finding in (row.finding for row in page.findings):
        labels = [row.label for row in finding.rows]
        yield from (without_options(sentence, labels) for sentence in finding.sentences)


def without_options(text: str, labels: Iterable[str]) -> str:
    """Return a text in which the labels of kernels are one word each: without their options."""
    for label in sorted(labels, key=len, reverse=True):
        text = text.replace(label, label.partition(",")[0])
    return text


@pytest.fixture(scope="module")
def texts(migrated: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return text → a page that shows it, for all reference results."""
    path = tmp_path_factory.mktemp("recorded") / "sparsight.db"
    shutil.copy(migrated, path)
    database, pages = Database(f"sqlite:///{path}"), PageCache()
    import_recordings.run(database)
    found: dict[str, str] = {}
    with database.read() as session:
        for paper in PAPERS:
            for link in paper_page(session, pages, paper.name, {}).devices:
                options = dict(parse_qsl(urlsplit(link.href).query))
                for text in of_paper(paper_page(session, pages, paper.name, options)):
                    found.setdefault(text, link.href)
        for each in PAGES:
            for device in find_sources(session, each.name).devices:
                for text in of_study(page(session, each, Selection(device=(device,)))):
                    found.setdefault(text, f"/{each.name}?device={device}")
    database.close()
    return found


def test_there_are_sentences_of_every_page(texts: dict[str, str]) -> None:
    shown = {address.partition("?")[0] for address in texts.values()}
    recorded = {path.name.partition(".")[0] for path in recordings.RECORDED.glob("*/*.json.gz")}
    assert shown >= {f"/{page.name}" for page in PAGES if page.name in recorded} | {paper.href for paper in PAPERS}


@pytest.mark.parametrize("rule", RULES)
def test_no_sentence_breaks_a_rule(texts: dict[str, str], rule: str) -> None:
    broken = {text: where for text, where in texts.items() if RULES[rule].search(text)}
    assert not broken, dict(list(broken.items())[:5])


def test_sentences_are_short(texts: dict[str, str]) -> None:
    long = {
        sentence: where for text, where in texts.items() for sentence in sentences(text) if length(sentence) > WORDS_MAX
    }
    assert not long, "\n".join([str(len(long)), *long])
