"""The commands that ask a running server: their tables, their JSON, their exit codes."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from gpu_engine.errors import InputError, NotFoundError, ParameterError
from server import documents
from server.errors import problem_of
from server.examples import EXAMPLES, JOB_ID, MATRIX_ID
from sparsight import cli
from sparsight.client import Client
from sparsight.matrix_commands import parse_call
from sparsight.problems import Hints
from tests.sparsight.test_compare import measurement, results

MATRIX, JOB = EXAMPLES[documents.Matrix], EXAMPLES[documents.Job]
DONE = JOB | {"started_at": "2026-11-21T02:00:00.000Z", "finished_at": "2026-11-21T03:01:05.400Z"}
JOB_CELLS = ["formats", "queued", "2026-11-21", "02:00", "1:01:05", "0", "of", "14", "cuda:0"]
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
        case "POST", ["jobs", _, "cancel"]:
            return httpx.Response(202, json=JOB | {"state": "cancelled"})
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

    def client(url: str, token: str, hints: Hints) -> Client:
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
    assert [(request.url.path, dict(request.url.params)) for request in sent[1:4]] == [
        ("/api/v1/matrices", {"q": "cnr", "sort": "-created_at", "cursor": "more"}),
        ("/api/v1/jobs", {}),
        ("/api/v1/jobs", {"cursor": "more"}),
    ]


def test_a_list_that_is_cut_short_says_so(sent: list[httpx.Request]) -> None:
    assert (
        run("jobs", "ls", "--limit", "1").stderr == "These are the first 1, and there are more. --limit 0 lists all.\n"
    )
    assert run("jobs", "ls", "--limit", "2").stderr == ""


def test_recorded_matrices_are_listed_when_asked_for(sent: list[httpx.Request]) -> None:
    run("matrix", "ls", "--limit", "1")
    run("matrix", "ls", "--limit", "1", "--recorded")
    assert [request.url.params.get("recorded") for request in sent if "cursor" not in request.url.params] == [
        None,
        "true",
    ]


def test_tables_name_what_they_list(sent: list[httpx.Request]) -> None:
    assert "cnr-2000" in run("matrix", "ls").stdout
    shown = run("matrix", "show", "m").stdout
    assert "3216152" in shown
    assert "sigma" in shown
    lines = [line.split() for line in run("jobs", "ls", "--limit", "1").stdout.splitlines()]
    assert lines[0] == ["job", "matrix", "study", "state", "queued", "(UTC)", "took", "cases", "device"]
    assert lines[1] == ["first", "cnr-2000", *JOB_CELLS]


def test_a_matrix_is_generated_as_it_is_called(sent: list[httpx.Request]) -> None:
    ended = run("matrix", "add", "--generate", "rmat:scale=10,shuffled=true,values=random", "--name", "r")
    assert (ended.exit_code, ended.stdout) == (0, f"{MATRIX_ID}\n")
    assert "325557 × 325557" in ended.stderr
    assert json.loads(sent[0].content) == {
        "family": "rmat", "name": "r", "scale": 10, "shuffled": True, "values": "random"
    }  # fmt: skip


@pytest.mark.parametrize(("name", "said"), [("other", True), (" cnr-2000", False), ("", False)])
def test_a_known_matrix_says_that_it_keeps_its_name(
    sent: list[httpx.Request], tmp_path: Path, name: str, said: bool
) -> None:
    (tmp_path / "a.mtx").write_text("x")
    ended = run("matrix", "add", str(tmp_path / "a.mtx"), "--name", name)
    assert ("The server has this matrix already, as 'cnr-2000', and keeps that name." in ended.stderr) == said


def test_a_file_is_uploaded(sent: list[httpx.Request], tmp_path: Path) -> None:
    (tmp_path / "a.mtx").write_text("x")
    assert documents_of(run("matrix", "add", str(tmp_path / "a.mtx"), "--json"))["id"] == MATRIX_ID
    assert b'filename="a.mtx"' in sent[0].content


def test_add_wants_a_file_or_a_call(sent: list[httpx.Request]) -> None:
    assert isinstance(run("matrix", "add").exception, InputError)
    with pytest.raises(ParameterError, match="'scale'; expected FAMILY:NAME=VALUE"):
        parse_call("rmat:scale")
    assert parse_call("delaunay") == ("delaunay", {})


def test_delete_and_cancel_say_what_they_did(sent: list[httpx.Request]) -> None:
    assert f"Deleted {MATRIX_ID}: cnr-2000." in run("matrix", "rm", "m", "--with-results").stderr
    assert sent[1].url.params["with_results"] == "true"
    assert "is cancelled" in run("jobs", "cancel", JOB_ID).stderr


def test_results_are_a_table_csv_or_json(sent: list[httpx.Request]) -> None:
    assert "ell/thread" in run("results", "a").stdout
    assert run("results", "a", "--csv").stdout == "case,kernel\nm,csr/vector\n"
    assert documents_of(run("results", "a", "--json"))["measurements"] == TIMES["a"]["measurements"]
    assert isinstance(run("results", "a", "--json", "--csv").exception, InputError)
    assert isinstance(run("results", "none").exception, NotFoundError)


def test_a_job_that_has_measured_nothing_says_so(sent: list[httpx.Request]) -> None:
    ended = run("results", "waiting")
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert ended.stderr == "The job waiting is queued and has measured nothing.\n"


def test_hints_are_in_the_words_of_the_command_line(sent: list[httpx.Request]) -> None:
    assert str(run("results", "none").exception) == "There is no such thing. `sparsight jobs ls` lists them."


def test_watch_ends_with_the_results(sent: list[httpx.Request]) -> None:
    ended = run("jobs", "watch", "done")
    assert ended.exit_code == 0
    assert "cnr-2000 on cpu, warm" in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("csr/vector", "ell/thread", "--job", "a"), 0),
        (("csr/vector", "ell/thread", "--job", "a", "--fail-on", "slow"), 7),
        (("ell/thread", "csr/vector", "--job", "a", "--fail-on", "slow"), 0),
        (("a", "b", "--fail-on", "slow"), 7),
    ],
)
def test_compare_fails_on_slow_only_when_told_to(sent: list[httpx.Request], arguments: tuple[str], code: int) -> None:
    ended = run("compare", *arguments)
    assert ended.exit_code == code, ended.output
    assert ("slower" in ended.stdout) == (arguments[0] != "ell/thread")
    assert ended.stdout.startswith("cnr-2000, warm, cpu\n")
    (difference,) = json.loads(run("compare", *arguments, "--json").stdout)
    assert difference["matrix_id"] == "m"
