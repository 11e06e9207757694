"""Tags and notes of jobs: what is one, who is found by them, and that the work does not depend on them."""

import pytest

from gpu_engine.errors import ForbiddenError, NotFoundError, ParameterError
from server.jobs import annotations, queue
from server.jobs.documents import job_document
from server.jobs.queue import JobRequest, list_jobs, submit
from server.models import JobState
from server.roles import Caller, Role
from tests.server.jobs.conftest import Jobs
from tests.server.jobs.fake_study import FAKE

A = "a" * 32
TAGGED = JobRequest("fake", (A,), {"n_cases": 3}, "cpu", tags=("nightly", "a.b-c_1", "nightly"), note=" 1\r\n2\x00")


def test_a_job_has_the_annotations_that_it_was_asked_for_with(jobs: Jobs) -> None:
    job, _ = submit(jobs.database, jobs.settings, TAGGED, studies=FAKE)
    with jobs.database.read() as session:
        document = job_document(session, queue.get_job(session, job.id))
    assert (document["tags"], document["note"]) == (["a.b-c_1", "nightly"], "1\n2")


@pytest.mark.parametrize("tag", ["", "-a", "a b", "é", "a" * 41, "a'; --", 'a"'])
def test_what_is_no_tag_is_refused(jobs: Jobs, tag: str) -> None:
    with pytest.raises(ParameterError, match="Invalid tag"):
        submit(jobs.database, jobs.settings, JobRequest("fake", (A,), device="cpu", tags=(tag,)), studies=FAKE)
    with pytest.raises(ParameterError, match="Invalid tag"), jobs.database.read() as session:
        list_jobs(session, tag=tag)


def test_too_many_and_too_long_ones_are_refused() -> None:
    assert len(annotations.clean_tags(map(str, range(10)))) == 10
    with pytest.raises(ParameterError, match="11 tags"):
        annotations.clean_tags(map(str, range(11)))
    with pytest.raises(ParameterError, match="2001 characters"):
        annotations.clean_note("a" * 2001)


def test_jobs_are_found_by_a_whole_tag(jobs: Jobs) -> None:
    found = [submit(jobs.database, jobs.settings, TAGGED, studies=FAKE)[0].id]
    other = JobRequest("fake", (A,), device="cpu", tags=("night",))
    submit(jobs.database, jobs.settings, other, studies=FAKE)
    submit(jobs.database, jobs.settings, JobRequest("fake", (A,), device="cpu"), studies=FAKE)
    with jobs.database.read() as session:
        assert [row.id for row in list_jobs(session, tag="nightly").items] == found
        assert annotations.known_tags(session) == ["a.b-c_1", "night", "nightly"]


def test_one_annotation_changes_and_the_other_stays(jobs: Jobs) -> None:
    job, _ = submit(jobs.database, jobs.settings, TAGGED, studies=FAKE)
    assert queue.annotate(jobs.database, job.id, tags=["b", "a"]).note == "1\n2"
    again = queue.annotate(jobs.database, job.id, note="")
    assert (again.tags, again.note) == (["a", "b"], "")
    with pytest.raises(ParameterError):
        queue.annotate(jobs.database, job.id, tags=["c"], note="a" * 2001)
    with jobs.database.read() as session:
        assert queue.get_job(session, job.id).tags == ["a", "b"]
    with pytest.raises(NotFoundError):
        queue.annotate(jobs.database, "none", tags=[])


def test_the_same_key_finds_the_job_whatever_it_is_called(jobs: Jobs) -> None:
    plain = JobRequest("fake", (A,), {"n_cases": 3}, "cpu")
    first, _ = submit(jobs.database, jobs.settings, TAGGED, "key", studies=FAKE)
    again, created = submit(jobs.database, jobs.settings, plain, "key", studies=FAKE)
    assert (again.id, again.tags, created) == (first.id, ["a.b-c_1", "nightly"], False)


def test_a_job_that_is_tried_again_keeps_its_tags_and_not_its_note(jobs: Jobs) -> None:
    job, _ = submit(jobs.database, jobs.settings, TAGGED, studies=FAKE)
    assert queue.cancel(jobs.database, job.id).state == JobState.CANCELLED
    again, _ = queue.retry(jobs.database, jobs.settings, job.id, studies=FAKE)
    assert (again.tags, again.note) == (["a.b-c_1", "nightly"], "")


def test_only_who_queued_a_job_or_an_admin_annotates_it(jobs: Jobs) -> None:
    mine, other = Caller("ci", Role.SUBMIT, "1"), Caller("other", Role.SUBMIT, "2")
    job, _ = submit(jobs.database, jobs.settings, TAGGED, studies=FAKE)
    with jobs.database.write() as session:
        queue.get_job(session, job.id).token_id = mine.token_id
    with pytest.raises(ForbiddenError):
        queue.annotate(jobs.database, job.id, note="theirs", caller=other)
    assert queue.annotate(jobs.database, job.id, note="mine", caller=mine).note == "mine"
    assert queue.annotate(jobs.database, job.id, note="admin's", caller=Caller("a", Role.ADMIN, "3")).note == "admin's"
