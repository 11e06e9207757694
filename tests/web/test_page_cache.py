"""A page is made once, until something that it shows has changed."""

from collections.abc import Callable

import pytest
from sqlalchemy import delete

from gpu_engine.records import DeviceInfo, as_json
from server import devices, events
from server.models import JobRow, JobState, MeasurementRow, RecordingRow
from tests.samples.formats import timed
from tests.web.conftest import Lab, add_job, add_measurement
from web.contexts import StudyPage
from web.page_cache import PAGES_MAX, PageCache
from web.selection import Selection
from web.studies import page_of


@pytest.fixture
def cache() -> PageCache:
    return PageCache()


@pytest.fixture
def shown(lab: Lab, cache: PageCache) -> Callable[..., StudyPage]:
    def page(**chosen: tuple[str, ...]) -> StudyPage:
        with lab.database.read() as session:
            return cache.page(session, page_of("formats"), Selection(**chosen))

    return page


def test_a_page_is_made_once_for_each_selection(shown: Callable[..., StudyPage]) -> None:
    first, other = shown(job=("j1",)), shown(job=("j2",))
    assert shown(job=("j1",)) is first
    assert shown(job=("j2",)) is other
    assert first is not other


def test_progress_of_a_job_changes_no_page(lab: Lab, shown: Callable[..., StudyPage]) -> None:
    before = shown()
    with lab.database.write() as session:
        events.emit(session, f"job:{lab.running}", "progress", {"id": lab.running})
    assert shown() is before


def change_measured(lab: Lab) -> None:
    add_measurement(lab.database, lab.running, timed("csc/atomic", 1e-3, matrix=lab.matrix))


def change_queued(lab: Lab) -> None:
    add_job(lab.database, "j40", "cpu", JobState.QUEUED, [], (lab.matrix,))


def change_ended(lab: Lab) -> None:
    with lab.database.write() as session:
        events.emit(session, f"job:{lab.running}", "state", {"id": lab.running})


def change_deleted(lab: Lab) -> None:
    with lab.database.write() as session:
        session.execute(delete(MeasurementRow).where(MeasurementRow.job_id == "j2"))
        session.execute(delete(JobRow).where(JobRow.id == "j2"))


def change_recorded(lab: Lab) -> None:
    with lab.database.write() as session:
        info = as_json(DeviceInfo("recorded:h", "cuda", "H", 1, 1))
        known = {"study": "formats", "device": "recorded:h", "info": info, "profile": {}, "created_at": 1.0}
        session.add(RecordingRow(id="h/formats", sha256="1" * 64, **known))


def change_devices(lab: Lab) -> None:
    devices.register(lab.database, [DeviceInfo("new", "cpu", "Another", 1, 1)])


@pytest.mark.parametrize(
    "change",
    [change_measured, change_queued, change_ended, change_deleted, change_recorded, change_devices],
)
def test_whatever_a_page_shows_makes_it_anew(
    lab: Lab, shown: Callable[..., StudyPage], change: Callable[[Lab], None]
) -> None:
    before = shown()
    change(lab)
    assert shown() is not before


def test_only_the_pages_asked_for_last_are_kept(
    cache: PageCache, shown: Callable[..., StudyPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.page_cache.PAGES_MAX", 2)
    assert PAGES_MAX > 2
    first, _ = shown(job=("j1",)), shown(job=("j2",))
    assert shown(job=("j1",)) is first
    shown(job=("j1",), cache=("cold",))
    assert shown(job=("j1",)) is first, "asked for after the second one, which is gone"
