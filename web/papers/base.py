"""Paper: what a paper printed and where it is seen here, as a value; web/views/papers.py adds what was measured."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpu_engine.findings.conclusions import Conclusion
from gpu_engine.findings.data import StudyData
from web.selection import VALUES_MAX, Selection, study_url
from web.studies import page_of

Judge = Callable[[StudyData], Sequence[Conclusion]]
"""A study's conclusions on a paper: `gpu_engine.findings.<study>.conclusions.conclusions`."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a study's page shows it: a figure by its name, or a section by its id.

    choice  what the address chooses there: `{"series": ("figure-12",)}`
    most    matrices of it on the page of the paper, where the paper's own come first
    """

    study: str
    part: str
    choice: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    most: int = VALUES_MAX

    @property
    def is_figure(self) -> bool:
        """Whether it is a figure, and not a section."""
        return any(figure.name == self.part for figure in page_of(self.study).figures)

    @property
    def anchor(self) -> str:
        """The id of the element on that page."""
        return f"{self.part}-head" if self.is_figure else self.part

    @property
    def text(self) -> str:
        """`Formats: One format against another`."""
        page = page_of(self.study)
        title = page.figure(self.part).title if self.is_figure else SECTIONS[self.part]
        return f"{page.link}: {title}"

    def href(self, device: str = "") -> str:
        """Its address, of one device if it is named."""
        chosen = {"device": (device,)} if device else {}
        return f"{study_url(self.study, Selection().with_(**self.choice, **chosen))}#{self.anchor}"


SECTIONS = {
    "conclusions": "the paper’s conclusions",
    "structure": "the matrices",
    "cases": "all cases",
    "pagerank-schedule-table": "the iterations that the paper prints",
}
"""Parts of the pages of studies that are no figures: id → words."""


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A figure, table or statement of the print.

    label    `Figure 4`, or `Figures 8 to 10`
    shows    what one sees in it, in a sentence
    printed  the numbers that the paper gives, in its words; empty where it gives none
    places   where it is drawn here; none: absent says why
    absent   why there is no figure of it here
    unsaid   why its numbers cannot be judged, where no statement of a study's conclusions does it
    why      why a present GPU differs, or what else to know before comparing
    sources  of the statements that belong to it; empty: its label
    """

    label: str
    shows: str
    printed: str = ""
    places: tuple[Place, ...] = ()
    absent: str = ""
    unsaid: str = ""
    why: str = ""
    sources: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """Of its section: `figure-4`."""
        return re.sub(r"\W+", "-", self.label.lower()).strip("-")

    def has(self, conclusion: Conclusion) -> bool:
        """Whether the paper says it there."""
        return conclusion.source in (self.sources or (self.label,))


@dataclass(frozen=True, slots=True)
class Trial:
    """The paper's study, as a job of this service.

    params    those that are the paper's; the others are the study's own
    names     of the paper's matrices: those that are here are chosen
    generate  subjects of the benchmarks of which one of the kind can be generated here
    rows_max  most rows of a matrix that the study takes; 0: any
    note      what to know before pressing the button
    """

    study: str
    params: Mapping[str, Any]
    names: tuple[str, ...]
    generate: tuple[str, ...]
    rows_max: int = 0
    note: str = ""

    def has(self, matrix: str) -> bool:
        """Whether a matrix of that name is the paper's, or stands in for one: `memplus (stand-in)`."""
        return matrix.partition(" (")[0].lower() in {name.lower() for name in self.names}


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper whose methods are built here.

    name      of its page; link: in lists of papers
    entry     of BibTeX: article or inproceedings; fields: in the order of the entry, as BibTeX has them
    address   where it is published
    machine   what it measured on
    errata    what its print has wrong or open, and what is meant here
    judges    the studies that judge its statements
    exhibits  every figure and table of the print, in its order
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

    @property
    def doi(self) -> str:
        """Empty where none is known."""
        return self.fields.get("doi", "")

    @property
    def href(self) -> str:
        """The address of its page."""
        return f"/papers/{self.name}"

    @property
    def bibtex(self) -> str:
        """The entry."""
        of_all = {"author": " and ".join(self.authors), "title": f"{{{self.title}}}", **self.fields}
        lines = "".join(f"  {name} = {{{value}}},\n" for name, value in (of_all | {"year": str(self.year)}).items())
        return f"@{self.entry}{{{self.name}{self.year},\n{lines}}}"


def drawing(label: str, shows: str, places: tuple[Place, ...] = (), absent: str = "", why: str = "") -> Exhibit:
    """A picture or listing that explains and has no numbers."""
    return Exhibit(label, shows, places=places, absent=absent, unsaid="It explains; it has no numbers.", why=why)
