"""Paper: figures, tables, and statements of a paper as a value; web/views/papers.py adds the results."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from markupsafe import Markup

from gpu_engine.findings.conclusions import Conclusion
from gpu_engine.findings.data import StudyData
from gpu_engine.text.tables import Table
from web.components import Link
from web.selection import VALUES_MAX, Selection, study_url
from web.studies import page_of

Judge = Callable[[StudyData], Sequence[Conclusion]]
"""Function that judges the statements of a paper: `gpu_engine.findings.<study>.conclusions.conclusions`."""

Drawing = Callable[[], Markup]
"""Function that returns an explanation as inline SVG or HTML tables: web/papers/drawings/."""

ExhibitTable = Callable[[Mapping[str, StudyData]], Table]
"""Function that returns a table from the results: study → results on all devices; without rows, it is left out."""

OutlookNumber = Callable[[Mapping[str, StudyData]], str]
"""Function that returns a number with its unit from the results: study → results on all devices; may be empty."""

OutlookState = Literal["realized", "partly", "not yet"]


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a study page: a figure by name, or a section by id.

    choice  parameters of the address: `{"series": ("figure-12",)}`
    most    maximum number of matrices on the page of the paper; those of the paper come first
    """

    study: str
    part: str
    choice: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    most: int = VALUES_MAX

    @property
    def is_figure(self) -> bool:
        """Whether the part is a figure."""
        return any(figure.name == self.part for figure in page_of(self.study).figures)

    @property
    def text(self) -> str:
        """Text of its link: `Formats: Pairwise speedup`."""
        page = page_of(self.study)
        title = page.figure(self.part).title if self.is_figure else SECTIONS[self.part]
        return f"{page.link}: {title}"

    def href(self, device: str = "") -> str:
        """Return its address, for one device if given."""
        chosen = {"device": (device,)} if device else {}
        view = self.part.removesuffix(TABLE_ENDING)
        return f"{study_url(self.study, Selection().with_(**self.choice, **chosen, view=view))}#view"


TABLE_ENDING = "-table"
"""Ending of the ids of the tables of a figure."""

SECTIONS = {
    "conclusions": "the paper’s conclusions",
    "structure": "the matrices",
    "cases": "all cases",
    "pagerank-schedule-table": "iterations in the paper",
}
"""Sections of study pages: id → label."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A figure, table, or statement of a paper.

    label    `Figure 4`, or `Figures 8 to 10`
    shows    one sentence about its content
    printed  values in the paper, or empty
    places   figures of study pages that show it; if empty, absent gives the reason
    absent   reason for having no figure
    unsaid   reason why its values are not checked, if no study judges a statement of it
    why      reason for differences on present GPUs, and notes for the comparison
    sources  sources of its statements; empty: its label
    drawing  explanation that is drawn from the matrix in the paper, not from results
    table    printed values next to measured ones, such as how far stand-ins are from the matrices of the paper
    """

    label: str
    shows: str
    printed: str = ""
    places: tuple[Place, ...] = ()
    absent: str = ""
    unsaid: str = ""
    why: str = ""
    sources: tuple[str, ...] = ()
    drawing: Drawing | None = None
    table: ExhibitTable | None = None

    @property
    def id(self) -> str:
        """Id of its section: `figure-4`."""
        return re.sub(r"\W+", "-", self.label.lower()).strip("-")

    def has(self, conclusion: Conclusion) -> bool:
        """Return whether the statement belongs to this exhibit."""
        return conclusion.source in (self.sources or (self.label,))


@dataclass(frozen=True, slots=True)
class Trial:
    """The study of a paper as a job.

    params    parameters of the paper; the others have their defaults
    names     matrices of the paper, which the form selects
    generate  benchmark matrices that can be generated as stand-ins
    rows_max  maximum rows of a matrix; 0: unlimited
    note      description above the form
    """

    study: str
    params: Mapping[str, Any]
    names: tuple[str, ...]
    generate: tuple[str, ...]
    rows_max: int = 0
    note: str = ""

    def has(self, matrix: str) -> bool:
        """Return whether a matrix is one of the paper or its stand-in: `memplus (stand-in)`."""
        return matrix.partition(" (")[0].lower() in {name.lower() for name in self.names}


@dataclass(frozen=True, slots=True)
class Outlook:
    """A line of future work in a paper, and what Sparsight has of it.

    line    the work, in a few words: `SpMV with other layouts for irregular matrices`
    source  place in the paper: `§5`
    where   figures and sections of study pages, or links to other pages
    number  a number from the results, with unit and device, or a text; empty: none
    """

    line: str
    source: str
    state: OutlookState
    where: tuple[Place | Link, ...] = ()
    number: OutlookNumber | str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose methods Sparsight implements.

    name      name of its page; link: text of links to it
    entry     BibTeX type: article or inproceedings; fields: BibTeX fields in their order
    address   address of the publication
    machine   hardware of its measurements
    errata    errors and gaps of the paper, and the interpretation used here
    judges    studies that judge its statements
    exhibits  all figures and tables in their order
    outlook   its lines of future work
    """

    name: str
    link: str
    title: str
    authors: tuple[str, ...]
    venue: str
    year: int
    entry: str
    fields: Mapping[str, str]
    address: str
    machine: str
    lead: str
    errata: tuple[str, ...]
    judges: Mapping[str, Judge]
    exhibits: tuple[Exhibit, ...]
    trial: Trial
    outlook: tuple[Outlook, ...] = ()

    @property
    def doi(self) -> str:
        """DOI, or empty."""
        return self.fields.get("doi", "")

    @property
    def href(self) -> str:
        """Address of its page."""
        return f"/papers/{self.name}"

    @property
    def bibtex(self) -> str:
        """BibTeX entry."""
        entry_fields = {"author": " and ".join(self.authors), "title": f"{{{self.title}}}", **self.fields}
        lines = "".join(
            f"  {name} = {{{value}}},\n" for name, value in (entry_fields | {"year": str(self.year)}).items()
        )
        return f"@{self.entry}{{{self.name}{self.year},\n{lines}}}"


def study_table(study: str, table: Callable[[StudyData], Table]) -> ExhibitTable:
    """Return the table of an exhibit that needs the results of one study only."""
    return lambda results: table(results[study])


def drawing(
    label: str,
    shows: str,
    places: tuple[Place, ...] = (),
    absent: str = "",
    why: str = "",
    drawing: Drawing | None = None,
) -> Exhibit:
    """Return an exhibit that explains something and has no values to check."""
    unsaid = "It has no values to check."
    return Exhibit(label, shows, places=places, absent=absent, unsaid=unsaid, why=why, drawing=drawing)
