"""Contexts of the pages about matrices: list and matrix; see contexts.py."""

from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.components import (
    Chart,
    Choice,
    Choices,
    Column,
    Field,
    FindingRowView,
    JobRowView,
    Link,
    LinkSwitch,
    MatrixRowView,
)
from web.forms import MeasureForm


@dataclass(frozen=True, slots=True)
class CatalogueRowView:
    """A matrix in the list of all matrices; spy: address of its thumbnail, or empty.

    best      fastest kernel, or empty; measured_on: names of devices
    """

    matrix: MatrixRowView
    spy: str
    best: str
    measured_on: str


@dataclass(frozen=True, slots=True)
class GeneratorForm:
    """A generator and its fields; expectation: size of the default matrix; chosen: whether its fields are visible."""

    name: str
    summary: str
    fields: tuple[Field, ...]
    expectation: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class MatrixSet:
    """A saved selection: its matrices, links to their results, and the number of deleted matrices."""

    id: str
    name: str
    matrix_ids: tuple[str, ...]
    pages: tuple[Link, ...]
    deleted: int


@dataclass(frozen=True, slots=True)
class ByName:
    """The form for a SuiteSparse download: suggested names, and the number of known ones."""

    names: tuple[Choice, ...]
    known: str


@dataclass(frozen=True, slots=True)
class MatricesPage:
    """`/matrices`: all matrices, upload, generators, and SuiteSparse download.

    by_name   None if the server downloads nothing
    sources   links for mine, recorded, and all; source: value in the address; filtered: whether filters are active
    sets      newest saved selections; set: the current one, None: all matrices
    studies   studies for the selected matrices; devices: available devices
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
    matrices: tuple[CatalogueRowView, ...]
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
    """History of a matrix; kernels: kernels of the form; the history is hidden without any."""

    chart: Chart
    table: Table
    caches: LinkSwitch
    kernels: tuple[Choice, ...]
    hidden: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Predicted:
    """Predicted and measured times; sentences: regret of the predicted kernel."""

    chart: Chart
    table: Table | None
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Ways to get the values of a reference matrix; a field is empty if it does not apply.

    generate    fields of the form that generates it
    collection  name in the SuiteSparse Matrix Collection
    twins       equal matrices with values
    """

    generate: tuple[tuple[str, str], ...]
    collection: str
    twins: tuple[Link, ...]


@dataclass(frozen=True, slots=True)
class MatrixPage:
    """`/matrices/{id}`: features, predictions, pictures, results, and the measure form.

    fetch          name in the collection if the server can download it
    advice         predicted times by kernel and GPU with reasons; None without a prediction
    predicted_for  GPU that sorts the predictions, and their calibration
    confidence     near-best kernels and confidence of the prediction
    comparison     predicted and measured times
    form           measure form; None without values
    history        times over its formats jobs
    origin         ways to get the values of a reference matrix; None for others
    """

    title: str
    topics: str
    matrix: MatrixRowView
    source: str
    error: str
    fetch: str
    facts: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    advice: Table | None
    predicted_for: str
    confidence: str
    comparison: Predicted
    charts: tuple[Chart, ...]
    histogram: tuple[tuple[str, str], ...]
    findings: tuple[FindingRowView, ...]
    history: History
    jobs: tuple[JobRowView, ...]
    form: MeasureForm | None
    origin: Origin | None
