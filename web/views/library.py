"""`/library`: the papers with their verdicts, and all documents."""

from sqlalchemy.orm import Session

from web import documents
from web.contexts import LibraryPage, PaperCard
from web.document_groups import grouped
from web.page_cache import PageCache
from web.papers import PAPERS
from web.papers.base import Paper
from web.views.paper_choice import PaperChoice, verdict_links
from web.views.papers import summarized


def page(session: Session, pages: PageCache) -> LibraryPage:
    """Return the page of all papers and documents."""
    cards = tuple(_card(session, pages, paper) for paper in PAPERS)
    groups = grouped(documents.names())
    heads = {label: tuple(map(documents.head, names)) for label, names in groups.items()}
    return LibraryPage("Library", "", cards, heads)


def _card(session: Session, pages: PageCache, paper: Paper) -> PaperCard:
    summary = summarized(session, pages, paper)
    counts = summary.counts if summary.is_checked else ()
    return PaperCard(paper, summary.sentence, counts, verdict_links(PaperChoice(paper.href), counts))
