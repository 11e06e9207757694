"""Pages of studies as they were made, for as long as nothing that they show has changed."""

from collections import OrderedDict
from threading import Lock
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from server.models import DeviceRow, EventRow, JobRow, MatrixRow, MeasurementRow, RecordingRow
from web import contexts
from web.selection import Selection
from web.studies.base import StudyPage
from web.views import study as view

PAGES_MAX = 64


class PageCache:
    """The pages of one state of the database, those asked for last."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._state: tuple[Any, ...] = ()
        self._pages: OrderedDict[tuple[str, Selection], contexts.StudyPage] = OrderedDict()

    def page(self, session: Session, study: StudyPage, asked: Selection) -> contexts.StudyPage:
        """The page of a selection; raises as `views.study.page`."""
        key, state = (study.name, asked), _state(session)
        with self._lock:
            if state == self._state and key in self._pages:
                self._pages.move_to_end(key)
                return self._pages[key]
        # Nobody waits here for the page of another: locks are not fair, and some would wait for all.
        made = view.page(session, study, asked)
        with self._lock:
            if state != self._state:
                self._pages.clear()
                self._state = state
            self._pages[key] = made
            while len(self._pages) > PAGES_MAX:
                self._pages.popitem(last=False)
        return made


def _state(session: Session) -> tuple[Any, ...]:
    """What differs once anything has changed that a page of a study shows: how far a job is it does not show.

    What a page shows newer than this is made anew at the next look.
    """
    told = select(EventRow.id).where(EventRow.kind != "progress").order_by(EventRow.id.desc()).limit(1)
    newest = (told.scalar_subquery(), select(func.max(MeasurementRow.id)).scalar_subquery())
    counts = (select(func.count()).select_from(table).scalar_subquery() for table in (JobRow, MatrixRow, DeviceRow))
    recorded = session.execute(select(RecordingRow.id, RecordingRow.sha256).order_by(RecordingRow.id)).all()
    return (*session.execute(select(*newest, *counts)).one(), *map(tuple, recorded))
