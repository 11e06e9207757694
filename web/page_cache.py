"""Cache of study pages and of their parts on other pages, valid until the shown data change."""

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

Page = TypeVar("Page")
Make = Callable[[Session, StudyPage, Selection], Page]


class PageCache:
    """The pages requested last, each with the database state that it shows."""

    def __init__(self) -> None:
        self._pages: SingleFlightCache[Any] = SingleFlightCache(PAGES_MAX)

    def get(self, session: Session, make: Make[Page], study: StudyPage, selection: Selection) -> Page:
        """Return the result of `make` for a study and a selection, computed once per state; raises like `make`."""
        state = _state(session, study.name, selection)
        page: Page = self._pages.get((make, study.name, selection), state, lambda: make(session, study, selection))
        return page


def _state(session: Session, study: str, selection: Selection) -> tuple[Any, ...]:
    """Return a value that changes whenever the data of the page change; only jobs with results count.

    Data that are newer than this value cause a new page at the next request. A sum changes when a row comes or goes.
    """
    # A page without results of the chosen matrices lists other studies that have some.
    jobs = select(
        func.count(),
        func.sum(JobRow.cases_done),
        func.sum(JobRow.created_at),
        func.sum(JobRow.finished_at),
        func.count().filter(JobRow.state == JobState.SUCCEEDED),
    ).where(JobRow.cases_done > 0, *(() if selection.matrix else (JobRow.study == study,)))
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
    if not (selection.device or selection.job):
        # The first device of a page depends on the studies of all devices.
        measured = select(JobRow.device, JobRow.study).where(JobRow.cases_done > 0).distinct()
        queries += (measured.order_by(JobRow.device, JobRow.study),)
    if selection.job:
        queries += (select(JobRow.id, JobRow.state).where(JobRow.id.in_(selection.job)).order_by(JobRow.id),)
    if selection.set:
        queries += (select(MatrixSetRow.name).where(MatrixSetRow.id.in_(selection.set)),)
    if selection.matrix:
        chosen = MatrixRow.id.in_(selection.matrix)
        queries += (select(MatrixRow.id, MatrixRow.state).where(chosen).order_by(MatrixRow.id),)
    return tuple(tuple(map(tuple, session.execute(query))) for query in queries)
