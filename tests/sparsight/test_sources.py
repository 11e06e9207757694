"""What a command takes for a matrix, and one job of all kinds of them on a real server."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from gpu_engine.errors import ConflictError, InputError, MatrixFileError, NotFoundError, ParameterError, SparsightError
from gpu_engine.records import DeviceInfo
from server import devices, documents
from server.db import Database
from server.models import MatrixRow, MatrixState
from sparsight.addresses import Address
from sparsight.client import Client
from sparsight.sources import Call, Source, find_sources, parse_call
from tests.battery import BATTERY
from tests.conftest import AddMatrix
from tests.sparsight.test_commands import run

MARKET = "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 2.5\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: two matrices and an edge list in `many`, nothing in `none`, a text that is no matrix."""
    many = tmp_path / "work" / "many"
    (many / "deeper").mkdir(parents=True)
    (many / "deeper" / "left_out.mtx").write_text(MARKET)
    (many / "b.mtx").write_text(MARKET)
    (many / "a.mtx").write_text(MARKET.replace("2.5", "3.5"))
    (many / "edges.txt").write_text("1 2\n2 3\n")
    (many.parent / "none").mkdir()
    (many.parent / "ornl.mtx").write_text(MARKET.replace(" real", ""))
    (many.parent / "letter.txt").write_text("Dear reader,\n")
    monkeypatch.chdir(many.parent)
    return many.parent


def test_each_text_is_what_it_looks_like(folder: Path) -> None:
    options = {"directed": True, "weights": "ignore"}
    found = find_sources(["many", "many/b.mtx", "5f0c6a1e", "http://lab/matrices/5f0c", "rmat:scale=5"], options)
    assert found == [
        Source("many/a.mtx", Path("many/a.mtx")),
        Source("many/b.mtx", Path("many/b.mtx")),
        Source("many/edges.txt", Path("many/edges.txt"), options),
        Source("many/b.mtx", Path("many/b.mtx")),
        Source("5f0c6a1e", Address("5f0c6a1e")),
        Source("http://lab/matrices/5f0c", Address("5f0c", "http://lab")),
        Source("rmat:scale=5", Call("rmat", {"scale": 5})),
    ]


def test_each_file_has_the_options_of_what_it_leaves_open(folder: Path) -> None:
    options = {"directed": False, "field": "real"}
    assert [source.options for source in find_sources(["ornl.mtx", "many/edges.txt", "many/b.mtx"], options)] == [
        {"field": "real"},
        {"directed": False},
        {},
    ]


def test_a_file_comes_before_an_id_and_a_call_of_the_same_name(folder: Path) -> None:
    for name in ("5f0c6a1e", "rmat:scale=5"):
        Path(name).write_text(MARKET)
        assert find_sources([name], {}) == [Source(name, Path(name))]


@pytest.mark.parametrize(
    ("texts", "options", "kind", "words"),
    [
        (["many/c.mtx"], {}, InputError, "Not found: 'many/c.mtx'. Give a matrix file, a folder"),
        (["x" * 5000 + ".mtx"], {}, InputError, "Not found: "),
        (["none"], {}, InputError, "'none': The folder is empty"),
        (["many"], {}, MatrixFileError, "'many/edges.txt': This looks like an edge list.* Use --directed true"),
        (["many/b.mtx", "letter.txt"], {}, MatrixFileError, "^'letter.txt': Line 1: The file begins with 'Dear"),
        (
            ["many/b.mtx"],
            {"directed": True},
            ParameterError,
            "remove --directed",
        ),
        (
            ["ornl.mtx"],
            {},
            MatrixFileError,
            "^'ornl.mtx': Line 1: .* lacks the field .* Use --field real or --field pat",
        ),
        (["many/b.mtx"], {"field": "real"}, ParameterError, "remove --field"),
        (["rmat:scale=5,size=1"], {}, ParameterError, "'rmat:scale=5,size=1': There is no parameter 'size'; known: sc"),
        (["rmat:scale"], {}, ParameterError, "'rmat:scale': 'scale' is not"),
        (["rmut:scale=5"], {}, ParameterError, "'rmut:scale=5': There is no generator 'rmut'; known: stencil"),
        (["stencil:points=6"], {}, ParameterError, "'stencil:points=6': points is '6'; expected one of 5, 7, 9, 27"),
        (["http://lab/jobs/5f0c"], {}, InputError, "Expected http://…/matrices/ID"),
        (["abcd"] * (documents.MATRICES_MAX + 1), {}, ParameterError, "101, but a job can have at most 100"),
    ],
)
def test_what_is_no_matrix_is_named_with_the_reason(
    folder: Path, texts: list[str], options: dict[str, Any], kind: type[SparsightError], words: str
) -> None:
    with pytest.raises(kind, match=words) as caught:
        find_sources(texts, options)
    assert type(caught.value) is kind


def test_as_many_matrices_as_a_job_takes_are_taken() -> None:
    assert len(find_sources(["abcd"] * documents.MATRICES_MAX, {})) == documents.MATRICES_MAX


def test_a_file_that_cannot_be_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("gpu_engine.matrix_io.read_head", refuse)
    with pytest.raises(InputError, match=r"'many/b\.mtx': Cannot read it: Permission denied\."):
        find_sources(["many/b.mtx"], {})


def test_a_call_has_values_of_the_types_of_its_parameters() -> None:
    assert parse_call("delaunay") == Call("delaunay", {})
    assert parse_call("stencil:points=27,nx=64") == Call("stencil", {"points": 27, "nx": 64})


@pytest.fixture
def posted(client: TestClient, database: Database, monkeypatch: pytest.MonkeyPatch) -> list[httpx.Request]:
    """What the commands send to a real server that offers a CPU: all but questions."""
    devices.register(database, [DeviceInfo("cpu", "cpu", "Test CPU", 2**33, 2**20)])
    requests: list[httpx.Request] = []
    client.event_hooks["request"].append(lambda sent: requests.append(sent) if sent.method != "GET" else None)
    monkeypatch.setattr(
        "sparsight.client.Client", lambda url, token, hints, on_outage: Client(url, token, client, hints)
    )
    monkeypatch.setattr(Client, "close", lambda _: None)
    return requests


def test_one_job_takes_files_folders_ids_and_calls_in_their_order(
    folder: Path, posted: list[httpx.Request], client: TestClient, add_matrix: AddMatrix
) -> None:
    own = add_matrix(BATTERY["identity"](), "own", "abcdef0123456789")
    (folder / "copy.mtx").write_text(MARKET)
    sources = ("stencil:points=5,nx=3,ny=3", "many", "copy.mtx", "abcdef", "--directed", "true")
    ended = run("run", "formats", *sources, "--device", "cpu", "--json")
    assert ended.exit_code == 0, ended.output
    matrices = [client.get(f"/api/v1/matrices/{entry}").json() for entry in json.loads(ended.stdout)["matrix_ids"]]
    assert [matrix["nnz"] for matrix in matrices] == [33, 1, 1, 2, 1025]
    assert [matrix["name"] for matrix in matrices[1:]] == ["a", "b", "edges", "own"]
    assert matrices[3]["source"]["options"] == {"directed": True}
    assert matrices[4]["id"] == own
    assert "'copy.mtx' and 'many/b.mtx' are the same matrix; it is measured once." in ended.stderr
    assert [request.url.path for request in posted].count("/api/v1/jobs") == 1


def test_a_file_that_the_server_has_is_measured_again(folder: Path, posted: list[httpx.Request]) -> None:
    first, second = (json.loads(run("run", "formats", "many/b.mtx", "--json").stdout) for _ in range(2))
    assert first["matrix_ids"] == second["matrix_ids"]
    assert first["id"] != second["id"]


def test_what_is_refused_is_refused_before_a_file_is_sent(
    folder: Path, posted: list[httpx.Request], database: Database, add_matrix: AddMatrix
) -> None:
    for state in (MatrixState.RECORDED, MatrixState.FAILED):
        name = add_matrix(BATTERY["identity"](), str(state), f"{state}0")
        with database.write() as session:
            row = session.get_one(MatrixRow, name)
            row.state, row.error = state, {"code": "invalid_matrix_file", "detail": "Line 3: Not a number."}
    refused = {
        "deadbeef": (
            NotFoundError,
            "Use `sparsight matrix ls` to list all matrices.",
        ),
        "recorded0": (ConflictError, "'recorded0': A reference matrix has no values"),
    }
    for text, (kind, words) in refused.items():
        error = run("run", "formats", "many/b.mtx", text).exception
        assert type(error) is kind
        assert words in str(error)
    assert posted == []
    error = run("run", "formats", "failed0").exception
    assert (type(error), str(error)) == (MatrixFileError, "'failed0': Line 3: Not a number.")
    assert posted == []


def test_a_file_that_the_server_cannot_read_is_named_and_no_job_is_made(
    folder: Path, posted: list[httpx.Request]
) -> None:
    Path("wrong.mtx").write_text(MARKET.replace("1 1 2.5", "1 3 2.5"))
    error = run("run", "formats", "many/b.mtx", "wrong.mtx").exception
    assert isinstance(error, MatrixFileError)
    assert error.message.startswith("'wrong.mtx': Line 3: ")
    assert "/api/v1/jobs" not in [request.url.path for request in posted]
