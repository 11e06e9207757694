"""StudyPage: what the page of a study is, as a value; web/views/study.py fills it with results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gpu_engine.findings.answer import Answer, Contest, answers, of_findings
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.records import Measurement
from gpu_engine.studies.base import Study
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.figures.base import Figure
from web.palette import style
from web.parts import Choice, Field, Link, TitledTable
from web.results import Results
from web.selection import PageParameter


@dataclass(frozen=True, slots=True)
class Switch:
    """Links of which one is current.

    values  what an option stands for that is not a value itself
    figure  the name of the one below whose heading it stands; empty: above all
    """

    parameter: str
    label: str
    options: Callable[[Results], Sequence[str]]
    current: Callable[[Results], Sequence[str]]
    figure: str = ""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Select:
    """A field of the form of matrices."""

    id: str
    parameter: str
    label: str
    choices: Callable[[Results], Sequence[Choice]]


@dataclass(frozen=True, slots=True)
class Form:
    """A form of its own below the heading of a figure; without fields it is hidden."""

    figure: str
    parameters: tuple[str, ...]
    fields: Callable[[StudyData], Sequence[Field]]
    button: str


@dataclass(frozen=True, slots=True)
class Section:
    """Tables under a heading, below all figures or below the one that it names.

    notes  sentences above the tables; prose: cells are sentences
    """

    id: str
    heading: str
    tables: Callable[[StudyData], Sequence[TitledTable]]
    notes: tuple[str, ...] = ()
    figure: str = ""
    prose: bool = False


def conclusions_section(heading: str, table: Callable[[StudyData], Table], note: str) -> Section:
    """The statements of a paper, each beside what is shown; note: how they are judged."""
    return Section("conclusions", heading, lambda data: (TitledTable("Conclusions", table(data)),), (note,), prose=True)


def features(results: Results) -> Table:
    """What is known of the matrices with results, by ascending sigma."""
    texts = ("rows", "columns", "nnz", "ave", "σ", "max − min")
    rows = [
        (
            known.name,
            *(units.count(value) for value in (known.n_rows, known.n_cols, known.nnz)),
            *(units.number(value) for value in (known.ave, known.sigma)),
            units.count(known.max_min),
        )
        for known in (results.features[matrix_id] for matrix_id in by_sigma(results))
    ]
    return Table((Head("matrix", numeric=False), *(Head(text) for text in texts)), tuple(rows))


def by_sigma(results: Results) -> list[str]:
    """The matrices with results by ascending sigma, as the figures have them."""
    return results.data.by_sigma(dict.fromkeys(m.matrix_id for m in results.measurements))


def on_cpu(data: StudyData) -> bool:
    """Whether some of the results are of a CPU."""
    # With several workers a device carries the name of its host: `gpu1/cpu`.
    return any(m.backend == "cpu" for m in data.measurements)


def nothing(data: StudyData) -> tuple[str, ...]:  # noqa: ARG001
    """No sentences."""
    return ()


@dataclass(frozen=True, slots=True)
class Features:
    """The table of the matrices, and the picture of each."""

    heading: str = "Matrices"
    note: str = ""
    table: Callable[[Results], Table] = features
    picture: str = ""


@dataclass(frozen=True, slots=True)
class StudyPage:
    """The page of a study, at the address of its name.

    link           in the navigation; recorded_as: on the home page, to what was recorded elsewhere
    lead           what the page is about; invitation: what to do where there are no results
    findings       what may be said of each matrix; overview: more sentences on all of it, caveat: what they do not say
    contests       what the answer of the page is made of, `what` in the plural; None: a contest per finding
    of_paper       whether a kernel is one of the paper's; all others are ours or of libraries
    alone, named   figures that show a few kernels: by themselves, or beside what is compared with all
    parameters     of the address that only this page has; `StudyData.chosen` holds their values
    conclusions    of a paper, each beside what is shown
    links          by the name of a figure, to other pages on the same
    job_figures    the first of these that has something to show is on the page of a job
    home_findings  most on the home page
    swatch         the colour of a measurement, as the figures have it
    """

    study: Study
    link: str
    title: str
    lead: str
    invitation: str
    recorded_as: str
    findings: Callable[[StudyData], tuple[Finding, ...]]
    figures: tuple[Figure[Any], ...]
    job_figures: tuple[str, ...]
    contests: Callable[[StudyData], Sequence[Contest]] | None = None
    what: str = "matrices"
    of_paper: Callable[[str], bool] = field(default=lambda _: False)
    alone: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    overview: Callable[[StudyData], Sequence[str]] = nothing
    caveat: Callable[[StudyData], str] = field(default=lambda _: "")
    switches: tuple[Switch, ...] = ()
    parameters: tuple[PageParameter, ...] = ()
    selects: tuple[Select, ...] = ()
    forms: tuple[Form, ...] = ()
    conclusions: Section | None = None
    sections: tuple[Section, ...] = ()
    links: Mapping[str, tuple[Link, ...]] = field(default_factory=dict)
    features: Features = Features()
    cases_note: str = ""
    with_traces: bool = False
    home_findings: int = 2
    swatch: Callable[[Measurement], str] = field(default=lambda m: style(m.format).color)

    @property
    def name(self) -> str:
        """That of the study."""
        return self.study.name

    def answers(self, data: StudyData) -> list[Answer]:
        """What all of its contests say together."""
        contests = of_findings(self.findings(data)) if self.contests is None else self.contests(data)
        return answers(contests, self.what)

    def figure(self, name: str) -> Figure[Any]:
        """Its figure of that name."""
        return next(figure for figure in self.figures if figure.name == name)
