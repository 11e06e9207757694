"""PAGES: the one list of the pages of studies; navigation, home, jobs, figures and the API follow from it."""

from gpu_engine.errors import NotFoundError, quote
from web.selection import PageParameter
from web.studies.base import StudyPage
from web.studies.batched import BATCHED
from web.studies.formats import FORMATS
from web.studies.pagerank import PAGERANK
from web.studies.reduced_spmv import REDUCED_SPMV
from web.studies.scaling import SCALING

PAGES: tuple[StudyPage, ...] = (FORMATS, PAGERANK, BATCHED, SCALING, REDUCED_SPMV)


def page_of(study: str) -> StudyPage:
    """The page of a study; raises NotFoundError where it has none."""
    for page in PAGES:
        if page.name == study:
            return page
    raise NotFoundError(f"The study {quote(study)} has no page; studies with one: {', '.join(p.name for p in PAGES)}.")


def page_parameters() -> dict[str, PageParameter]:
    """Return the parameters that only one study's page has, by name; every page and figure takes and keeps them."""
    return {parameter.name: parameter for page in PAGES for parameter in page.parameters}
