"""Where the results of every study turn up beside its page: at home, on a matrix, on a job, from a recording."""

import csv
import io
from collections import Counter
from pathlib import Path

from fastapi.testclient import TestClient

from gpu_engine.recordings import files
from gpu_engine.recordings.files import Recording
from gpu_engine.studies import STUDIES
from server import import_recordings
from server.db import Database
from server.models import JobState
from tests.samples.recording import H200, PROFILE, grid
from tests.samples.studies import records_of
from tests.web.conftest import ON_GPU, add_study, get
from tests.web.studies.reader import Reader, every_page
from web.studies.base import StudyPage


@every_page
def test_home_and_the_page_of_a_matrix_lead_to_it(client: TestClient, measured: StudyPage) -> None:
    for url in ("/", "/matrices/m1"):
        lines = [line for line in get(client, url).context["findings"] if line.page == measured.link]
        assert lines
        assert len(lines) <= measured.home_findings or url != "/"
        for line in lines:
            assert line.href.startswith(f"/{measured.name}?")
            assert line.finding.study == measured.name
            assert line.finding.title in [each.finding.title for each in get(client, line.href).context["findings"]]
    devices = {line.finding.device for line in lines}
    assert devices == {"cpu", ON_GPU}


@every_page
def test_a_job_shows_all_that_it_found(client: TestClient, database: Database, measured: StudyPage) -> None:
    page = get(client, "/jobs/j2")
    shown = {row.measurement.case for line in page.context["findings"] for row in line.finding.rows}
    measurements, _ = records_of(measured.name, ("m1", "m2"), "cuda:0")
    timed = sum(m.median_s is not None for m in measurements)
    assert page.context["counts"].startswith(f"{timed} of ")
    assert shown <= {m.case for m in measurements}
    assert {m.cache for m in measurements} == {line.finding.cache for line in page.context["findings"]}
    assert page.context["page"].text.endswith(measured.link)
    assert page.context["page"].href == f"/{measured.name}?job=j2"
    chart = page.context["chart"]
    assert chart.id.removesuffix("-chart") in measured.job_figures
    assert len(client.get(chart.url).json()["data"]) > 0
    as_csv, as_json = (client.get(link.href) for link in page.context["downloads"])
    assert {row["case"] for row in csv.DictReader(io.StringIO(as_csv.text))} == {m.case for m in measurements}
    assert {m["case"] for m in as_json.json()["measurements"]} == {m.case for m in measurements}
    assert [name for name, n in Counter(Reader(page.text).ids).items() if n > 1] == []
    add_study(database, measured.name, "j99", ["m1"], "cuda:0", JobState.RUNNING)
    assert get(client, "/jobs/j99").context["topics"] == "job:j99"


@every_page
def test_a_matrix_can_be_measured_by_it(client: TestClient, measured: StudyPage) -> None:
    page = get(client, "/matrices/m1")
    form = page.context["form"]
    assert [(study.name, study.chosen) for study in form.studies] == [
        (study.name, place == 0) for place, study in enumerate(STUDIES)
    ]
    (own,) = (study for study in form.studies if study.name == measured.name)
    # On each device that can the time that it takes there, unless the matrix is none for the study.
    possible, backends = not own.duration.startswith("None of the selected"), measured.study.backends
    assert [device for device in ("cpu", "cuda:0") if f" on {device}" in own.duration] == (
        [device for device, backend in (("cpu", "cpu"), ("cuda:0", "cuda")) if possible and backend in backends]
    )


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
    assert {line.finding.device for line in context["findings"]} == {"NVIDIA H200 (recorded)"}
    assert {line.finding.members for line in context["findings"]} == {(f"recorded-{grid().fingerprint[:16]}",)}
    home = get(client, "/")
    assert [(link.text, link.href) for link in home.context["recorded"]] == [
        (f"{page.recorded_as} on NVIDIA H200 (recorded)", f"/{page.name}?device=recorded%3Ah200")
    ]
    assert get(client, home.context["recorded"][0].href).context["findings"] == context["findings"]
    document = client.get(f"/{page.name}.json").json()
    assert (len(document["measurements"]), len(document["traces"])) == (
        len([m for m in measurements if m.cache == "warm"]),
        len(traces),
    )
