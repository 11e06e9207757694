"""The command line: what goes where, and the exit codes."""

import io
import json
import stat
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner, Result

from gpu_engine.errors import ConflictError, InputError, NotFoundError, ParameterError, SparsightError, UnavailableError
from gpu_engine.matrix_io import read_matrix
from gpu_engine.text import units
from server.documents import Matrix
from server.examples import EXAMPLES
from sparsight import cli
from sparsight.client import Client
from sparsight.exit_codes import Exit, exit_of

MEASUREMENT = {
    "case": "m|csr/vector|warm|",
    "study": "formats",
    "axes": {},
    "details": {},
    "matrix_id": "m",
    "device": "cpu",
    "format": "csr",
    "kernel": "csr/vector",
    "state": "ok",
    "cache": "warm",
    "median_s": 1e-3,
    "gflops": 2.5,
}
RESULTS: dict[str, Any] = {
    "schema": "sparsight.records",
    "measurements": [MEASUREMENT],
    "traces": [],
    "summary": {"total": 1},
}


class FakeServer:
    """Answers as a server whose job ends in `end`."""

    def __init__(self, end: str = "succeeded") -> None:
        self.end = end
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        return httpx.Response(200, json=self._answer(request.method, request.url.path.removeprefix("/api/v1")))

    def _answer(self, method: str, path: str) -> dict[str, Any]:
        if path == "/studies":
            return {"items": [{"name": "formats"}], "next": None}
        if path == "/matrices":
            return {"id": "m", "name": "a.mtx", "state": "ready", "n_rows": 1, "n_cols": 1, "nnz": 1}
        if path.endswith("/results"):
            return RESULTS
        state = "queued" if method == "POST" else self.end
        error = {"detail": "The device is gone."} if self.end == "failed" else None
        progress = {"done": 1, "total": 1, "message": ""}
        return {
            "id": "j",
            "state": state,
            "progress": progress,
            "queue_position": 1,
            "estimate_s": 40.0,
            "error": error,
        }


@pytest.fixture
def matrix_file(tmp_path: Path) -> Path:
    file = tmp_path / "a.mtx"
    file.write_text("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2.5\n")
    return file


def run(monkeypatch: pytest.MonkeyPatch, server: FakeServer, *arguments: str) -> Result:
    http = httpx.Client(base_url="http://test", transport=httpx.MockTransport(server))
    monkeypatch.setattr("sparsight.client.Client", lambda url, token, hints, on_outage: Client(url, token, http, hints))
    return CliRunner().invoke(cli.app, ["run", *arguments])


def test_run_prints_the_results_on_stdout_and_the_rest_on_stderr(
    monkeypatch: pytest.MonkeyPatch, matrix_file: Path
) -> None:
    server = FakeServer()
    ended = run(monkeypatch, server, "formats", str(matrix_file), "--wait", "--device", "cpu")
    assert ended.exit_code == 0
    assert "a.mtx on cpu, warm" in ended.stdout
    assert "csr/vector" in ended.stdout
    assert "uploading a.mtx" in ended.stderr
    assert "\x1b" not in ended.output
    submitted = next(r for r in server.requests if r.url.path.endswith("/jobs"))
    assert json.loads(submitted.content)["device"] == "cpu"


def test_run_json_is_the_results_document_and_nothing_else(monkeypatch: pytest.MonkeyPatch, matrix_file: Path) -> None:
    ended = run(monkeypatch, FakeServer(), "formats", str(matrix_file), "--wait", "--json")
    assert json.loads(ended.stdout) == RESULTS


def test_run_without_wait_prints_the_id_of_the_job(monkeypatch: pytest.MonkeyPatch, matrix_file: Path) -> None:
    ended = run(monkeypatch, FakeServer(), "formats", str(matrix_file), "--server", "test")
    assert (ended.exit_code, ended.stdout) == (0, "j\n")
    assert "Job j is queued: http://test/jobs/j\n" in ended.stderr
    assert f"about {units.duration(40.0)}" in ended.stderr
    assert "Follow it with `sparsight jobs watch ID`" in ended.stderr


def test_run_that_waits_says_at_once_which_job_it_waits_for(monkeypatch: pytest.MonkeyPatch, matrix_file: Path) -> None:
    ended = run(monkeypatch, FakeServer("running"), "formats", str(matrix_file), "--wait", "--timeout", "0")
    assert "Job j is queued: http://127.0.0.1:8000/jobs/j\n" in ended.stderr


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [("failed", 1, "The job failed. The device is gone."), ("cancelled", 5, "The job was cancelled.")],
)
def test_run_exits_with_the_end_of_the_job(
    monkeypatch: pytest.MonkeyPatch, matrix_file: Path, end: str, code: int, said: str
) -> None:
    ended = run(monkeypatch, FakeServer(end), "formats", str(matrix_file), "--wait")
    assert ended.exit_code == code
    assert said in ended.stderr
    assert "csr/vector" in ended.stdout


def test_run_that_takes_too_long_exits_with_6_and_leaves_the_job(
    monkeypatch: pytest.MonkeyPatch, matrix_file: Path
) -> None:
    ended = run(monkeypatch, FakeServer("running"), "formats", str(matrix_file), "--wait", "--timeout", "0")
    assert ended.exit_code == Exit.TIMEOUT
    assert "is still running after" in ended.stderr
    assert ended.stdout == ""


def test_an_interrupted_wait_exits_with_130_and_leaves_the_job(
    monkeypatch: pytest.MonkeyPatch, matrix_file: Path
) -> None:
    server = FakeServer()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "wait", interrupt)
    ended = run(monkeypatch, server, "formats", str(matrix_file), "--wait")
    assert ended.exit_code == Exit.INTERRUPTED
    assert "The job keeps running. Follow it with: sparsight jobs watch http://127.0.0.1:8000/jobs/j\n" in ended.stderr
    assert not any(request.url.path.endswith("/cancel") for request in server.requests)


def test_an_unknown_study_is_refused_before_the_upload(monkeypatch: pytest.MonkeyPatch, matrix_file: Path) -> None:
    server = FakeServer()
    ended = run(monkeypatch, server, "colours", str(matrix_file))
    assert isinstance(ended.exception, ParameterError)
    assert "Available studies: formats" in str(ended.exception)
    assert [request.url.path for request in server.requests] == ["/api/v1/studies"]


def test_run_sends_the_parameters_that_are_set(monkeypatch: pytest.MonkeyPatch, matrix_file: Path) -> None:
    server = FakeServer()
    settings = ("--set", "rounds=9,caches=warm", "--set", "kernels=csr/scalar,csr/vector")
    assert run(monkeypatch, server, "formats", str(matrix_file), *settings).exit_code == 0
    submitted = next(r for r in server.requests if r.url.path.endswith("/jobs"))
    expected = {"rounds": 9, "caches": ["warm"], "kernels": ["csr/scalar", "csr/vector"]}
    assert json.loads(submitted.content)["params"] == expected


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("round=9", "There is no parameter 'round'; known: kernels, caches, rounds"),
        ("rounds=2", "rounds is '2'; expected a whole number from 9 to 199"),
        ("rounds=9,rounds=9", "'rounds' is given twice"),
        ("rounds", "'rounds' is not of the form name=value"),
    ],
)
def test_a_wrong_parameter_is_refused_before_anything_is_sent(
    monkeypatch: pytest.MonkeyPatch, matrix_file: Path, setting: str, words: str
) -> None:
    server = FakeServer()
    ended = run(monkeypatch, server, "formats", str(matrix_file), "--set", setting)
    assert isinstance(ended.exception, ParameterError)
    assert words in ended.exception.message
    assert server.requests == []


def test_run_where_no_case_has_a_time_exits_with_8(monkeypatch: pytest.MonkeyPatch, matrix_file: Path) -> None:
    skipped = MEASUREMENT | {"state": "skipped", "median_s": None, "note": "Too large."}
    monkeypatch.setitem(RESULTS, "measurements", [skipped, skipped | {"state": "failed"}])
    ended = run(monkeypatch, FakeServer(), "formats", str(matrix_file), "--wait")
    assert ended.exit_code == Exit.NOTHING
    assert "The job finished without a single timing. http://127.0.0.1:8000/jobs/j\n" in ended.stderr
    assert run(monkeypatch, FakeServer(), "formats", str(matrix_file), "--wait", "--json").exit_code == Exit.NOTHING
    assert run(monkeypatch, FakeServer("failed"), "formats", str(matrix_file), "--wait").exit_code == Exit.FAILED
    monkeypatch.setitem(RESULTS, "measurements", [skipped, MEASUREMENT])
    assert run(monkeypatch, FakeServer(), "formats", str(matrix_file), "--wait").exit_code == Exit.DONE


def test_a_missing_file_is_wrong_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ended = CliRunner().invoke(cli.app, ["run", "formats", "none.mtx"])
    assert isinstance(ended.exception, InputError)
    assert exit_of(ended.exception) == Exit.INPUT
    assert "Not found: 'none.mtx'. Give a matrix file" in ended.exception.message


def test_main_turns_an_error_into_its_sentence_and_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], matrix_file: Path
) -> None:
    # Port 1 of this machine: nothing listens there.
    monkeypatch.setattr("sys.argv", ["sparsight", "run", "formats", str(matrix_file), "--server", "http://127.0.0.1:1"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == Exit.UNREACHABLE
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("No Sparsight server responds at http://127.0.0.1:1 ")


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SPARSIGHT_PORT", "seven")
    monkeypatch.setattr("sys.argv", ["sparsight", "doctor"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == Exit.INPUT
    assert "SPARSIGHT_PORT: " in capsys.readouterr().err


def test_the_version_is_that_of_the_package() -> None:
    assert CliRunner().invoke(cli.app, ["--version"]).stdout == f"sparsight {version('sparsight')}\n"


def test_a_matrix_is_generated_into_a_file(tmp_path: Path) -> None:
    file = tmp_path / "grid.mtx.gz"
    ended = CliRunner().invoke(cli.app, ["generate", "stencil:points=5,nx=4,ny=3", str(file)])
    assert (ended.exit_code, ended.stdout) == (0, "")
    assert "12 × 12, 46 nonzeros" in ended.stderr
    assert read_matrix(file).matrix.nnz == 46
    assert file.read_bytes()[4:8] == bytes(4), "the time of writing is in the file"
    lost = CliRunner().invoke(cli.app, ["generate", "stencil", str(tmp_path / "none" / "grid.mtx")])
    assert isinstance(lost.exception, InputError)
    assert "No such file" in lost.exception.message


@pytest.mark.parametrize(("option", "expected"), [((), "na\\xefve"), (("--json",), "na\\u00efve")])
def test_a_terminal_of_ascii_shows_every_name_and_json_stays_json(
    monkeypatch: pytest.MonkeyPatch, option: tuple[str, ...], expected: str
) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"items": [EXAMPLES[Matrix] | {"name": "naïve"}], "next": None})

    http = httpx.Client(base_url="http://test", transport=httpx.MockTransport(answer))
    monkeypatch.setattr("sparsight.client.Client", lambda url, token, hints, on_outage: Client(url, token, http, hints))
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", stdout)
    monkeypatch.setattr("sys.argv", ["sparsight", "matrix", "ls", *option])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    stdout.seek(0)
    assert expected in stdout.read()


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (InputError, 2),
        (ParameterError, 2),
        (ConflictError, 2),
        (UnavailableError, 3),
        (NotFoundError, 4),
        (SparsightError, 1),
    ],
)
def test_every_error_has_its_exit_code(kind: type[SparsightError], code: int) -> None:
    assert exit_of(kind("no")) == code


def test_a_new_home_is_closed_before_anything_is_made_in_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Numba makes its folder in it when the server is imported."""
    home, seen = tmp_path / "home", list[int]()
    monkeypatch.setenv("SPARSIGHT_HOME", str(home))
    monkeypatch.setattr("sparsight.serve.serve", lambda *_: seen.append(stat.S_IMODE(home.stat().st_mode)))
    assert CliRunner().invoke(cli.app, ["serve"]).exit_code == Exit.DONE
    assert seen == [0o700]
