"""How an edge list is to be read, as the command line and the client say it to a live server."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import httpx
import pytest

from gpu_engine.csr_matrix import fingerprint
from gpu_engine.errors import ParameterError
from gpu_engine.matrix_io import ReadOptions, read_matrix
from sparsight.client import Client
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.sparsight.test_commands import run
from tools.service import LIMIT_S, Service

EDGES = b"# u v weight\n5 9 2\n9 70 3\n70 5 4\n5 9 8\n9 5 1\n"

READINGS: list[dict[str, Any]] = [
    {"directed": True},
    {"directed": False},
    {"directed": True, "weights": "ignore"},
    {"directed": True, "duplicates": "last"},
]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "edges.txt"
    file.write_bytes(EDGES)
    return file


@pytest.fixture
def service(home: Path, add_matrix: AddMatrix) -> Iterator[Service]:
    """A server without a worker, on a home that is in use: nothing is measured."""
    add_matrix(BATTERY["identity"]())
    with Service(home.parent, "--no-worker") as service:
        yield service


def added_by_command(service: Service, file: Path, options: dict[str, Any]) -> dict[str, Any]:
    flags = [word for name, value in options.items() for word in (f"--{name}", str(value).lower())]
    command = [sys.executable, "-P", "-m", "sparsight", "matrix", "add", str(file), *flags, "--json"]
    ended = subprocess.run(
        [*command, "--server", service.url], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert ended.returncode == 0, ended.stderr
    document: dict[str, Any] = json.loads(ended.stdout)
    return document


@pytest.mark.timeout(600)
def test_a_list_is_read_as_the_flags_and_the_keywords_say(service: Service, file: Path) -> None:
    expected = [fingerprint(read_matrix(file, options=ReadOptions(**options)).matrix) for options in READINGS]
    assert len(set(expected)) == len(READINGS)
    with Client(service.url) as client:
        for options, print_ in zip(READINGS, expected, strict=True):
            uploaded = client.wait_matrix(client.upload(file, **options)["id"])
            assert (uploaded["fingerprint"], uploaded["source"]["options"]) == (print_, options)
            by_command = added_by_command(service, file, options)
            assert (by_command["fingerprint"], by_command["id"]) == (print_, uploaded["id"])


@pytest.mark.parametrize("command", [("matrix", "add"), ("run", "formats")])
def test_every_read_option_is_a_flag_with_its_choices(command: tuple[str, ...]) -> None:
    shown = run(*command, "--help").stdout
    assert [option.name for option in fields(ReadOptions) if f"--{option.name} " not in shown] == []
    refused = run(*command, __file__, "--duplicates", "first")
    assert refused.exit_code == 2
    assert "'sum', 'last', 'refuse'" in " ".join(refused.stderr.replace("│", " ").split())


def test_flags_of_an_edge_list_do_not_go_with_a_generated_matrix() -> None:
    ended = run("matrix", "add", "--generate", "stencil:points=5", "--directed", "true")
    assert str(ended.exception) == "Generated matrices have no file options. Remove --directed."


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"direction": True}, "no parameter 'direction'; known: directed, weights, duplicates, field"),
        ({"directed": "yes"}, "directed is 'yes'; expected true or false"),
        ({"weights": "double"}, "expected one of auto, values, ignore"),
    ],
)
def test_a_wrong_keyword_is_refused_before_anything_is_sent(file: Path, options: dict[str, Any], words: str) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request)

    http = httpx.Client(base_url="http://test", transport=httpx.MockTransport(refuse))
    with Client("http://test", http=http) as client, pytest.raises(ParameterError, match=words):
        client.upload(file, **options)
