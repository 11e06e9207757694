"""Where the results of every study turn up beside its page: at home, on a matrix, on a job, from a recording."""

import csv
import io
from collections import Counter
from pathlib import Path

from fastapi.testclient import TestClient

from gpu_engine.recordings import files
from gpu_engine.recordings.files import Recording
from server import import_recordings
from server.db import Database
from server.models import JobState
from tests.samples.recording import H200, PROFILE, grid
from tests.samples.studies import records_of
from tests.web.conftest import add_study, get
from tests.web.studies.reader import Reader, every_page
from web.studies import PAGES
from web.studies.base import StudyPage
from web.views.job_answer import WORDS_MAX


@every_page
def test_home_leads_to_its_results_by_device(client: TestClient, measured: StudyPage) -> None:
    links = [cell.href for row in get(client, "/").context["coverage"].rows for cell in row.cells if cell]
    own = [href for href in links if href.startswith(f"/{measured.name}?")]
    # A study whose page belongs to the tab of another one has no column.
    is_tab = all(measured.name not in page.subpages for page in PAGES)
    assert own == ([f"/{measured.name}?device={device}" for device in ("cuda%3A0", "cpu")] if is_tab else [])
    for href in own:
        assert get(client, href).context["findings"]


@every_page
def test_a_job_shows_all_that_it_found(client: TestClient, database: Database, measured: StudyPage) -> None:
    page = get(client, "/jobs/j2")
    groups = [*page.context["groups"], *page.context["others"]]
    shown = {row.measurement.case for group in groups for row in group.row.finding.rows}
    measurements, _ = records_of(measured.name, ("m1", "m2"), "cuda:0")
    timed = sum(m.median_s is not None for m in measurements)
    assert page.context["under"][0].startswith(f"{timed} of ")
    assert shown <= {m.case for m in measurements}
    assert {m.cache for m in measurements} == {group.row.finding.cache for group in groups}
    assert len(page.context["sentence"].split()) <= WORDS_MAX
    assert page.context["page"].text.endswith(measured.link)
    assert page.context["page"].href == f"/{measured.name}?job=j2"
    as_csv, as_json = (client.get(f"/{measured.name}.{kind}?{page.context['query']}") for kind in ("csv", "json"))
    assert {row["case"] for row in csv.DictReader(io.StringIO(as_csv.text))} == {m.case for m in measurements}
    assert {m["case"] for m in as_json.json()["measurements"]} == {m.case for m in measurements}
    assert [name for name, n in Counter(Reader(page.text).ids).items() if n > 1] == []
    add_study(database, measured.name, "j99", ["m1"], "cuda:0", JobState.RUNNING)
    assert get(client, "/jobs/j99").context["topics"] == "job:j99"


@every_page
def test_a_matrix_can_be_measured_by_it(client: TestClient, measured: StudyPage) -> None:
    backends = measured.study.backends
    for device, backend in (("cpu", "cpu"), ("cuda:0", "cuda")):
        form = get(client, f"/measure?matrix_ids=m1&study={measured.name}&device={device}").context["form"]
        assert [study.name for study in form.studies if study.chosen] == [measured.name]
        assert [choice.value for choice in form.devices if choice.chosen] == [device]
        # An estimate, unless the matrix or the device is none for the study.
        assert bool(form.estimate.facts) == (backend in backends and not form.estimate.notes)


@every_page
def test_what_was_recorded_elsewhere_is_shown(
    client: TestClient, database: Database, tmp_path: Path, page: StudyPage
) -> None:
    measurements, traces = records_of(page.name, ("grid",), H200.id)
    created = "2026-11-20T12:00:00+00:00"
    recording = Recording(page.name, created, H200, PROFILE, (grid(),), tuple(measurements), tuple(traces))
    path = tmp_path / "recorded" / "h200" / f"{page.name}.json.gz"
    files.write(path, recording)
    assert files.read(path).measurements == recording.measurements
    import_recordings.run(database, tmp_path / "recorded")
    context = get(client, f"/{page.name}").context
    assert {line.finding.device for line in context["findings"]} == {"NVIDIA H200 (reference results)"}
    assert {line.finding.members for line in context["findings"]} == {(f"recorded-{grid().fingerprint[:16]}",)}
    document = client.get(f"/{page.name}.json").json()
    assert (len(document["measurements"]), len(document["traces"])) == (
        len([m for m in measurements if m.cache == "warm"]),
        len(traces),
    )
