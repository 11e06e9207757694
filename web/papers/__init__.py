"""PAPERS: the one list of the papers whose methods are built here; pages and the table of figures follow from it."""

from gpu_engine.errors import NotFoundError, quote
from web.papers.base import Paper
from web.papers.cpms_pagerank import CPMS_PAGERANK
from web.papers.flexible_batched_spmv import FLEXIBLE_BATCHED_SPMV
from web.papers.msrep import MSREP
from web.papers.pellr import PELLR

PAPERS: tuple[Paper, ...] = (CPMS_PAGERANK, FLEXIBLE_BATCHED_SPMV, PELLR, MSREP)


def find_paper(name: str) -> Paper:
    """Return the paper of that name; raises NotFoundError that lists the known ones."""
    for paper in PAPERS:
        if paper.name == name:
            return paper
    raise NotFoundError(f"Unknown paper {quote(name)}. Papers: {', '.join(p.name for p in PAPERS)}.")
