"""Context of the home page; see contexts.py."""

from dataclasses import dataclass
from urllib.parse import urlencode

from gpu_engine.text.tables import Table
from web.components import Choice, Link
from web.plots.ratios import Ratios


@dataclass(frozen=True, slots=True)
class Headline:
    """Sparsight and cuSPARSE on the reference results of a device."""

    sentence: str
    details: str
    plot: Ratios
    table: Table
    href: str


@dataclass(frozen=True, slots=True)
class NotHere:
    """A name that no matrix has.

    similar  matrices with similar names
    fetch    name in the collection that can be downloaded, or empty; size: of its file, or empty
    """

    name: str
    similar: tuple[Link, ...]
    fetch: str
    size: str


@dataclass(frozen=True, slots=True)
class Question:
    """The question of the home page: a matrix, a device (empty: the first one), and the number of SpMVs.

    note  why the number is not that of the address, which is `n_text`; both are empty if it is
    """

    name: str
    device: str
    n: int
    note: str = ""
    n_text: str = ""

    def query(self, device: str = "", n: str = "") -> str:
        """Return the query of the page of a matrix, for another device or number if one is given."""
        chosen = device or self.device
        return "?" + urlencode([("n", n or self.n), *([("device", chosen)] if chosen else [])])


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """The answer on a matrix; state: class of its state, text: the state in words; sentence: the answer."""

    name: str
    href: str
    state: str
    text: str
    size: str
    sentence: str


@dataclass(frozen=True, slots=True)
class LastAnswers:
    """The last answers; heading: whose they are; note: who queued the job of the samples, or empty."""

    heading: str
    note: str
    rows: tuple[LastAnswer, ...]


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """A device with links to the results of each study, None without any; note: what kind of device it is."""

    device: str
    note: str
    cells: tuple[Link | None, ...]


@dataclass(frozen=True, slots=True)
class Coverage:
    """What was measured on which device; heads: names of the studies."""

    heads: tuple[str, ...]
    rows: tuple[CoverageRow, ...]


@dataclass(frozen=True, slots=True)
class HomePage:
    """`/`: the question of a matrix, the last answers, and what was measured on which device.

    name          matrix in the address; missing: what to do if there is none of that name
    n             number of SpMVs
    can_fetch     whether the server downloads matrices by name
    matrix_count  number of matrices
    importing     whether reference results are being imported
    """

    title: str
    topics: str
    name: str
    n: int
    n_max: int
    n_note: str
    missing: NotHere | None
    can_fetch: bool
    devices: tuple[Choice, ...]
    answers: LastAnswers
    matrix_count: int
    importing: bool
    headline: Headline | None
    coverage: Coverage
