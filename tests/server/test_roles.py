"""Which role may make which call: the list by value, and every call with a token of each role."""

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from server.main import create_app
from server.roles import Role, every_route, role_of
from server.settings import Settings
from tests.conftest import ADDRESS
from tests.server.conftest import MakeToken
from tests.server.test_guard import calls

OPEN = {"GET /healthz", "GET /readyz", "GET /sign-in", "POST /sign-in", "GET /static/{version}/{name}"}
ANY_TOKEN = {"GET /api/v1/openapi.json", "HEAD /api/v1/openapi.json"}
"""Of FastAPI, which gives it no dependencies; the guard asks for a token, and any will do."""

SUBMIT = {
    "POST /api/v1/matrices",
    "POST /api/v1/matrices/preview",
    "POST /api/v1/matrices/generate",
    "POST /api/v1/matrices/fetch",
    "POST /api/v1/collection/index",
    "POST /api/v1/matrices/generate/preview",
    "POST /api/v1/sets",
    "POST /api/v1/recordings",
    "POST /api/v1/jobs",
    "POST /api/v1/jobs/{job_id}/cancel",
    "POST /api/v1/jobs/{job_id}/stop",
    "POST /api/v1/jobs/{job_id}/retry",
    "POST /api/v1/jobs/{job_id}/annotations",
    "POST /matrices",
    "POST /matrices/{matrix_id}/measure",
    "POST /matrices/generate",
    "POST /matrices/fetch",
    "POST /sets",
    "POST /recordings",
    "POST /jobs",
    "POST /jobs/{job_id}/annotations",
}
ADMIN = {
    "GET /api/v1/audit",
    "DELETE /api/v1/matrices/{matrix_id}",
    "DELETE /api/v1/recordings/{device}/{study}",
    "DELETE /api/v1/sets/{set_id}",
}
CHANGING_READ = {"POST /sign-out"}
"""What a role that only reads may change: its own session."""


def needs(app: FastAPI) -> dict[Role | None, set[str]]:
    found: dict[Role | None, set[str]] = {}
    for route in every_route(app.routes):
        found.setdefault(role_of(route), set()).update(f"{method} {route.path}" for method in route.methods)
    return found


def test_every_route_names_its_role(app: FastAPI) -> None:
    found = needs(app)
    assert found[None] == OPEN | ANY_TOKEN
    assert found[Role.SUBMIT] == SUBMIT
    assert found[Role.ADMIN] == ADMIN
    assert {call for call in found[Role.READ] if not call.startswith(("GET ", "HEAD "))} == CHANGING_READ


def test_a_route_without_a_role_is_noticed(app: FastAPI) -> None:
    app.add_api_route("/leak", lambda: "", methods=["DELETE"])
    assert "DELETE /leak" in needs(app)[None]


@pytest.mark.parametrize("role", Role)
def test_a_token_makes_the_calls_of_its_role_and_no_other(
    settings: Settings, make_token: MakeToken, role: Role
) -> None:
    app = create_app(settings)
    found = needs(app)
    forbidden = {call for other in Role if not role.covers(other) for call in found[other]}
    described = [f"{method} {route.path}" for route in every_route(app.routes) for method in route.methods]
    with TestClient(app, base_url=ADDRESS, headers={"authorization": f"Bearer {make_token(role)}"}) as client:
        for (method, path), call in zip(calls(app), described, strict=True):
            answer = client.request(method, path, follow_redirects=False)
            refused = answer.status_code == 403 and answer.json()["code"] == "forbidden"
            assert refused == (call in forbidden), call
            # What is not refused is looked at: nothing made up is there, and no body is right.
            assert refused or answer.status_code in (200, 303, 401, 404, 409, 422, 503), call
            assert (answer.status_code == 401) == (call == "POST /sign-in")
    assert len(forbidden) == {Role.READ: 25, Role.SUBMIT: 4, Role.ADMIN: 0}[role]


def test_a_role_may_do_what_those_before_it_may() -> None:
    assert [[role.covers(other) for other in Role] for role in Role] == [
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]


def test_the_description_names_the_role_of_each_call(settings: Settings) -> None:
    paths = create_app(settings.model_copy(update={"token": "x"})).openapi()["paths"]
    said = {
        f"{method.upper()} {path}": operation["security"]
        for path, methods in paths.items()
        for method, operation in methods.items()
    }
    assert said["POST /api/v1/jobs"] == [{"bearer": ["submit"]}, {"cookie": ["submit"]}]
    assert said["GET /metrics"] == [{"bearer": ["read"]}, {"cookie": ["read"]}]
    assert {call for call, asked in said.items() if asked and asked[0]["bearer"] == ["admin"]} == ADMIN
    for call, asked in said.items():
        statuses = paths[call.partition(" ")[2]][call.partition(" ")[0].lower()]["responses"]
        assert not asked or {"401", "403", "429"} <= set(statuses), call
