"""Components of the page of a paper: exhibits with results, verdicts on statements, outlook, and the job form."""

from dataclasses import dataclass

from markupsafe import Markup

from gpu_engine.text.tables import Table
from web.components import Chart, Choice, Link
from web.papers.base import Exhibit, OutlookState


@dataclass(frozen=True, slots=True)
class VerdictCell:
    """Verdict on a statement on one device.

    why  one sentence with the cases that decide it; numbers: those of more cases, empty if why has them all
    """

    verdict: str
    why: str
    numbers: str = ""


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """Verdicts on a statement for the same matrices, one per device.

    matrices  `the paper’s matrices, lower triangles`, with the cache state if the table has several
    cells     one per device of the table; None without results
    """

    matrices: str
    cells: tuple[VerdictCell | None, ...]


@dataclass(frozen=True, slots=True)
class StatementRows:
    """A statement with its verdicts; study: the study that checks it, empty if one study checks all of an exhibit."""

    statement: str
    study: str
    rows: tuple[VerdictRow, ...]


@dataclass(frozen=True, slots=True)
class StatementTable:
    """Statements of an exhibit with their verdicts on all devices side by side, the chosen device first."""

    devices: tuple[str, ...]
    statements: tuple[StatementRows, ...]


@dataclass(frozen=True, slots=True)
class ScoreboardRow:
    """Statements by verdict on one device; label: its place, which is (device, setting, cache state)."""

    label: str
    counts: tuple[int, ...]
    place: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Scoreboard:
    """Number of statements by verdict, judged on the paper's matrices; total: all statements of the paper."""

    verdicts: tuple[str, ...]
    rows: tuple[ScoreboardRow, ...]
    total: int


@dataclass(frozen=True, slots=True)
class ExhibitPart:
    """A figure or table of a paper with the results for it.

    verdict_counts  verdicts on its statements for the chosen device: `agrees (2), disagrees (1)`
    statements      verdicts for all devices; None if it has no statements
    drawing         explanation of the exhibit, empty without one
    table           printed values next to measured ones; None without rows
    links           links to its figures; chart: the first one, None if another exhibit has it
    above           label of the exhibit that has the chart
    """

    exhibit: Exhibit
    verdict_counts: str
    statements: StatementTable | None
    drawing: Markup
    table: Table | None
    links: tuple[Link, ...]
    chart: Chart | None
    above: str


@dataclass(frozen=True, slots=True)
class OutlookRow:
    """A line of future work of a paper with links to what Sparsight has of it, and a number."""

    line: str
    source: str
    state: OutlookState
    links: tuple[Link, ...]
    number: str


@dataclass(frozen=True, slots=True)
class Generation:
    """A matrix that can be generated, and the JSON body of the request for it."""

    name: str
    body: str


@dataclass(frozen=True, slots=True)
class TrialForm:
    """The form that queues the study of a paper.

    body      JSON of the job without its matrices and device
    matrices  suitable matrices, those of the paper selected; devices: suitable devices
    generate  missing matrices that can be generated
    reading   name of a matrix that the server is reading, or empty
    """

    study: str
    body: str
    note: str
    matrices: tuple[Choice, ...]
    devices: tuple[Choice, ...]
    generate: tuple[Generation, ...]
    reading: str
