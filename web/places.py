"""PLACES: the places of the navigation, and the tabs of Explore and of the library."""

from dataclasses import dataclass

from web.components import Link
from web.papers import PAPERS
from web.studies import PAGES as STUDY_PAGES


@dataclass(frozen=True, slots=True)
class Place:
    """A place of the navigation.

    href   address of its first page
    roots  first segments of the paths of all its pages
    """

    name: str
    href: str
    roots: tuple[str, ...]

    def contains(self, path: str) -> bool:
        """Return whether a page belongs to this place."""
        return path.split("/")[1] in self.roots


EXPLORE = Place("Explore", f"/{STUDY_PAGES[0].name}", tuple(page.name for page in STUDY_PAGES))

PLACES = (
    EXPLORE,
    Place("Matrices", "/matrices", ("matrices", "history")),
    Place("Library", "/library", ("library", "papers", "docs", "glossary", "reference")),
)

SERVICE = Place("Service", "/service", ("service", "jobs", "devices"))
"""Place at the right of the bar."""


def tabs(path: str) -> tuple[Link, ...]:
    """Return the tabs of Explore; a page without a tab belongs to the tab of another page."""
    return tuple(
        Link(page.link, f"/{page.name}", path.split("/")[1] in (page.name, *page.subpages))
        for page in STUDY_PAGES
        if not any(page.name in other.subpages for other in STUDY_PAGES)
    )


def library_tabs(path: str) -> tuple[Link, ...]:
    """Return the tabs of the library: the papers, then the documents."""
    return (
        Link("All", "/library", path == "/library"),
        *(Link(paper.link, paper.href, path == paper.href) for paper in PAPERS),
        Link("Documents", "/library#documents", path.startswith("/docs/")),
        Link("Glossary", "/glossary", path == "/glossary"),
        Link("API", "/reference", path == "/reference"),
    )
