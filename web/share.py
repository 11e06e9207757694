"""Share: what a reader can take away from the results of a page."""

from dataclasses import dataclass

from web.components import Link

TOP = 20
"""Number of matrices of the short table: those with the largest speedups."""


ANSWERS = "answers"
"""Name of the tables of the answers of a page."""

WITH_ANSWERS = ("formats",)
"""Studies with such tables: their pages have `answer_tables`."""

OWN_KERNEL = Link("Measure your own kernel", "/docs/custom-kernels")


@dataclass(frozen=True, slots=True)
class Share:
    """The files of a selection, and how to measure a kernel of your own beside it.

    files       links to files with the numbers of the page
    own_kernel  link to the document about custom kernels
    """

    files: tuple[Link, ...]
    own_kernel: Link


def share_of(study: str, query: str) -> Share:
    """Return what a reader can take away from the results of a study for the query of an address."""
    at = f"?{query}" if query else ""
    slowdowns = f"/{study}/tables/pivot"
    table = f"/{study}/tables/{ANSWERS}" if study in WITH_ANSWERS else slowdowns
    short = "&".join(filter(None, (query, f"sort=-best&top={TOP}")))
    # A table of one matrix has no first rows.
    several = query.count("matrix=") != 1
    return Share(
        (
            Link("CSV", f"/{study}.csv{at}"),
            Link("JSON", f"/{study}.json{at}"),
            Link("LaTeX", f"{table}.tex{at}"),
            *([Link(f"LaTeX, top {TOP}", f"{table}.tex?{short}")] if several else []),
            *([Link("LaTeX, slowdowns", f"{slowdowns}.tex{at}")] if study in WITH_ANSWERS else []),
            Link("Markdown", f"{table}.md{at}"),
            Link("Report (HTML)", f"/{study}.html{at}"),
            Link("BibTeX", f"/{study}.bib{at}"),
        ),
        OWN_KERNEL,
    )
