"""The commands that ask a running server: their tables, their JSON, their exit codes."""

import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner, Result

from gpu_engine.errors import InputError, NotFoundError
from gpu_engine.recordings import files as recordings
from gpu_engine.studies.formats import FormatsStudy
from server import documents, import_recordings
from server.db import Database
from server.errors import problem_of
from server.examples import EXAMPLES, JOB_ID, MATRIX_ID
from server.openapi import schema_of_params
from sparsight import cli
from sparsight.client import Client
from sparsight.problems import Hints
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.gpu_engine.verdicts.test_differences import measurement, results
from tests.samples.recording import sample

MATRIX, JOB = EXAMPLES[documents.Matrix], EXAMPLES[documents.Job]
DONE = JOB | {"started_at": "2026-11-21T02:00:00.000Z", "finished_at": "2026-11-21T03:01:05.400Z"}
JOB_CELLS = ["formats", "queued", "2026-11-21", "02:00", "1:01:05", "0", "of", "14", "cuda:0"]
OFFERED = {
    "devices": [EXAMPLES[documents.Device]],
    "studies": [EXAMPLES[documents.Study]],
    "formats": [EXAMPLES[documents.StorageFormat]],
}
TIMES = {"a": results(measurement("csr/vector", 1e-3), measurement("ell/thread", 2e-3))} | {
    "b": results(measurement("csr/vector", 3e-3))
}


def answer(request: httpx.Request) -> httpx.Response:
    """Answers as a server with one matrix, one job, and the results of TIMES."""
    request.read()
    match request.method, request.url.path.removeprefix("/api/v1").strip("/").split("/"):
        case "GET", ["matrices" | "jobs" as kind]:
            second = "cursor" in request.url.params
            item = dict(MATRIX if kind == "matrices" else DONE, id="second" if second else "first")
            return httpx.Response(200, json={"items": [item], "next": None if second else "more"})
        case "GET", ["jobs", job, "results"] if job in TIMES:
            if request.headers["accept"] == "text/csv":
                return httpx.Response(200, text="case,kernel\nm,csr/vector\n")
            return httpx.Response(200, json={"schema": "x", "traces": [], "summary": {}, **TIMES[job]})
        case ("GET", ["matrices", "m"]) | ("POST", ["matrices", *_]):
            return httpx.Response(200, json=MATRIX)
        case "GET", ["matrices", matrix] if matrix == MATRIX_ID:
            return httpx.Response(200, json=MATRIX)
        case "DELETE", ["matrices", matrix] if matrix == MATRIX_ID:
            return httpx.Response(204)
        case "POST", ["jobs", job, "retry"]:
            return httpx.Response(202, json=JOB | {"id": "again", "retry_of": job})
        case "GET", ["devices" | "studies" | "formats" as kind]:
            return httpx.Response(200, json={"items": OFFERED[kind], "next": None})
        case "POST", ["jobs", _, "cancel"]:
            return httpx.Response(202, json=JOB | {"state": "cancelled"})
        case "POST", ["jobs", job, "stop"]:
            return httpx.Response(202, json=JOB | {"id": job})
        case "GET", ["jobs", "done"]:
            return httpx.Response(200, json=JOB | {"id": "a", "state": "succeeded"})
        case "GET", ["jobs", "a" | "b" as job]:
            return httpx.Response(200, json=JOB | {"id": job, "state": "succeeded"})
        case "GET", ["jobs", "waiting"]:
            return httpx.Response(200, json=JOB | {"id": "waiting", "state": "queued"})
        case "GET", ["jobs", "waiting", "results"]:
            return httpx.Response(200, json=results())
        case "GET", ["jobs", job] if job == JOB_ID:
            return httpx.Response(200, json=JOB)
    return httpx.Response(404, json=problem_of(NotFoundError("There is no such thing.", hint="list_jobs")))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Request]:
    """The requests that the commands have made."""
    requests: list[httpx.Request] = []

    def keep(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return answer(request)

    def client(url: str, token: str, hints: Hints, on_outage: Callable[[str], None]) -> Client:
        return Client(url, token, httpx.Client(base_url="http://test", transport=httpx.MockTransport(keep)), hints)

    monkeypatch.setattr("sparsight.client.Client", client)
    return requests


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.app, list(arguments))


def documents_of(ended: Result) -> Any:
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.stdout)


def test_lists_go_on_to_the_next_page_up_to_the_limit(sent: list[httpx.Request]) -> None:
    assert [item["id"] for item in documents_of(run("matrix", "ls", "cnr", "--json"))] == ["first", "second"]
    assert [item["id"] for item in documents_of(run("jobs", "ls", "--limit", "1", "--json"))] == ["first"]
    assert len(documents_of(run("jobs", "ls", "--limit", "0", "--json"))) == 2
    listed = [request for request in sent if "recorded" not in request.url.params]
    assert [(request.url.path, dict(request.url.params)) for request in listed[1:4]] == [
        ("/api/v1/matrices", {"q": "cnr", "sort": "-created_at", "cursor": "more"}),
        ("/api/v1/jobs", {}),
        ("/api/v1/jobs", {"cursor": "more"}),
    ]


def test_a_list_that_is_cut_short_says_so(sent: list[httpx.Request]) -> None:
    assert run("jobs", "ls", "--limit", "1").stderr == "Showing the first 1. Use --limit 0 to list all.\n"
    assert run("jobs", "ls", "--limit", "2").stderr == ""


def test_recorded_matrices_are_counted_and_listed_when_asked_for(
    client: TestClient, database: Database, add_matrix: AddMatrix, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recordings.write(tmp_path / "recorded" / "h200" / "formats.json.gz", sample())
    import_recordings.run(database, tmp_path / "recorded")
    add_matrix(BATTERY["identity"](), "own")
    monkeypatch.setattr(
        "sparsight.client.Client", lambda url, token, hints, on_outage: Client(url, token, client, hints)
    )
    monkeypatch.setattr(Client, "close", lambda _: None)
    names = {matrix.name for matrix in sample().matrices}
    short, named, full = run("matrix", "ls"), run("matrix", "ls", min(names)), run("matrix", "ls", "--recorded")
    assert [matrix["name"] for matrix in documents_of(run("matrix", "ls", "--json"))] == ["own"]
    said = "reference matrices hidden. Use --recorded to list them.\n"
    assert short.stderr == f"{len(names)} {said}"
    assert named.stderr.endswith(f"1 {said}")
    assert full.stderr == run("matrix", "ls", "own").stderr == ""
    assert len(full.stdout.splitlines()) == 1 + 1 + len(names)


def test_tables_name_what_they_list(sent: list[httpx.Request]) -> None:
    assert "cnr-2000" in run("matrix", "ls").stdout
    shown = run("matrix", "show", "m").stdout
    assert "3216152" in shown
    assert "sigma" in shown
    lines = [line.split() for line in run("jobs", "ls", "--limit", "1").stdout.splitlines()]
    assert lines[0] == ["job", "matrix", "study", "state", "queued", "(UTC)", "duration", "cases", "device"]
    assert lines[1] == ["first", "cnr-2000", *JOB_CELLS]


def test_a_matrix_is_generated_as_it_is_called(sent: list[httpx.Request]) -> None:
    ended = run("matrix", "add", "--generate", "rmat:scale=10,shuffled=true,values=random", "--name", "r")
    assert (ended.exit_code, ended.stdout) == (0, f"{MATRIX_ID}\n")
    assert "325557 × 325557" in ended.stderr
    assert json.loads(sent[0].content) == {
        "generator": "rmat", "name": "r", "scale": 10, "shuffled": True, "values": "random"
    }  # fmt: skip


@pytest.mark.parametrize(("name", "said"), [("other", True), (" cnr-2000", False), ("", False)])
def test_a_known_matrix_says_that_it_keeps_its_name(
    sent: list[httpx.Request], tmp_path: Path, name: str, said: bool
) -> None:
    (tmp_path / "a.mtx").write_text("x")
    ended = run("matrix", "add", str(tmp_path / "a.mtx"), "--name", name)
    assert ("keeps its name 'cnr-2000'" in ended.stderr) == said


def test_a_file_is_uploaded(sent: list[httpx.Request], tmp_path: Path) -> None:
    (tmp_path / "a.mtx").write_text("x")
    assert documents_of(run("matrix", "add", str(tmp_path / "a.mtx"), "--json"))["id"] == MATRIX_ID
    assert b'filename="a.mtx"' in sent[0].content


def test_add_wants_a_file_or_a_call(sent: list[httpx.Request]) -> None:
    assert isinstance(run("matrix", "add").exception, InputError)


def test_delete_and_cancel_say_what_they_did(sent: list[httpx.Request]) -> None:
    assert f"Deleted matrix {MATRIX_ID} (cnr-2000)." in run("matrix", "rm", "m", "--with-results").stderr
    assert sent[1].url.params["with_results"] == "true"
    assert "is cancelled" in run("jobs", "cancel", JOB_ID).stderr


def test_the_former_name_of_stop_still_works_and_is_hidden(sent: list[httpx.Request]) -> None:
    stopped, by_former_name = run("jobs", "stop", "a"), run("jobs", "enough", "a")
    assert [request.url.path for request in sent if request.method == "POST"] == ["/api/v1/jobs/a/stop"] * 2
    assert stopped.stderr == by_former_name.stderr == "Job a will stop after the current round; its results are kept.\n"
    assert "enough" not in run("jobs", "--help").stdout


def test_results_are_a_table_csv_or_json(sent: list[httpx.Request]) -> None:
    assert "ell/thread" in run("results", "a").stdout
    assert run("results", "a", "--csv").stdout == "case,kernel\nm,csr/vector\n"
    assert documents_of(run("results", "a", "--json"))["measurements"] == TIMES["a"]["measurements"]
    assert isinstance(run("results", "a", "--json", "--csv").exception, InputError)
    assert isinstance(run("results", "none").exception, NotFoundError)


def test_a_job_that_has_measured_nothing_says_so(sent: list[httpx.Request]) -> None:
    ended = run("results", "waiting")
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert ended.stderr == "Job waiting is queued and has no results.\n"


def test_hints_are_in_the_words_of_the_command_line(sent: list[httpx.Request]) -> None:
    assert str(run("results", "none").exception) == "There is no such thing. Use `sparsight jobs ls` to list all jobs."


def test_watch_ends_with_the_results(sent: list[httpx.Request]) -> None:
    ended = run("jobs", "watch", "done")
    assert ended.exit_code == 0
    assert "cnr-2000 on cpu, warm" in ended.stdout


def test_a_matrix_is_shown_with_the_kernels_to_try_first(sent: list[httpx.Request]) -> None:
    shown = run("matrix", "show", "m")
    assert "fastest: 2 kernels. High confidence on the H200" in " ".join(shown.stderr.split())
    lines = [line.split() for line in shown.stdout.splitlines()]
    assert ["kernel", "P100", "V100", "A100-40", "H100-SXM", "H200", "reason"] in lines
    (advice,) = (line for line in lines if line[:1] == ["split/tile"])
    assert advice[1:12] == ["76", "µs", "61", "µs", "32", "µs", "17", "µs", "14", "µs", "Stores"]
    assert documents_of(run("matrix", "show", "m", "--json"))["advice"] == MATRIX["advice"]


def test_a_job_is_shown_with_its_matrices_and_parameters(sent: list[httpx.Request]) -> None:
    shown = [line.split(maxsplit=1) for line in run("jobs", "show", "done").stdout.splitlines()]
    assert ["job", "a"] in shown
    assert ["matrix", "1", MATRIX_ID, "cnr-2000"] in [" ".join(line).split() for line in shown]
    assert ["caches", "warm"] in shown
    assert ["rounds", "15"] in shown
    assert ["position", "1"] in shown
    assert documents_of(run("jobs", "show", JOB_ID, "--json")) == JOB


def test_a_job_is_tried_again(sent: list[httpx.Request]) -> None:
    ended = run("jobs", "retry", "done")
    assert (ended.exit_code, ended.stdout) == (0, "again\n")
    assert "Job again is queued: http://127.0.0.1:8000/jobs/again\n" in ended.stderr
    assert documents_of(run("jobs", "retry", "done", "--json"))["retry_of"] == "a"


(FORMAT,) = OFFERED["formats"]
KERNEL_WORDS = f"{FORMAT['title']} {FORMAT['kernels'][0]['summary']}".split()


@pytest.mark.parametrize(
    ("arguments", "cells"),
    [
        (("devices",), ["cuda:0", "NVIDIA", "H200", "available", "140", "GiB", "60", "MiB"]),
        (("kernels",), ["csr/vector", "cpu,", "cuda", *KERNEL_WORDS]),
        (("studies",), ["formats", *EXAMPLES[documents.Study]["question"].split()]),
    ],
)
def test_what_a_server_offers_is_listed(sent: list[httpx.Request], arguments: tuple[str], cells: list[str]) -> None:
    ended = run(*arguments)
    assert ended.exit_code == 0
    assert ended.stdout.splitlines()[-1].split() == cells
    (kind,) = (request.url.path.removeprefix("/api/v1/") for request in sent)
    assert documents_of(run(*arguments, "--json")) == OFFERED[kind]


def test_the_parameters_of_a_study_are_listed_as_set_takes_them(
    sent: list[httpx.Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    study = documents_of(run("studies", "formats", "--json"))
    assert study == EXAMPLES[documents.Study]
    monkeypatch.setitem(OFFERED, "studies", [study | {"params": schema_of_params(FormatsStudy.Params)}])
    lines = [line.split(maxsplit=1) for line in run("studies", "formats").stdout.splitlines()]
    assert ["caches=cold,warm", "Cache states to measure. One of: cold, warm."] in lines
    assert dict(lines)["rounds=15"].endswith(". From 9 to 199.")
    assert [name.partition("=")[0] for name, _ in lines] == [field.name for field in fields(FormatsStudy.Params)]
    assert "Available studies: formats" in str(run("studies", "colours").exception)
