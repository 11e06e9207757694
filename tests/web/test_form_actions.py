"""Forms as a browser sends them that runs no scripts: each leads to a page, and what is wrong is said on one."""

from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import select

from gpu_engine.recordings.files import uploaded
from server import matrix_lifecycle
from server.jobs.queue import get_job
from server.models import JobRow
from tests.samples.recording import sample
from tests.server.test_recordings import file_of
from tests.web.conftest import Lab, words
from tests.web.studies.reader import Reader

HTML = {"Accept": "text/html"}
MATRIX = b"%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1.0\n"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 120.0)


def post(client: TestClient, url: str, follow: bool = False, **form: Any) -> Any:
    return client.post(url, headers=HTML, follow_redirects=follow, **form)


def test_an_uploaded_file_leads_to_its_matrix(client: TestClient) -> None:
    fields = {"directed": "", "weights": "auto", "duplicates": "sum"}
    answer = post(client, "/matrices", files={"file": ("tiny.mtx", MATRIX)}, data=fields)
    assert answer.status_code == 303
    shown = client.get(answer.headers["location"], headers=HTML)
    assert shown.context["matrix"].name == "tiny"


def test_a_refused_file_is_answered_with_a_page_in_its_words(client: TestClient) -> None:
    names = {"file": ("friends", b"name,friend\nalice,bob\nbob,carol\n")}
    answer = post(client, "/matrices", files=names)
    assert (answer.status_code, answer.template.name) == (422, "error.html")
    assert "Choose the direction and press Upload." in answer.text
    assert "directed=" not in answer.text
    assert post(client, "/matrices", files=names, data={"directed": "true"}).status_code == 303


def test_a_generated_matrix_has_what_the_form_says(client: TestClient) -> None:
    form = {"generator": "rmat", "scale": "4", "edge_factor": "2", "shuffled": "true", "values": "ones", "seed": "3"}
    answer = post(client, "/matrices/generate", data=form)
    assert answer.status_code == 303
    source = client.get(f"/api/v1{answer.headers['location']}").json()["source"]
    assert source["params"] == {"scale": 4, "edge_factor": 2, "shuffled": True, "values": "ones", "seed": 3}
    wrong = post(client, "/matrices/generate", data=form | {"scale": "many"})
    assert (wrong.status_code, wrong.template.name) == (422, "error.html")
    assert "scale is" in words(wrong.text)


def test_chosen_matrices_are_one_job(client: TestClient, lab: Lab) -> None:
    form = {"study": "formats", "device": "cpu", "matrix_ids": [lab.matrix, lab.hostile], "rounds": "9"}
    answer = post(client, "/jobs", data=form | {"kernels": ["csr/scalar", "csr/vector"]})
    assert answer.status_code == 303
    with lab.database.read() as session:
        job = get_job(session, answer.headers["location"].rpartition("/")[2])
        assert (job.study, job.device, job.matrix_ids) == ("formats", "cpu", [lab.matrix, lab.hostile])
        assert (job.params["rounds"], job.params["kernels"]) == (9, ["csr/scalar", "csr/vector"])
    nothing = post(client, "/jobs", data={"study": "formats", "device": "cpu"})
    assert nothing.status_code == 422
    assert "Choose at least one matrix." in nothing.text


def test_a_job_is_tagged_and_found_by_its_tag(client: TestClient, lab: Lab) -> None:
    with lab.database.read() as session:
        job_id = session.scalars(select(JobRow.id)).first()
    answer = post(client, f"/jobs/{job_id}/annotations", data={"tags": "nightly  h200", "note": "<b>new</b> driver"})
    shown = client.get(answer.headers["location"], headers=HTML)
    assert [tag.text for tag in shown.context["tags"]] == ["h200", "nightly"]
    assert "&lt;b&gt;new&lt;/b&gt; driver" in shown.text
    (href,) = (tag.href for tag in shown.context["tags"] if tag.text == "nightly")
    found = client.get(href, headers=HTML).context
    assert [line.id for line in found["jobs"]] == [job_id]
    assert [link.text for link in found["tags"]] == ["all", "h200", "nightly"]
    assert post(client, f"/jobs/{job_id}/annotations", data={"tags": "é"}).status_code == 422


def test_chosen_matrices_are_a_set_that_pages_show(client: TestClient, lab: Lab) -> None:
    saved = post(client, "/sets", data={"matrix_ids": [lab.matrix, lab.hostile]})
    shown = client.get(saved.headers["location"], headers=HTML)
    assert {line.matrix.id for line in shown.context["matrices"]} == {lab.matrix, lab.hostile}
    assert shown.text.count('id="choose-') == shown.text.count(" checked>") == 2
    chosen = shown.context["set"]
    (formats,) = (link.href for link in chosen.pages if link.href.startswith("/formats?"))
    assert formats == f"/formats?set={chosen.id}"
    by_set, by_name = (
        client.get(url, headers=HTML) for url in (formats, f"/formats?matrix={'&matrix='.join(chosen.matrix_ids)}")
    )
    assert by_set.context["matrix_count"] == "2 matrices"
    assert by_set.context["findings"] == by_name.context["findings"]
    # What the page links to says the set, and a choice among its matrices does not.
    assert by_set.context["query"] == f"set={chosen.id}"
    (form,) = (form for form in Reader(by_set.text).forms if any(name == "matrix" for name, _, _ in form))
    assert not {name for name, _, hidden in form if hidden} & {"set", "matrix"}
    figure, csv = (client.get(f"{url}?set={chosen.id}") for url in ("/api/v1/figures/side-by-side", "/formats.csv"))
    assert (
        figure.json() == client.get(f"/api/v1/figures/side-by-side?matrix={'&matrix='.join(chosen.matrix_ids)}").json()
    )
    assert csv.text == client.get(f"/formats.csv?matrix={'&matrix='.join(chosen.matrix_ids)}").text
    renamed = post(client, "/sets", data={"matrix": list(chosen.matrix_ids), "name": "both", "cache": "warm"})
    assert renamed.headers["location"] == saved.headers["location"]
    assert client.get(formats, headers=HTML).context["matrix_count"] == "both"


def test_a_set_that_is_not_there_is_said_to_be_none(client: TestClient, lab: Lab) -> None:
    for url in ("/formats?set=0123456789ab", "/matrices?set=0123456789ab", "/formats.csv?set=../../etc"):
        assert client.get(url).json()["code"] == "not_found"
    both = client.get(f"/formats?set=0123456789ab&matrix={lab.matrix}")
    assert (both.status_code, both.json()["code"]) == (422, "invalid_parameter")


def test_chosen_matrices_are_compared_where_they_were_measured(client: TestClient, lab: Lab) -> None:
    url = f"/compare?matrix_ids={lab.matrix}&matrix_ids={lab.hostile}&study=formats&device=cpu"
    answer = client.get(url, headers=HTML, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (
        303,
        f"/formats?matrix={lab.matrix}&matrix={lab.hostile}&device=cpu&device=cuda%3A0",
    )
    found = {
        line.finding.matrix_id for line in client.get(answer.headers["location"], headers=HTML).context["findings"]
    }
    assert found == {lab.matrix, lab.hostile}


def test_every_page_form_has_an_api_of_its_address(client: TestClient) -> None:
    """The scripts send what a form holds to the same path of the API."""
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    for path in ("/matrices", "/matrices/preview", "/matrices/generate", "/matrices/generate/preview", "/jobs"):
        assert "post" in paths[f"/api/v1{path}"]


def test_an_imported_recording_leads_to_the_devices_and_is_one_of_them(client: TestClient) -> None:
    answer = post(client, "/recordings", files={"file": ("r.json.gz", file_of(sample()))}, data={"name": "node7"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/service#devices")
    shown = client.get("/service", headers=HTML).context["devices"]
    assert [(device.row.id, device.row.name) for device in shown] == [("recorded:node7", "NVIDIA H200 (recorded)")]
    refused = post(client, "/recordings", files={"file": ("r.json.gz", b"none")})
    assert (refused.status_code, refused.template.name) == (422, "error.html")


def test_a_recorded_matrix_that_only_a_file_knows_says_which(client: TestClient) -> None:
    given = sample()
    own = replace(given.matrices[0], source=uploaded("mine.mtx"))
    data = file_of(replace(given, matrices=(own, given.matrices[1])))
    assert post(client, "/recordings", files={"file": ("r.json.gz", data)}).status_code == 303
    shown = client.get(f"/matrices/recorded-{own.fingerprint[:16]}", headers=HTML)
    assert shown.context["actions"].origin.file == "mine.mtx"
    assert "file mine.mtx, upload it" in words(shown.text)
