"""A page is made once, until something that it shows has changed."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from typing import Any

import pytest
from sqlalchemy import delete, update

from gpu_engine.records import DeviceInfo, as_json
from server import devices, events
from server.models import JobRow, JobState, MatrixRow, MatrixState, MeasurementRow, RecordingRow
from tests.samples.formats import timed
from tests.web.conftest import Lab, add_job, add_measurement, add_study
from web import page_cache
from web.contexts import StudyPage
from web.page_cache import PageCache
from web.selection import Selection
from web.studies import page_of
from web.views import study as view


@pytest.fixture
def cache() -> PageCache:
    return PageCache()


@pytest.fixture
def shown(lab: Lab, cache: PageCache) -> Callable[..., StudyPage]:
    def page(**chosen: tuple[str, ...]) -> StudyPage:
        with lab.database.read() as session:
            return cache.get(session, view.page, page_of("formats"), Selection().with_(**chosen))

    return page


def test_a_page_is_made_once_for_each_selection(shown: Callable[..., StudyPage]) -> None:
    first, other = shown(job=("j1",)), shown(job=("j2",))
    assert shown(job=("j1",)) is first
    assert shown(job=("j2",)) is other
    assert first is not other


def change_measured(lab: Lab) -> None:
    add_measurement(lab.database, lab.running, timed("csc/atomic", 1e-3, matrix=lab.matrix))


def change_ended(lab: Lab) -> None:
    with lab.database.write() as session:
        job = session.get_one(JobRow, lab.running)
        job.state, job.finished_at = JobState.FAILED, 1.0


def change_deleted_matrix(lab: Lab) -> None:
    with lab.database.write() as session:
        session.execute(delete(MeasurementRow).where(MeasurementRow.matrix_id == lab.hostile))
        session.execute(delete(MatrixRow).where(MatrixRow.id == lab.hostile))


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
    [change_measured, change_ended, change_deleted, change_deleted_matrix, change_recorded, change_devices],
)
def test_whatever_a_page_shows_makes_it_anew(
    lab: Lab, shown: Callable[..., StudyPage], change: Callable[[Lab], None]
) -> None:
    before = shown()
    change(lab)
    assert shown() is not before


def change_queued(lab: Lab) -> None:
    add_job(lab.database, "j40", "cpu", JobState.QUEUED, [], (lab.matrix,))


def change_progress(lab: Lab) -> None:
    with lab.database.write() as session:
        session.get_one(JobRow, lab.running).progress += 0.5
        events.emit(session, f"job:{lab.running}", "progress", {"id": lab.running})


def change_uploaded(lab: Lab) -> None:
    with lab.database.write() as session:
        session.add(MatrixRow(id="m9", name="m9", state=MatrixState.READY, sha256="9", fingerprint="9", created_at=9.0))


def change_other_study(lab: Lab) -> None:
    add_study(lab.database, "pagerank", "j41", (lab.matrix,))


@pytest.mark.parametrize("change", [change_queued, change_progress, change_uploaded])
def test_what_a_page_does_not_show_leaves_it(
    lab: Lab, shown: Callable[..., StudyPage], change: Callable[[Lab], None]
) -> None:
    before = shown()
    change(lab)
    assert shown() is before


def test_another_study_can_only_change_which_device_comes_first(lab: Lab, shown: Callable[..., StudyPage]) -> None:
    chosen, first = shown(device=("cpu",)), shown()
    change_other_study(lab)
    assert shown(device=("cpu",)) is chosen
    assert shown() is not first


def test_a_page_of_chosen_matrices_names_other_studies(lab: Lab, shown: Callable[..., StudyPage]) -> None:
    with lab.database.write() as session:
        session.execute(delete(MeasurementRow).where(MeasurementRow.matrix_id == lab.matrix))
        session.execute(update(JobRow).values(cases_done=0))
    assert not shown(matrix=(lab.matrix,)).elsewhere
    change_other_study(lab)
    assert [link.text for link in shown(matrix=(lab.matrix,)).elsewhere] == [page_of("pagerank").link]


def test_a_page_of_a_chosen_job_ends_with_it(lab: Lab, shown: Callable[..., StudyPage]) -> None:
    before = shown(job=(lab.queued,))
    with lab.database.write() as session:
        session.get_one(JobRow, lab.queued).state = JobState.CANCELLED
    assert shown(job=(lab.queued,)) is not before


def test_results_are_found_behind_any_queue(
    lab: Lab, shown: Callable[..., StudyPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.result_sources.JOBS_MAX", 4)
    jobs = shown().jobs
    for number in range(50, 55):
        add_job(lab.database, f"j{number}", "cpu", JobState.QUEUED, [], (lab.matrix,))
    assert jobs
    assert shown(cache=("warm",)).jobs == jobs


def test_whoever_asks_meanwhile_waits_for_the_same_page(
    lab: Lab, cache: PageCache, shown: Callable[..., StudyPage], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks, looked, made, state, page = count(1), Event(), [], page_cache._state, view.page
    with ThreadPoolExecutor(1) as others:

        def make(*given: Any) -> Any:
            made.append(others.submit(shown))
            assert looked.wait(60.0)
            return page(*given)

        def look(*given: Any) -> Any:
            found = state(*given)
            if next(looks) == 2:
                looked.set()
            return found

        monkeypatch.setattr(page_cache, "_state", look)
        monkeypatch.setattr(view, "page", make)
        first = shown()
        assert [other.result() for other in made] == [first]
