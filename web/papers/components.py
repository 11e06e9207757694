"""Components of the page of a paper: exhibits with measured results, and the form that queues its study."""

from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.components import Chart, Choice, Link
from web.papers.base import Exhibit


@dataclass(frozen=True, slots=True)
class ExhibitPart:
    """A figure or table of a paper with the results for it.

    verdict_counts  verdicts on its statements for the chosen device: `agrees (2), disagrees (1)`
    statements      verdicts for all devices; None if it has no statements
    links           links to its figures; chart: the first one, None if another exhibit has it
    above           label of the exhibit that has the chart
    """

    exhibit: Exhibit
    verdict_counts: str
    statements: Table | None
    links: tuple[Link, ...]
    chart: Chart | None
    above: str


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
