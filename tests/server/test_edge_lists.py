from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from httpx import Response

from server import matrix_lifecycle
from server.settings import Settings
from server.store import Store

EDGES = b"# a triangle\n5 9\n9 70\n70 5\n5 9\n"
MARKET = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3.0\n2 1 -1.5\n"


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_lifecycle, "ANSWER_S", 120.0)


def post(client: TestClient, path: str = "", content: bytes = EDGES, **fields: str) -> Response:
    answer: Response = client.post(f"/api/v1/matrices{path}", files={"file": ("tri.txt", content)}, data=fields)
    return answer


def test_bytes_and_options_are_one_matrix(client: TestClient, store: Store) -> None:
    first = post(client, directed="true", weights="", duplicates="sum")
    assert first.status_code == 201
    document = first.json()
    assert document["name"] == "tri"
    assert document["source"]["options"] == {"directed": True}
    assert store.load(document["id"]).to_scipy().toarray().tolist() == [[0, 2, 0], [0, 0, 1], [1, 0, 0]]
    again = post(client, directed="true")
    assert (again.status_code, again.json()["id"]) == (200, document["id"])
    other = post(client, directed="false", duplicates="last")
    assert other.status_code == 201
    assert other.json()["id"] != document["id"]
    assert store.load(other.json()["id"]).to_scipy().toarray().tolist() == [[0, 1, 1], [1, 0, 1], [1, 1, 0]]


@pytest.mark.parametrize(
    ("content", "fields", "words"),
    [
        (EDGES, {}, "unknown whether"),
        (EDGES, {"directed": "maybe"}, "directed is 'maybe'; expected true or false"),
        (EDGES, {"directed": "true", "duplicates": "refuse"}, "1 edges repeat"),
        (EDGES, {"directed": "true", "weights": "2"}, "one of auto, values, ignore"),
        (MARKET, {"directed": "true"}, "Remove the options: directed"),
    ],
)
def test_wrong_options_are_refused(client: TestClient, content: bytes, fields: dict[str, str], words: str) -> None:
    for path in ("", "/preview"):
        answer = post(client, path, content, **fields)
        if path and not fields:
            continue
        assert answer.status_code == 422
        assert words in answer.json()["detail"]
        assert fields or answer.json()["hint_code"] == "choose_direction"
        assert fields or answer.json()["asks"] == ["directed", "weights", "duplicates"]
    assert client.get("/api/v1/matrices").json()["items"] == []


def test_a_preview_says_what_would_be_read_and_keeps_nothing(
    client: TestClient, store: Store, settings: Settings
) -> None:
    answer = post(client, "/preview")
    assert answer.status_code == 200
    assert answer.json() == {
        "format": "edge list",
        "needs_direction": True,
        "asks": ["directed", "weights", "duplicates"],
        "n_rows": 3,
        "n_cols": 3,
        "nnz": 3,
        "symmetric": False,
        "reciprocal": 0.0,
        "duplicates": 1,
        "first_entries": [[0, 1, 2.0], [1, 2, 1.0], [2, 0, 1.0]],
        "notes": [
            "3 distinct ids, the largest 70, became 0 … 2 in ascending order.",
            "A line is an edge from its row to its column.",
            "The file has no weights; every edge counts 1.",
            "1 edges repeat an earlier one; they were added up.",
            "No direction was chosen; the preview shows a directed graph.",
        ],
    }
    chosen = post(client, "/preview", directed="false").json()
    assert chosen["asks"] == []
    assert [chosen[key] for key in ("needs_direction", "symmetric", "reciprocal", "nnz")] == [False, True, 1.0, 6]
    market = post(client, "/preview", MARKET).json()
    assert [market[key] for key in ("format", "needs_direction", "symmetric", "nnz")] == [
        "Matrix Market",
        False,
        True,
        3,
    ]
    assert store.ids() == set()
    assert list(Path(settings.home / "uploads").iterdir()) == []
    assert client.get("/api/v1/matrices").json()["items"] == []


def test_a_file_without_a_field_asks_for_it_and_is_then_read(client: TestClient, store: Store) -> None:
    content = MARKET.replace(b" real", b"")
    refused = post(client, content=content)
    assert refused.status_code == 422
    assert {key: refused.json()[key] for key in ("line", "hint_code", "hint", "asks")} == {
        "line": 1,
        "hint_code": "choose_field",
        "hint": "Send field=real or field=pattern.",
        "asks": ["field"],
    }
    shown = post(client, "/preview", content).json()
    assert (shown["format"], shown["asks"], shown["needs_direction"]) == ("Matrix Market", ["field"], False)
    assert shown["first_entries"][:2] == [[0, 0, 3.0], [0, 1, -1.5]]
    assert shown["notes"][-1] == "No field was chosen; the preview takes it as real."
    read = post(client, content=content, field="real")
    assert (read.status_code, read.json()["source"]["options"]) == (201, {"field": "real"})
    assert store.load(read.json()["id"]).to_scipy().toarray().tolist() == [[3.0, -1.5], [-1.5, 0.0]]
    links = b"%%MatrixMarket matrix coordinate general\n2 2 1\n2 1\n"
    shown = post(client, "/preview", links).json()
    assert (shown["asks"], shown["notes"][-1]) == (["field"], "No field was chosen; the preview takes it as pattern.")
    assert post(client, content=links, field="pattern").status_code == 201


def test_a_preview_of_a_bad_file_is_its_problem(client: TestClient) -> None:
    answer = post(client, "/preview", b"1 2\nx 3\n")
    assert answer.status_code == 422
    assert answer.json()["line"] == 2
