"""Where a study that is put into the two lists turns up by itself; test_new_study.py runs this beside the contracts."""

import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

from gpu_engine import __main__
from gpu_engine.measure import open_bench
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import Recording
from server import devices, import_recordings
from server.db import Database
from server.openapi import schema_of_params
from sparsight import cli
from sparsight.client import Client
from tests.conftest import AddMatrix
from tests.new_study.measuring import KERNELS, PARTS
from tests.new_study.page import TRANSPOSE_PAGE
from tests.new_study.study import TRANSPOSE, TransposeParams
from tests.samples.recording import H200, PROFILE, grid
from tests.samples.studies import FAST, records_of
from tests.web.conftest import CPU, add_study, get, sample_matrix


def test_the_api_lists_it_with_its_parameters(client: TestClient) -> None:
    listed = {study["name"]: study for study in client.get("/api/v1/studies").json()["items"]}
    assert listed["transpose"]["question"] == TRANSPOSE.question
    assert listed["transpose"]["params"] == schema_of_params(TransposeParams)
    assert listed["transpose"]["params"]["properties"]["rounds"]["default"] == 9


def test_openapi_describes_what_it_finds(client: TestClient) -> None:
    schemas = client.get("/api/v1/openapi.json").json()["components"]["schemas"]
    assert schemas["TransposeDetails"]["properties"]["columns"]["description"] == "Elements of y."
    choices = schemas["Measurement"]["properties"]["details"]["anyOf"]
    assert {"$ref": "#/components/schemas/TransposeDetails"} in choices


def test_a_job_of_it_is_queued(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    devices.register(database, [CPU])
    body = {"study": "transpose", "matrix_ids": [add_matrix(sample_matrix(), "web", "m1")], "params": {"rounds": 11}}
    job = client.post("/api/v1/jobs", json=body).json()
    asked = {"rounds": 11, "sampling": "adaptive", "time_limit_s": 0.0}
    assert (job["state"], job["study"], job["params"]) == ("queued", "transpose", asked)
    assert job["progress"]["total"] == len(KERNELS)
    assert client.post("/api/v1/jobs", json={**body, "params": {"rounds": 1}}).status_code == 422
    context = get(client, "/jobs?study=transpose").context
    assert [line.id for line in context["jobs"]] == [job["id"]]
    assert [link.href for link in context["studies"] if link.current] == ["/jobs?study=transpose"]


def test_its_results_come_with_verdicts(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    add_study(database, "transpose", "j1", [add_matrix(sample_matrix(), "web", "m1")])
    document = client.get("/api/v1/jobs/j1/results").json()
    assert [m["kernel"] for m in document["measurements"]] == list(KERNELS)
    assert {m["details"]["columns"] for m in document["measurements"]} != {None}
    (verdict,) = client.get("/api/v1/jobs/j1/verdicts").json()["items"]
    assert (verdict["study"], verdict["baseline"]) == ("transpose", KERNELS[0])
    assert [row["kernel"] for row in verdict["verdicts"]] == list(KERNELS)


def test_figures_and_pages_have_it(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    figures = {figure["name"]: figure["needs"] for figure in client.get("/api/v1/figures").json()["items"]}
    assert figures["transpose-rates"] == "transpose"
    for url in ("/formats", "/pagerank"):
        assert f'<a href="/transpose">{TRANSPOSE_PAGE.link}</a>' in get(client, url).text
    devices.register(database, [CPU])
    add_study(database, "transpose", "j1", [add_matrix(sample_matrix(), "web", "m1")])
    coverage = get(client, "/").context["coverage"]
    (row,) = coverage.rows
    cells = dict(zip(coverage.heads, row.cells, strict=True))
    assert cells[TRANSPOSE_PAGE.link].href.partition("?")[0] == "/transpose"


def test_a_choice_of_its_own_is_in_addresses_links_figures_and_the_api(
    client: TestClient, database: Database, add_matrix: AddMatrix
) -> None:
    add_study(database, "transpose", "j1", [add_matrix(sample_matrix(), "web", "m1")])
    (listed,) = (f for f in client.get("/api/v1/figures").json()["items"] if f["name"] == "transpose-rates")
    assert listed["parameters"][-1] == "layout"
    points = [
        len(client.get(f"/api/v1/figures/transpose-rates?job=j1{query}").json()["data"][0]["x"])
        for query in ("", "&layout=rows", "&layout=columns")
    ]
    assert points == [2, 1, 1]
    assert client.get("/api/v1/figures/transpose-rates?layout=blocks").status_code == 422
    page = get(client, "/transpose?job=j1&layout=rows")
    (switch,) = (switch for switch in page.context["switches"] if switch.label == "Layout")
    assert [(link.href, link.current) for link in switch.links] == [
        ("/transpose?job=j1&layout=rows", True),
        ("/transpose?job=j1&layout=columns", False),
    ]
    assert client.get("/transpose?layout=blocks").status_code == 422
    # Another page takes it and keeps it, so that links between studies are not broken by it.
    assert client.get("/formats?layout=rows").status_code == 200


def test_the_engine_measures_it_from_the_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out.json"
    matrix = "stencil:points=5,nx=9,ny=8"
    monkeypatch.setattr("sys.argv", ["gpu_engine", "transpose", matrix, "--device", "cpu", "--json", str(out)])
    monkeypatch.setattr(__main__, "open_bench", lambda device, **told: open_bench(device, FAST, **told))
    assert __main__.main() == 0
    document = json.loads(out.read_text())
    assert {m["kernel"] for m in document["measurements"]} == set(KERNELS)
    assert [verdict["study"] for verdict in document["verdicts"]] == ["transpose"]


def test_the_command_line_lists_it(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "studies", lambda _: client.get("/api/v1/studies").json()["items"])
    runner = CliRunner()
    assert "transpose" in runner.invoke(cli.app, ["studies"]).output
    assert "rounds=9" in runner.invoke(cli.app, ["studies", "transpose"]).output


def test_its_traces_are_drawn_and_answered(client: TestClient, database: Database, add_matrix: AddMatrix) -> None:
    add_study(database, "transpose", "j1", [add_matrix(sample_matrix(), "web", "m1")])
    traces = client.get("/api/v1/jobs/j1/results").json()["traces"]
    assert [len(trace["arrays"]["errors"]) for trace in traces] == [PARTS, PARTS]
    (drawn,) = client.get("/api/v1/figures/transpose-rates?job=j1").json()["data"]
    assert drawn["meta"]["errors"] == [PARTS, PARTS]


def test_a_recording_of_it_is_written_imported_and_shown(
    client: TestClient, database: Database, tmp_path: Path
) -> None:
    measurements, traces = records_of("transpose", ["grid"], H200.id)
    made_at = "2026-11-20T12:00:00+00:00"
    recording = Recording("transpose", made_at, H200, PROFILE, (grid(),), tuple(measurements), tuple(traces))
    path = tmp_path / "recorded" / "h200" / "transpose.json.gz"
    recordings.write(path, recording)
    assert [m.details for m in recordings.read(path).measurements] == [m.details for m in measurements]
    import_recordings.run(database, tmp_path / "recorded")
    page = get(client, "/transpose?device=recorded:h200&view=transpose-rates")
    assert [figure.name for figure in page.context["figures"]] == ["transpose-rates"]
    (drawn,) = client.get("/api/v1/figures/transpose-rates?device=recorded:h200").json()["data"]
    assert (len(drawn["x"]), drawn["meta"]["errors"]) == (len(KERNELS), [PARTS] * len(KERNELS))
