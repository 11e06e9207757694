"""PAGES: all study pages; navigation, home page, job page, figures, and API follow from it."""

from gpu_engine.errors import NotFoundError, quote
from web.selection import PageParameter
from web.studies.base import StudyPage
from web.studies.batched import BATCHED
from web.studies.formats import FORMATS
from web.studies.pagerank import PAGERANK
from web.studies.reduced_spmv import REDUCED_SPMV
from web.studies.scaling import SCALING
from web.studies.seeded import SEEDED
from web.studies.solvers import SOLVERS
from web.studies.spmm import SPMM

PAGES: tuple[StudyPage, ...] = (FORMATS, SPMM, SOLVERS, PAGERANK, SEEDED, BATCHED, SCALING, REDUCED_SPMV)


def page_of(study: str) -> StudyPage:
    """Return the page of a study; raises NotFoundError if it has none."""
    for page in PAGES:
        if page.name == study:
            return page
    raise NotFoundError(
        f"The study {quote(study)} has no page. Studies with a page: {', '.join(p.name for p in PAGES)}."
    )


def page_parameters() -> dict[str, PageParameter]:
    """Return the parameters of single study pages by name; all pages and figures accept and keep them."""
    return {parameter.name: parameter for page in PAGES for parameter in page.parameters}
