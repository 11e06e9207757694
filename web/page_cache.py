"""Pages of studies as they were made, for as long as nothing that they show has changed."""

from collections import OrderedDict
from concurrent.futures import Future
from threading import Lock
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from server.models import DeviceRow, JobRow, JobState, MatrixRow, MeasurementRow, RecordedResultsRow, RecordingRow
from web import contexts
from web.selection import Selection
from web.studies.base import StudyPage
from web.views import study as view

PAGES_MAX = 64

Made = Future[contexts.StudyPage]


class PageCache:
    """The pages asked for last, each with the state of the database that it was made of."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._pages: OrderedDict[tuple[str, Selection], tuple[Any, Made]] = OrderedDict()

    def page(self, session: Session, study: StudyPage, asked: Selection) -> contexts.StudyPage:
        """The page of a selection, made once however many ask for it meanwhile; raises as `views.study.page`."""
        key, state = (study.name, asked), _state(session, study.name, asked)
        with self._lock:
            known, made = self._pages.get(key, (None, Made()))
            # Who asks for another state waits for nobody: each state is made once.
            if known != state:
                self._pages[key] = state, (made := Made())
            self._pages.move_to_end(key)
            while len(self._pages) > PAGES_MAX:
                self._pages.popitem(last=False)
        if known != state:
            self._make(key, made, session, study, asked)
        return made.result()

    def _make(
        self, key: tuple[str, Selection], made: Made, session: Session, study: StudyPage, asked: Selection
    ) -> None:
        try:
            made.set_result(view.page(session, study, asked))
        except BaseException as error:
            with self._lock:
                if self._pages.get(key, (None, None))[1] is made:
                    del self._pages[key]
            made.set_exception(error)


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
        select(JobRow.id, JobRow.state).where(JobRow.id.in_(asked.job)).order_by(JobRow.id),
        select(MatrixRow.id, MatrixRow.state).where(MatrixRow.id.in_(asked.matrix)).order_by(MatrixRow.id),
    )
    return tuple(tuple(map(tuple, session.execute(query))) for query in queries)
