"""Recorded results on the pages: beside one's own, never ranked with them, and with the way to measure here."""

import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from gpu_engine.generators import generate
from gpu_engine.recordings import files
from server import devices, import_recordings
from server.models import JobState
from tests.conftest import AddMatrix
from tests.samples.formats import study_of
from tests.samples.recording import GRID, grid, sample
from tests.web.conftest import CPU, Lab, add_job, get, sample_matrix, words
from web.device_labels import short
from web.results import Results, results_of
from web.selection import Selection
from web.views.chips import ALL
from web.views.study_parts import NO_PICTURES

H200, NAMED = "recorded:h200", "NVIDIA H200 (reference results)"
"""A device in addresses and data, and as pages call it."""

GRID_ID = f"recorded-{grid().fingerprint[:16]}"
WEB_ID = f"recorded-{sample().matrices[1].fingerprint[:16]}"


@pytest.fixture
def imported(database: Any, tmp_path: Path) -> None:
    """The sample is in the database."""
    files.write(tmp_path / "recorded" / "h200" / "formats.json.gz", sample())
    import_recordings.run(database, tmp_path / "recorded")


@pytest.fixture
def own(imported: None, database: Any, add_matrix: AddMatrix) -> str:
    """A matrix of the user that equals the recorded grid, measured on the CPU."""
    devices.register(database, [CPU])
    matrix_id = add_matrix(generate("stencil", GRID), "mine", "mine")
    return add_job(database, "j1", "cpu", JobState.SUCCEEDED, study_of(matrix_id)) and matrix_id


def facets(context: Any) -> list[tuple[str, str, str]]:
    found = (line.finding for line in context["findings"])
    return [(finding.matrix_id, finding.device, finding.cache) for finding in found]


def test_recorded_results_stand_beside_those_of_ones_own_matrix(client: TestClient, own: str) -> None:
    page = get(client, f"/matrices/{own}")
    assert (page.context["device"], page.context["card"].state.look) == (H200, "measured")
    assert [job.id for job in page.context["jobs"]] == ["j1"]
    assert page.context["actions"].measure.device == "cpu"
    here = get(client, f"/matrices/{own}?device=cpu")
    for each in (page, here):
        assert {row.kernel for row in each.context["kernels"].rows} == {"csr/vector", "csr/scalar", "coo/segmented"}
    assert page.context["kernels"].rows[0].spmv != here.context["kernels"].rows[0].spmv


def test_what_was_recorded_once_counts_once(client: TestClient, own: str) -> None:
    both = get(client, f"/formats?device=cpu&device={H200}")
    assert facets(both.context) == [(own, "CPU", "warm"), (own, NAMED, "warm"), (WEB_ID, NAMED, "warm")]
    assert [choice.value for choice in both.context["matrices"]] == [own, WEB_ID]
    named = get(client, f"/formats?device={H200}&matrix={own}&matrix={GRID_ID}")
    assert facets(named.context) == [(own, NAMED, "warm")]


def test_a_matrix_without_a_recorded_twin_shows_its_own_results_only(
    client: TestClient, imported: None, lab: Lab
) -> None:
    assert get(client, f"/matrices/{lab.hostile}?device=cpu").context["card"].state.look == "measured"
    assert get(client, f"/matrices/{lab.hostile}?device={H200}").context["card"].state.look == "predicted"


def test_a_recorded_matrix_offers_its_generation(client: TestClient, imported: None) -> None:
    page = get(client, f"/matrices/{GRID_ID}")
    assert (page.context["device"], page.context["card"].state.look) == (H200, "measured")
    origin = page.context["actions"].origin
    call = {"generator": "stencil", **grid().source["params"], "name": "a grid"}
    assert dict(origin.generate) == {name: str(value) for name, value in call.items()}
    assert (origin.collection, origin.twins) == ("", ())
    answer = client.post("/matrices/generate", data=dict(origin.generate), follow_redirects=False)
    made = client.get(f"/api/v1{answer.headers['location']}").json()
    assert (made["name"], made["source"]["params"]) == ("a grid", grid().source["params"])
    assert 'id="measure-button"' not in page.text
    assert "Delete this matrix" not in page.text


def test_a_recorded_matrix_of_the_collection_says_where_it_is(client: TestClient, imported: None) -> None:
    page = get(client, f"/matrices/{WEB_ID}")
    said = words(page.text)
    assert "Download T/web from the SuiteSparse Matrix Collection" in said
    assert page.context["structure"].facts[-1][1].startswith("SuiteSparse Matrix Collection: T/web, ")
    assert "Generate it here" not in said


def test_a_recorded_matrix_leads_to_the_one_with_values(client: TestClient, own: str) -> None:
    page = get(client, f"/matrices/{GRID_ID}")
    assert [(twin.text, twin.href) for twin in page.context["actions"].origin.twins] == [("mine", "/matrices/mine")]
    assert "generate-button" not in page.text


def test_a_recorded_matrix_has_the_picture_of_the_one_with_values(client: TestClient, own: str) -> None:
    without = get(client, f"/formats?device={H200}&matrix={WEB_ID}&view=structure")
    assert without.context["structure"] == ()
    assert NO_PICTURES in words(without.text)
    both = get(client, f"/formats?device={H200}&matrix={WEB_ID}&matrix={GRID_ID}&view=structure")
    assert [chart.url for chart in both.context["structure"]] == ["/api/v1/figures/spy?matrix=mine"]
    assert NO_PICTURES not in words(both.text)


def test_a_study_without_results_says_that_recordings_are_still_to_come(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = "Importing the reference results of this release."
    assert said not in words(get(client, "/pagerank").text)
    monkeypatch.setattr("server.import_recordings._running", threading.Event())
    import_recordings._running.set()
    assert said in words(get(client, "/pagerank").text)


def test_the_newest_job_comes_before_recordings(client: TestClient, own: str) -> None:
    context = get(client, "/formats").context
    (choice,) = (switch for switch in context["switches"] if switch.label == "Device")
    assert [(link.text, link.current) for link in choice.links] == [("CPU", True), (short(NAMED), False), (ALL, False)]
    assert facets(context) == [(own, "CPU", "warm")]


def test_of_chosen_matrices_the_device_that_has_most_of_them_is_shown(
    client: TestClient, own: str, database: Any, add_matrix: AddMatrix
) -> None:
    here = add_matrix(sample_matrix(), "cnr-2000", "m1")
    add_job(database, "j2", "cpu", JobState.SUCCEEDED, study_of(here))
    equal = get(client, f"/formats?matrix={WEB_ID}&matrix={here}").context
    assert facets(equal) == [(here, "CPU", "warm")]
    both = get(client, f"/formats?matrix={here}&matrix={GRID_ID}&matrix={WEB_ID}").context
    assert facets(both) == [(GRID_ID, NAMED, "warm"), (WEB_ID, NAMED, "warm")]


def test_devices_are_never_mixed_in_one_ranking(client: TestClient, own: str) -> None:
    context = get(client, f"/formats?device=cpu&device={H200}&matrix={own}").context
    assert facets(context) == [(own, "CPU", "warm"), (own, NAMED, "warm")]
    assert [len(line.finding.rows) for line in context["findings"]] == [4, 4]


def test_a_selection_of_jobs_shows_their_results_only(client: TestClient, own: str) -> None:
    assert {device for _, device, _ in facets(get(client, f"/formats?job=j1&matrix={own}").context)} == {"CPU"}
    assert facets(get(client, f"/formats?job=j1&device={H200}&matrix={own}").context) == []


def test_a_kernel_of_the_recorded_gpu_can_be_taken_away(client: TestClient, imported: None) -> None:
    page = get(client, f"/formats?device={H200}&matrix={GRID_ID}").text
    found = re.search(r'href="(/api/v1/formats/[^"]+/archive)"', page)
    assert found is not None
    assert client.get(found[1]).content[:2] == b"PK"


def test_downloads_name_the_recorded_device(client: TestClient, imported: None) -> None:
    found = client.get(f"/formats.json?device={H200}&matrix={GRID_ID}&cache=cold").json()["measurements"]
    assert [(m["kernel"], m["device"], m["matrix_id"]) for m in found] == [
        (kernel, H200, GRID_ID) for kernel in ("csr/scalar", "csr/vector", "coo/segmented", "ell/thread")
    ]


def test_the_catalogue_and_the_devices_say_what_is_recorded(client: TestClient, imported: None, lab: Lab) -> None:
    lines = get(client, "/matrices?source=all").context["matrices"]
    states = {line.matrix.name: line.matrix.state for line in lines}
    assert (states["a grid"], states["cnr-2000"]) == ("recorded", "ready")
    shown = {line.row.id: line.row for line in get(client, "/service").context["devices"]}
    assert {name: line.state for name, line in shown.items()} == {"cuda:0": "alive", "cpu": "alive", H200: "recorded"}
    assert (shown[H200].name, shown[H200].rate) == ("NVIDIA H200 (recorded)", "4.30\u202fTB/s")


def test_pages_name_a_device_and_data_its_id(client: TestClient, own: str) -> None:
    query = f"device={H200}&matrix={own}"
    page = get(client, f"/formats?{query}&view=verdicts")
    assert "is fastest on NVIDIA H200 (reference results), warm" in words(page.text)
    assert "on recorded:h200" not in words(page.text)
    assert NAMED in client.get(f"/api/v1/figures/formats?{query}").text
    assert {m["device"] for m in client.get(f"/formats.json?{query}").json()["measurements"]} == {H200}


@pytest.mark.parametrize(("gaps", "device"), [((0.4, 0.4), H200), ((0.4, 0.0), "cpu")])
def test_a_device_with_noise_alone_is_not_the_first_one(
    client: TestClient, imported: None, database: Any, add_matrix: AddMatrix, gaps: tuple[float, float], device: str
) -> None:
    devices.register(database, [CPU])
    for number, gap in enumerate(gaps, start=1):
        matrix = add_matrix(generate("stencil", GRID), f"mine {number}", f"m{number}")
        noisy = [replace(m, aa_gap=gap) if m.median_s else m for m in study_of(matrix)]
        add_job(database, f"j{number}", "cpu", JobState.SUCCEEDED, noisy)
    assert {m.device for m in results_in(database).measurements} == {device}
    with database.read() as session:
        assert results_of(session, "formats", Selection(job=("j1",))).selection.device == ("cpu",)


def results_in(database: Any) -> Results:
    """The results of the page without a selection, by device id."""
    with database.read() as session:
        return results_of(session, "formats", Selection(), named=False)


@pytest.mark.parametrize(
    ("note", "rest"),
    [
        ("cuSPARSE 12.0.1 has no SpMVOp. Set SPARSIGHT_CUSPARSE to a newer library.", "cuSPARSE 12.0.1 has no SpMVOp."),
        (
            "It is not there. Install a-b-cu13, or c for CUDA 12. The reason: none.",
            "It is not there. The reason: none.",
        ),
        ("Not applicable: set it.", "Not applicable: set it."),
    ],
)
def test_a_note_of_reference_results_gives_no_advice(
    client: TestClient, database: Any, tmp_path: Path, note: str, rest: str
) -> None:
    whole = sample()
    noted = tuple(replace(m, note=note) for m in whole.measurements)
    files.write(tmp_path / "recorded" / "h200" / "formats.json.gz", replace(whole, measurements=noted))
    import_recordings.run(database, tmp_path / "recorded")
    with database.read() as session:
        assert {m.note for m in results_of(session, "formats", Selection()).measurements} == {rest}
    assert {m.note for m in results_in(database).measurements} == {note}, "files keep the whole note"
