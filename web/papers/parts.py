"""What the page of a paper is made of: an exhibit beside what was measured, and the form that queues its study."""

from dataclasses import dataclass

from gpu_engine.text.tables import Table
from web.papers.base import Exhibit
from web.parts import Chart, Choice, Link


@dataclass(frozen=True, slots=True)
class ExhibitPart:
    """A figure or table of the print, and what the results here say of it.

    said        the verdicts on its statements on the chosen device, counted: `2 agree, 1 disagrees`
    statements  each on every device; None where it has none
    links       to where it is drawn; chart: the first of these, None where it has none or stands above already
    above       the label of the exhibit under which that chart stands
    """

    exhibit: Exhibit
    said: str
    statements: Table | None
    links: tuple[Link, ...]
    chart: Chart | None
    above: str


@dataclass(frozen=True, slots=True)
class Generation:
    """A matrix that can be generated, and the JSON body of the call that does it."""

    name: str
    body: str


@dataclass(frozen=True, slots=True)
class TrialForm:
    """The study of a paper as a job.

    body      the JSON of the job without its matrices and device
    matrices  that it can be of, those of the paper chosen; devices: that can measure it
    generate  matrices that are not here yet
    reading   the name of a matrix that was just asked for and is being read; empty: none
    """

    study: str
    body: str
    note: str
    matrices: tuple[Choice, ...]
    devices: tuple[Choice, ...]
    generate: tuple[Generation, ...]
    reading: str
