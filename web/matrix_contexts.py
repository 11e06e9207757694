"""One dataclass a page of matrices: the catalogue, and one of them; see contexts.py."""

from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.forms import MeasureForm
from web.parts import Chart, Choice, Choices, Column, Field, FindingLine, JobLine, Link, LinkSwitch, MatrixLine


@dataclass(frozen=True, slots=True)
class CatalogueLine:
    """A matrix of the catalogue; spy: the address of its small picture, empty where there is none.

    best      the kernel that leads, empty where none does; measured_on: by name
    """

    matrix: MatrixLine
    spy: str
    best: str
    measured_on: str


@dataclass(frozen=True, slots=True)
class GeneratorForm:
    """A generator and its fields; expectation: what its defaults make; chosen: whether its fields are shown."""

    name: str
    summary: str
    fields: tuple[Field, ...]
    expectation: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class MatrixSet:
    """The set that the catalogue shows: its matrices that are there, where they are compared, and what was deleted."""

    id: str
    name: str
    matrix_ids: tuple[str, ...]
    pages: tuple[Link, ...]
    gone: int


@dataclass(frozen=True, slots=True)
class ByName:
    """The form that fetches a matrix of the collection: some names for a start, and how many are known."""

    names: tuple[Choice, ...]
    known: str


@dataclass(frozen=True, slots=True)
class MatricesPage:
    """`/matrices`: the catalogue, upload, generators and the collection.

    by_name   None where nothing is fetched
    sources   mine, recorded, all; source: as the address has it; filtered: whether it asks for less than everything
    sets      the newest that were saved; set: the one shown, None: the whole catalogue
    studies   that the chosen matrices can be measured by; devices: those alive
    """

    title: str
    topics: str
    q: str
    sort: str
    sources: LinkSwitch
    source: str
    facets: tuple[Choices, ...]
    filtered: bool
    columns: tuple[Column, ...]
    matrices: tuple[CatalogueLine, ...]
    first: str
    next: str
    by_name: ByName | None
    generators: tuple[GeneratorForm, ...]
    sets: tuple[Link, ...]
    set: MatrixSet | None
    studies: tuple[Choice, ...]
    devices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class History:
    """What a matrix took over time, and its numbers; kernels: that can be followed; without any it is hidden."""

    chart: Chart
    table: Table
    caches: LinkSwitch
    kernels: tuple[Choice, ...]
    hidden: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Predicted:
    """What was predicted beside what was measured, where both are known; said: sentences on the first choice."""

    chart: Chart
    table: Table | None
    said: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """How a recorded matrix gets its values here; each empty where it does not apply.

    generate    the fields of the form that generates it
    collection  its name in the SuiteSparse Matrix Collection
    twins       matrices here that equal it
    """

    generate: tuple[tuple[str, str], ...]
    collection: str
    twins: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class MatrixPage:
    """`/matrices/{id}`: features, advice, pictures, results so far, the button that measures; origin of a recorded one.

    fetch    its name in the collection where it can be fetched, or fetched again
    advice   predicted times by kernel and GPU, and the reason; None where nothing can be predicted
    predicted_for  the model of GPU that they are the best on, and what was learned of it here
    how_sure whether the first of them need not be measured
    beside   these beside what was measured
    form     measures it; None where it has no values
    history  over the jobs that compared its formats
    """

    title: str
    topics: str
    matrix: MatrixLine
    source: str
    error: str
    fetch: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    advice: Table | None
    predicted_for: str
    how_sure: str
    beside: Predicted
    charts: tuple[Chart, ...]
    histogram: tuple[tuple[str, str], ...]
    findings: tuple[FindingLine, ...]
    history: History
    jobs: tuple[JobLine, ...]
    form: MeasureForm | None
    origin: Origin | None
