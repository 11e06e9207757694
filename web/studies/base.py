"""StudyPage: the definition of a study page as a value; web/views/study.py fills it with results."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.findings.overall_ranking import ComparisonGroup, OverallRanking, answers, of_findings
from gpu_engine.records import Measurement
from gpu_engine.studies.base import Study
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from web.components import Choice, Field, Link, TitledTable
from web.explore import Drawer, ExploreAnswer
from web.figures.base import Figure
from web.palette import style
from web.results import Results
from web.selection import PageParameter

OptionValues = Mapping[str, tuple[str, ...]]
"""Option → values of a parameter."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A labeled group of links, one of them current.

    values  option → values of the parameter, if they differ from the option; or a function that returns them
    figure  name of the figure that it belongs to; empty: the whole page
    """

    parameter: str
    label: str
    options: Callable[[Results], Sequence[str]]
    current: Callable[[Results], Sequence[str]]
    figure: str = ""
    values: OptionValues | Callable[[Results], OptionValues] = field(default_factory=dict)

    def values_for(self, results: Results) -> OptionValues:
        """Return the values of the options for these results."""
        return self.values(results) if callable(self.values) else self.values


@dataclass(frozen=True, slots=True)
class Select:
    """A field of the form at the top of the page."""

    id: str
    parameter: str
    label: str
    choices: Callable[[Results], Sequence[Choice]]


@dataclass(frozen=True, slots=True)
class Number:
    """A field for a whole number in the row of controls.

    default  value without the parameter; most: largest value; presets: common values; help: what it changes
    """

    parameter: str
    label: str
    default: int
    most: int
    presets: tuple[int, ...]
    help: str


@dataclass(frozen=True, slots=True)
class Form:
    """A form below the heading of a figure; hidden without fields."""

    figure: str
    parameters: tuple[str, ...]
    fields: Callable[[StudyData], Sequence[Field]]
    button: str


@dataclass(frozen=True, slots=True)
class Section:
    """Tables under a heading, below all figures or below one figure.

    notes   sentences above the tables; prose: whether cells are sentences
    figure  name of the figure; empty: below all figures
    """

    id: str
    heading: str
    tables: Callable[[StudyData], Sequence[TitledTable]]
    notes: tuple[str, ...] = ()
    figure: str = ""
    prose: bool = False


def conclusions_section(heading: str, table: Callable[[StudyData], Table], note: str) -> Section:
    """Return the section with the statements of a paper and their verdicts; note: how they are judged."""
    return Section("conclusions", heading, lambda data: (TitledTable("Conclusions", table(data)),), (note,), prose=True)


def features(results: Results) -> Table:
    """Return the table of the matrices with results, by ascending sigma."""
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
    """Return the ids of the matrices with results by ascending sigma, as in the figures."""
    return results.data.by_sigma(dict.fromkeys(m.matrix_id for m in results.measurements))


def on_cpu(data: StudyData) -> bool:
    """Return whether some results come from a CPU."""
    # With several workers, device names have a host prefix: `gpu1/cpu`.
    return any(m.backend == "cpu" for m in data.measurements)


CsvFields = Mapping[tuple[str, str], Mapping[str, Any]]
"""Device and case → further fields of its row in the CSV of a page."""


def no_fields(data: StudyData) -> CsvFields:  # noqa: ARG001
    """Return no fields."""
    return {}


def unchanged(measurements: Sequence[Measurement]) -> Sequence[Measurement]:
    """Return records as they were measured."""
    return measurements


def no_tables(results: Results) -> tuple[TitledTable, ...]:  # noqa: ARG001
    """Return no tables."""
    return ()


def nothing(data: StudyData) -> tuple[str, ...]:  # noqa: ARG001
    """Return no sentences."""
    return ()


@dataclass(frozen=True, slots=True)
class Features:
    """The table and the pictures of the matrices on a study page."""

    heading: str = "Matrices"
    note: str = ""
    table: Callable[[Results], Table] = features
    picture: str = ""


@dataclass(frozen=True, slots=True)
class StudyPage:
    """A study page, at the address of its name.

    link           text of its tab
    subpages       names of the studies whose pages belong to its tab
    explore        answer to the question of its title, above everything else; None: the overall ranking is it
    drawer         answer on one matrix or graph by its id (`?open=ID`); None: it has no results
    lead           first paragraph; invitation: what to do if there are no results
    findings       findings per matrix; overview: sentences on all of them; caveat: limits of the timings
    contests       comparison groups of the overall ranking (None: one per finding); what: their plural noun
    of_paper       whether a kernel belongs to the paper
    alone, named   figures that show a few kernels: only their data, or these kernels compared with all
    parameters     parameters of the address that only this page has; `StudyData.chosen` has their values
    conclusions    statements of a paper with verdicts
    links          figure name → links to related pages
    swatch         color of a measurement, as in the figures
    records        the records as the page uses them, for its files; csv_fields: further fields of its CSV
    answer_tables  tables of the numbers of its answer, for papers
    """

    study: Study
    link: str
    title: str
    lead: str
    invitation: str
    findings: Callable[[StudyData], tuple[Finding, ...]]
    figures: tuple[Figure[Any], ...]
    contests: Callable[[StudyData], Sequence[ComparisonGroup]] | None = None
    what: str = "matrices"
    of_paper: Callable[[str], bool] = field(default=lambda _: False)
    alone: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    overview: Callable[[StudyData], Sequence[str]] = nothing
    caveat: Callable[[StudyData], str] = field(default=lambda _: "")
    switches: tuple[Switch, ...] = ()
    parameters: tuple[PageParameter, ...] = ()
    selects: tuple[Select, ...] = ()
    numbers: tuple[Number, ...] = ()
    forms: tuple[Form, ...] = ()
    conclusions: Section | None = None
    sections: tuple[Section, ...] = ()
    links: Mapping[str, tuple[Link, ...]] = field(default_factory=dict)
    features: Features = Features()
    cases_note: str = ""
    with_traces: bool = False
    subpages: tuple[str, ...] = ()
    explore: Callable[[Results], ExploreAnswer | None] | None = None
    drawer: Callable[[Results, str], Drawer | None] | None = None
    swatch: Callable[[Measurement], str] = field(default=lambda m: style(m.format).color)
    records: Callable[[Sequence[Measurement]], Sequence[Measurement]] = unchanged
    csv_fields: Callable[[StudyData], CsvFields] = no_fields
    answer_tables: Callable[[Results], tuple[TitledTable, ...]] = no_tables

    @property
    def name(self) -> str:
        """Name of the study."""
        return self.study.name

    def used(self, data: StudyData) -> StudyData:
        """Return the data with the records as the page uses them."""
        return data if self.records is unchanged else replace(data, measurements=self.records(data.measurements))

    def answers(self, data: StudyData) -> list[OverallRanking]:
        """Return the overall rankings of its comparison groups."""
        contests = of_findings(self.findings(data)) if self.contests is None else self.contests(data)
        return answers(contests, self.what)

    def figure(self, name: str) -> Figure[Any]:
        """Return its figure of that name."""
        return next(figure for figure in self.figures if figure.name == name)
