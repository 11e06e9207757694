"""Pages of studies, and their parts of other pages, as they were made, until something that they show has changed."""

from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from server.models import (
    DeviceRow,
    JobRow,
    JobState,
    MatrixRow,
    MatrixSetRow,
    MeasurementRow,
    RecordedResultsRow,
    RecordingRow,
)
from web.selection import Selection
from web.single_flight import SingleFlightCache
from web.studies.base import StudyPage

PAGES_MAX = 64

Shown = TypeVar("Shown")
Make = Callable[[Session, StudyPage, Selection], Shown]


class PageCache:
    """What was asked for last of studies, each with the state of the database that it was made of."""

    def __init__(self) -> None:
        self._pages: SingleFlightCache[Any] = SingleFlightCache(PAGES_MAX)

    def kept(self, session: Session, make: Make[Shown], study: StudyPage, asked: Selection) -> Shown:
        """What `make` shows of a study and a selection, made once however many ask for it meanwhile; raises as it."""
        state = _state(session, study.name, asked)
        shown: Shown = self._pages.get((make, study.name, asked), state, lambda: make(session, study, asked))
        return shown


def _state(session: Session, study: str, asked: Selection) -> tuple[Any, ...]:
    """What differs once anything has changed that the page shows; of jobs it shows those that have measured something.

    What a page shows newer than this is made anew at the next look. A sum differs whenever one comes or goes.
    """
    # A page of chosen matrices without results says which other studies have some.
    jobs = select(
        func.count(),
        func.sum(JobRow.cases_done),
        func.sum(JobRow.created_at),
        func.sum(JobRow.finished_at),
        func.count().filter(JobRow.state == JobState.SUCCEEDED),
    ).where(JobRow.cases_done > 0, *(() if asked.matrix else (JobRow.study == study,)))
    matrices = select(func.count(), func.sum(MatrixRow.created_at)).where(
        or_(
            select(MeasurementRow.id).where(MeasurementRow.matrix_id == MatrixRow.id).exists(),
            select(RecordedResultsRow.id).where(RecordedResultsRow.fingerprint == MatrixRow.fingerprint).exists(),
        )
    )
    queries: tuple[Any, ...] = (
        jobs,
        matrices,
        select(RecordingRow.id, RecordingRow.sha256).order_by(RecordingRow.id),
        select(DeviceRow.id, DeviceRow.info).order_by(DeviceRow.id),
    )
    if asked.job:
        queries += (select(JobRow.id, JobRow.state).where(JobRow.id.in_(asked.job)).order_by(JobRow.id),)
    if asked.set:
        queries += (select(MatrixSetRow.name).where(MatrixSetRow.id.in_(asked.set)),)
    if asked.matrix:
        chosen = MatrixRow.id.in_(asked.matrix)
        queries += (select(MatrixRow.id, MatrixRow.state).where(chosen).order_by(MatrixRow.id),)
    return tuple(tuple(map(tuple, session.execute(query))) for query in queries)
