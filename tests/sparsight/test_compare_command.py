"""`sparsight compare` as a gate: which differences end it with which exit code, and how they are told."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from gpu_engine.errors import InputError
from server import documents
from server.examples import EXAMPLES
from sparsight.client import Client
from sparsight.problems import Hints
from tests.gpu_engine.verdicts.test_differences import measurement, results, without_time
from tests.sparsight.test_commands import run

MATRIX, JOB = EXAMPLES[documents.Matrix], EXAMPLES[documents.Job]

FAST, SLOW = measurement("csr/vector", 1e-3), measurement("csr/vector", 1.2e-3)
GONE, SKIPPED = without_time("csr/vector", "failed"), without_time("csr/vector", "skipped")
OTHER = measurement("ell/thread", 1e-3)
TIMES = {
    "fast": results(FAST, OTHER),
    "slow": results(SLOW, OTHER),
    "failed": results(GONE, OTHER),
    "skipped": results(SKIPPED, OTHER),
    "less": results(OTHER),
    "onlyfast": results(FAST),
    "onlyfailed": results(GONE),
    "batches": results(*(measurement("csr/smart", 1e-3 * b, axes=f"batch={b},operation=y=Ax") for b in (100, 1000))),
    "two": results(measurement("csr/vector", 1e-3), measurement("ell/thread", 2e-3)),
}


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server with the jobs of TIMES."""

    def answer(request: httpx.Request) -> httpx.Response:
        match request.url.path.removeprefix("/api/v1/").split("/"):
            case ["jobs", job, "results"]:
                return httpx.Response(200, json={"schema": "x", "traces": [], "summary": {}, **TIMES[job]})
            case ["jobs", job]:
                return httpx.Response(200, json=JOB | {"id": job, "state": "running" if job == "less" else "succeeded"})
            case _:
                return httpx.Response(200, json=MATRIX)

    def client(url: str, token: str, hints: Hints, on_outage: Callable[[str], None]) -> Client:
        return Client(url, token, httpx.Client(base_url="http://test", transport=httpx.MockTransport(answer)), hints)

    monkeypatch.setattr("sparsight.client.Client", client)


@pytest.mark.parametrize(
    ("arguments", "code", "verdict"),
    [
        ("csr/vector ell/thread --job two", 0, "slower"),
        ("csr/vector ell/thread --job two --fail-on slow", 7, "slower"),
        ("ell/thread csr/vector --job two --fail-on slow", 0, "faster"),
        ("fast slow", 0, "slower"),
        ("fast slow --fail-on failed,missing,inconclusive", 7, "slower"),
        ("onlyfast slow --fail-on failed,missing,inconclusive", 0, "slower"),
        ("onlyfast slow --fail-on failed,missing,ambiguous", 0, "slower"),
        ("fast slow --fail-on slow", 7, "slower"),
        ("fast slow --fail-on slow --threshold 19.9%", 7, "slower"),
        ("fast slow --fail-on slow --threshold 20.1%", 0, "slower"),
        ("slow fast --fail-on slow", 0, "faster"),
        ("fast failed --fail-on slow,missing", 0, "failed"),
        ("fast failed --fail-on failed --threshold 50%", 2, ""),
        ("fast failed --fail-on slow,failed --threshold 50%", 7, "failed"),
        ("failed failed --fail-on failed,missing,slow", 0, "untimed"),
        ("fast skipped --fail-on failed", 0, "missing"),
        ("fast skipped --fail-on missing", 7, "missing"),
        ("fast less --fail-on slow,failed", 0, "missing"),
        ("fast less --fail-on missing", 7, "missing"),
        ("onlyfast onlyfailed", 8, "failed"),
        ("onlyfast onlyfailed --fail-on slow", 8, "failed"),
        ("onlyfast onlyfailed --fail-on failed", 7, "failed"),
        ("csr/smart csr/smart --job batches --fail-on inconclusive", 0, "same"),
    ],
)
def test_the_gate_closes_for_what_it_is_told_and_where_nothing_is_compared(
    arguments: str, code: int, verdict: str
) -> None:
    ended = run("compare", *arguments.split())
    if code == 2:
        assert isinstance(ended.exception, InputError)
        return
    assert ended.exit_code == code, ended.output
    assert verdict in ended.stdout
    as_json = run("compare", *arguments.split(), "--json")
    assert as_json.exit_code == code
    found = [entry for entry in json.loads(as_json.stdout) if entry["verdict"] == verdict]
    assert found[0]["matrix"] == "cnr-2000"
    assert found[0]["matrix_id"] == "m"


def test_what_closes_the_gate_is_counted() -> None:
    said = run("compare", "fast", "failed", "--fail-on", "failed,inconclusive").stderr
    assert said.endswith("1 failed, 1 inconclusive (of 2 comparisons).\n")


def test_a_job_that_still_runs_is_said_to() -> None:
    assert run("compare", "fast", "less").stderr == "Job less is running. Comparing its results so far.\n"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--fail-on", "slow,fast"), "'fast' for --fail-on. Use slow, failed, missing, inconclusive"),
        (("--threshold", "5%"), "--threshold applies only to --fail-on slow"),
        (("--fail-on", "slow", "--threshold", "5"), "'5' for --threshold. Use a percentage"),
        (("--fail-on", "slow", "--threshold", "-5%"), "Use a percentage"),
        (("--fail-on", "slow", "--threshold", "nan%"), "Use a percentage"),
        (("--fail-on", "slow", "--threshold", "inf%"), "Use a percentage"),
        (("--fail-on", "slow", "--threshold", "5%%"), "Use a percentage"),
    ],
)
def test_a_gate_that_cannot_be_meant_is_refused(options: tuple[str], words: str) -> None:
    ended = run("compare", "fast", "slow", *options)
    assert isinstance(ended.exception, InputError)
    assert words in ended.exception.message


def test_axes_stand_beside_the_kernel_and_those_that_all_share_above() -> None:
    ended = run("compare", "batches", "batches")
    title, heads, *rows = ended.stdout.splitlines()
    assert title == "cnr-2000, warm, cpu, operation=y=Ax"
    assert heads.split()[:3] == ["kernel", "parameters", "verdict"]
    assert [row.split()[:3] for row in rows] == [
        ["csr/smart", "batch=100", "inconclusive"],
        ["csr/smart", "batch=1000", "inconclusive"],
    ]
    found: list[dict[str, Any]] = json.loads(run("compare", "batches", "batches", "--json").stdout)
    assert [entry["axes"] for entry in found] == [
        {"batch": "100", "operation": "y=Ax"},
        {"batch": "1000", "operation": "y=Ax"},
    ]


def test_a_study_without_axes_has_no_column_of_them() -> None:
    title, heads, *_ = run("compare", "fast", "slow").stdout.splitlines()
    assert (title, heads.split()[:2]) == ("cnr-2000, warm, cpu", ["kernel", "verdict"])
