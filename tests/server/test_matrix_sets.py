"""Matrices saved together: under which id, by whom renamed, and what is left of a set when its matrices go."""

import pytest
from fastapi.testclient import TestClient

from gpu_engine.errors import NotFoundError, ParameterError
from server import matrix_sets
from server.db import Database
from tests.battery import BATTERY
from tests.conftest import AddMatrix

SETS = "/api/v1/sets"


@pytest.fixture
def two(add_matrix: AddMatrix) -> list[str]:
    return [add_matrix(BATTERY[name]()) for name in ("identity", "band")]


def test_the_same_matrices_are_the_same_set(client: TestClient, two: list[str]) -> None:
    first = client.post(SETS, json={"matrix_ids": two})
    made = first.json()
    assert (first.status_code, first.headers["location"]) == (201, f"{SETS}/{made['id']}")
    assert (made["name"], made["matrix_ids"]) == ("2 matrices", sorted(two))
    again = client.post(SETS, json={"matrix_ids": [*reversed(two), two[0]], "name": " small \n ones "})
    assert (again.status_code, again.json()) == (200, made | {"name": "small ones"})
    assert client.get(f"{SETS}/{made['id']}").json() == again.json()
    assert client.get(SETS).json()["items"] == [again.json()]
    assert client.post(SETS, json={"matrix_ids": two[:1]}).json()["id"] != made["id"]


def test_a_set_of_what_is_not_there_is_refused(client: TestClient, database: Database, two: list[str]) -> None:
    assert client.post(SETS, json={"matrix_ids": [*two, "none"]}).status_code == 404
    assert client.post(SETS, json={"matrix_ids": []}).status_code == 422
    with pytest.raises(ParameterError, match="1 to 100 matrices, not 101"):
        matrix_sets.save(database, [str(number) for number in range(101)])
    assert client.get(SETS).json()["items"] == []


def test_no_more_sets_than_are_kept(database: Database, two: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix_sets, "SETS_MAX", 1)
    matrix_sets.save(database, two)
    matrix_sets.save(database, two, "renamed")
    with pytest.raises(ParameterError, match="Delete one first"):
        matrix_sets.save(database, two[:1])


def test_a_set_outlives_its_matrices(client: TestClient, database: Database, two: list[str]) -> None:
    made, _ = matrix_sets.save(database, two, "small")
    for number, left in enumerate((two[1:], [])):
        assert client.delete(f"/api/v1/matrices/{two[number]}").status_code == 204
        with database.read() as session:
            row = matrix_sets.get_set(session, made.id)
            assert row.matrix_ids == sorted(two)
            if left:
                assert matrix_sets.members(session, row) == tuple(left)
            else:
                with pytest.raises(NotFoundError, match="'small' have been deleted"):
                    matrix_sets.members(session, row)


def test_a_deleted_set_is_gone_and_its_matrices_stay(client: TestClient, database: Database, two: list[str]) -> None:
    made, _ = matrix_sets.save(database, two)
    assert client.delete(f"{SETS}/{made.id}").status_code == 204
    for gone in (made.id, "x" * 12, "é"):
        assert client.get(f"{SETS}/{gone}").json()["code"] == "not_found"
    assert client.get(f"/api/v1/matrices/{two[0]}").status_code == 200
