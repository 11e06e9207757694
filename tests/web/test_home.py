"""The home page: a name leads to its answer, the last answers are those of their pages, and what was measured where."""

import re
import threading
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from gpu_engine.competitors import BEST
from gpu_engine.generators import find_generator
from gpu_engine.parameters import parse_params
from gpu_engine.recordings import files as recordings
from server import devices, first_start, import_recordings
from server.db import Database
from server.jobs.queue import get_job
from server.models import JobState, MatrixRow, MatrixState
from tests.collection_site import Site, serve_from
from tests.conftest import AddMatrix
from tests.samples.formats import study_of, timed
from tests.samples.recording import sample
from tests.web.conftest import CPU, Lab, add_job, get, sample_matrix, words
from web.views.home_answers import OF_SAMPLES, OF_YOURS

H200 = "recorded:h200"


@pytest.fixture
def imported(database: Any, tmp_path: Path) -> None:
    recordings.write(tmp_path / "recorded" / "h200" / "formats.json.gz", sample())
    import_recordings.run(database, tmp_path / "recorded")


def redirect(client: TestClient, url: str) -> str:
    answer = client.get(url, headers={"Accept": "text/html"}, follow_redirects=False)
    return answer.headers["location"] if answer.status_code == 303 else ""


@pytest.mark.parametrize("name", ["cnr-2000", "CNR-2000", " cnr-2000 ", "cnr-2000.mtx", "LAW/cnr-2000", "m1"])
def test_a_name_leads_to_its_matrix_with_the_question(client: TestClient, lab: Lab, name: str) -> None:
    location = urlsplit(redirect(client, f"/?name={name}&n=12&device=cpu"))
    assert location.path == "/matrices/m1"
    assert parse_qs(location.query) == {"n": ["12"], "device": ["cpu"]}
    assert get(client, f"{location.path}?{location.query}").status_code == 200


def test_a_matrix_with_values_comes_before_a_reference_matrix(client: TestClient, lab: Lab, database: Database) -> None:
    with database.write() as session:
        session.add(MatrixRow(id="r", name="cnr-2000", state=MatrixState.RECORDED, sha256="x", created_at=9e9))
    assert redirect(client, "/?name=cnr-2000").startswith("/matrices/m1?")


def test_an_unknown_name_gives_similar_ones_and_keeps_the_question(client: TestClient, lab: Lab) -> None:
    page = get(client, "/?name=cnr&n=7")
    missing = page.context["missing"]
    assert [link.text for link in missing.similar] == ["cnr-2000"]
    assert "n=7" in missing.similar[0].href
    assert (missing.fetch, page.context["n"], page.context["name"]) == ("", 7, "cnr")
    assert get(client, "/").context["missing"] is None


def test_a_name_of_the_collection_can_be_downloaded(app: FastAPI, client: TestClient) -> None:
    serve_from(app, Site())
    for name in ("HB/bcsstk16", "bcsstk16", "hb/BCSSTK16"):
        missing = get(client, f"/?name={name}").context["missing"]
        assert missing.fetch == "HB/bcsstk16"
        assert missing.size.endswith("MB")
    assert get(client, "/?name=Other/name").context["missing"].size == ""


@pytest.mark.parametrize(
    ("text", "n"), [("0", 1), ("-1", 1), ("1.5", 1), ("many", 500), ("1000000001", 10**9), ("1e3", 1000)]
)
def test_a_number_of_spmvs_out_of_bounds_is_answered_for_the_nearest_one(
    client: TestClient, lab: Lab, text: str, n: int
) -> None:
    page = client.get("/", params={"n": text})
    assert (page.status_code, page.context["n"]) == (200, n)
    assert bool(page.context["n_note"]) == ('id="n-note"' in page.text) == (text != "1e3")
    assert all(f"n={n}&" in answer.href for answer in page.context["answers"].rows)
    matrix = client.get("/", params={"n": text, "name": lab.matrix})
    assert (matrix.context["n"], bool(matrix.context["n_note"])) == (n, text != "1e3")


def test_an_unknown_device_is_refused_with_the_known_ones(client: TestClient, lab: Lab) -> None:
    answer = client.get("/?device=xx")
    assert answer.status_code == 422
    assert "cuda:0, cpu" in answer.json()["detail"]
    page = client.get("/?device=xx&n=7", headers={"Accept": "text/html"}).context
    assert [link.href for link in page["choices"]] == ["/?n=7&device=cuda%3A0", "/?n=7&device=cpu"]
    assert all(link.text not in ("cuda:0", "cpu") for link in page["choices"])
    assert client.get("/?device=H100-SXM").status_code == 200


def test_the_devices_are_those_with_results_and_those_of_this_server(
    client: TestClient, imported: None, lab: Lab
) -> None:
    choices = get(client, "/").context["devices"]
    assert [(choice.value, choice.chosen) for choice in choices] == [(H200, True), ("cuda:0", False), ("cpu", False)]
    chosen = get(client, "/?device=cpu").context["devices"]
    assert [choice.value for choice in chosen if choice.chosen] == ["cpu"]


def test_a_last_answer_is_the_sentence_of_its_page(client: TestClient, lab: Lab) -> None:
    answers = get(client, "/?n=30").context["answers"].rows
    assert answers
    assert len(answers) <= 3
    for answer in answers:
        assert "n=30" in answer.href
        text = words(get(client, answer.href).text)
        if answer.state in ("measured", "predicted"):
            assert words(answer.sentence) in text


def test_a_matrix_is_answered_for_the_device_that_measured_it(
    client: TestClient, imported: None, database: Database, add_matrix: AddMatrix
) -> None:
    devices.register(database, [CPU])
    add_matrix(sample_matrix(), "mine", "m5")
    (predicted,) = get(client, "/").context["answers"].rows
    assert (predicted.state, H200 in predicted.href.replace("%3A", ":")) == ("predicted", True)
    add_job(database, "j5", "cpu", JobState.SUCCEEDED, study_of("m5"))
    (measured,) = get(client, "/").context["answers"].rows
    assert (measured.state, "device=cpu" in measured.href) == ("measured", True)
    add_job(database, "j6", "cpu", JobState.RUNNING, [], ("m5",))
    (running,) = get(client, "/").context["answers"].rows
    assert (running.state, running.sentence) == ("running", measured.sentence)


def test_a_noisy_run_does_not_replace_the_prediction_for_the_chosen_device(
    client: TestClient, imported: None, database: Database, add_matrix: AddMatrix
) -> None:
    devices.register(database, [CPU])
    add_matrix(sample_matrix(), "mine", "m5")
    noisy = [timed(kernel, 1e-3, matrix="m5", aa_gap=0.4) for kernel in ("csr/vector", "csr/scalar")]
    add_job(database, "j5", "cpu", JobState.SUCCEEDED, noisy)
    (answer,) = get(client, "/").context["answers"].rows
    assert (answer.state, H200 in answer.href.replace("%3A", ":")) == ("predicted", True)
    (asked,) = get(client, "/?device=cpu").context["answers"].rows
    assert (asked.state, "device=cpu" in asked.href) == ("busy", True)


def test_samples_are_nobodys_answers_and_name_who_queued_their_job(
    client: TestClient, database: Database, add_matrix: AddMatrix
) -> None:
    devices.register(database, [CPU])
    _, generator, params = first_start.SAMPLES[0]
    add_matrix(sample_matrix(), "sample", "m5")
    with database.write() as session:
        (row,) = session.query(MatrixRow)
        whole = asdict(parse_params(find_generator(generator).Params, params))
        row.source = {"kind": "generated", "generator": generator, "params": whole}
    add_job(database, "j5", "cpu", JobState.SUCCEEDED, study_of("m5"))
    answers = get(client, "/").context["answers"]
    assert (answers.heading, answers.note) == (OF_SAMPLES, "")
    with database.write() as session:
        get_job(session, "j5").note = first_start.NOTE
    page = get(client, "/")
    assert page.context["answers"].note == first_start.NOTE
    assert page.context["answers"].heading in page.text
    assert first_start.NOTE in page.text
    add_matrix(sample_matrix(), "mine", "m6")
    assert get(client, "/").context["answers"].heading == OF_YOURS


def test_a_matrix_that_was_not_read_says_so(client: TestClient, lab: Lab, database: Database) -> None:
    with database.write() as session:
        for row in session.query(MatrixRow):
            row.created_at = 10.0 if row.state == MatrixState.READY else 20.0
    states = {answer.name: answer.state for answer in get(client, "/").context["answers"].rows}
    assert (states["ingesting.mtx"], states["failed.mtx"]) == ("running", "failed")


def test_results_by_device_and_study_lead_to_their_pages(client: TestClient, imported: None, lab: Lab) -> None:
    page = get(client, "/")
    coverage = page.context["coverage"]
    cells = {(row.device, row.note): row.cells[0] for row in coverage.rows}
    reference = cells["H200", "reference results"]
    assert (reference.text, reference.href) == ("2", f"/formats?device={H200.replace(':', '%3A')}")
    assert len([cell for cell in cells.values() if cell and "job" in cell.text]) == 2
    assert len(coverage.heads) == len(coverage.rows[0].cells)
    for href in re.findall(r'<td class="num"><a href="([^"]+)"', page.text):
        assert get(client, href).status_code == 200


def test_reference_results_have_a_picture_without_a_script(client: TestClient, imported: None) -> None:
    page = get(client, "/")
    assert page.context["headline"] is None, "the sample has no cuSPARSE"
    assert "data-figure" not in page.text


def test_home_says_that_reference_results_are_imported(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    said = "Importing the reference results"
    assert said not in get(client, "/").text
    monkeypatch.setattr("server.import_recordings._running", threading.Event())
    import_recordings._running.set()
    page = get(client, "/")
    assert said in page.text
    assert page.context["topics"] == "jobs,matrices"


@pytest.mark.parametrize("running", [True, False])
def test_the_devices_say_that_more_come_while_reference_results_are_imported(
    client: TestClient, lab: Lab, monkeypatch: pytest.MonkeyPatch, running: bool
) -> None:
    monkeypatch.setattr(import_recordings, "is_running", lambda: running)
    assert ('id="on-importing"' in get(client, "/").text) == running


def test_similar_matrices_of_one_name_differ_in_their_sizes(client: TestClient, lab: Lab, database: Database) -> None:
    with database.write() as session:
        for matrix_id, nnz in ((lab.matrix, 57_153_627), (lab.hostile, 28_478_047)):
            row = session.get(MatrixRow, matrix_id)
            assert row
            row.name, row.nnz = "wb-edu (stand-in)", nnz
    similar = get(client, "/?name=wb-ed").context["missing"].similar
    assert len({link.text for link in similar}) == 2
    assert {re.sub(r"\D", "", link.text) for link in similar} == {"57153627", "28478047"}


def test_the_picture_and_its_table_follow_the_device(client: TestClient, database: Database, tmp_path: Path) -> None:
    whole = sample()
    slow = "csr/scalar"
    for folder, gpu, ours in (
        ("h200", "NVIDIA H200", "csr/vector"),
        ("h100", "NVIDIA H100 80GB HBM3", "coo/segmented"),
    ):
        group = [
            replace(m, kernel=BEST, format="cusparse", case=m.case.replace(m.kernel, BEST)) if m.kernel == slow else m
            for m in whole.measurements
        ]
        chosen = tuple(m for m in group if m.kernel in (BEST, ours))
        recording = replace(whole, device=replace(whole.device, name=gpu), measurements=chosen, traces=())
        recordings.write(tmp_path / "recorded" / folder / "formats.json.gz", recording)
    import_recordings.run(database, tmp_path / "recorded")
    pages = {name: get(client, f"/?device=recorded:{name}") for name in ("h200", "h100")}
    headlines = {name: page.context["headline"] for name, page in pages.items()}
    for name, headline in headlines.items():
        assert name.upper() in headline.sentence
        assert headline.href.endswith(f"recorded%3A{name}")
        assert f'data-shows="/?device=recorded%3A{name}"' in pages[name].text
    assert headlines["h200"].table != headlines["h100"].table
    assert get(client, "/").context["headline"].table == headlines["h100"].table
    client.cookies.clear()
    assert get(client, "/").context["headline"].table == headlines["h200"].table
