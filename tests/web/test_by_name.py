"""Matrices by name on the pages: the form, where a fetched one is from, and what is offered where values lack."""

from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from server.collection import download as download_module
from server.db import Database
from server.models import MatrixRow, MatrixState
from tests.collection_site import ADDRESS, Site, serve_from
from tests.web.conftest import words
from tests.web.test_form_actions import HTML, post

LIMIT = 10_000


@pytest.fixture
def site(app: FastAPI, monkeypatch: pytest.MonkeyPatch) -> Site:
    site = Site()
    serve_from(app, site)
    monkeypatch.setattr(download_module, "RETRY_S", 0.0)
    return site


def settled(client: TestClient, path: str) -> Any:
    """The page of a matrix once it is no longer fetched or read."""
    for _ in range(LIMIT):
        if client.get(f"/api/v1{path}").json()["state"] != "ingesting":
            break
    return client.get(path, headers=HTML)


def test_a_name_leads_to_its_matrix_which_says_where_from(site: Site, client: TestClient) -> None:
    answer = post(client, "/matrices/fetch", data={"name": "HB/bcsstk16"})
    assert answer.status_code == 303
    page = settled(client, answer.headers["location"])
    assert page.context["structure"].facts[-1][1].startswith("SuiteSparse Matrix Collection: HB/bcsstk16, ")
    source = client.get(f"/api/v1{answer.headers['location']}").json()["source"]
    said = page.context["structure"].notes[0]
    assert said.startswith(f"Fetched from {ADDRESS}/MM/HB/bcsstk16.tar.gz on {source['fetched_at'][:10]}: ")
    assert said.endswith(f"sha256 {source['sha256']}.")
    assert words(said) in words(page.text)
    assert 'id="fetch-button"' not in page.text


def test_an_unknown_name_is_answered_with_a_page(site: Site, client: TestClient) -> None:
    answer = post(client, "/matrices/fetch", data={"name": "HB/bcstk16"})
    assert (answer.status_code, answer.template.name) == (404, "error.html")
    assert "Did you mean HB/bcsstk16" in answer.text


def test_a_fetch_that_failed_says_why_and_can_be_begun_again(site: Site, client: TestClient) -> None:
    site.cuts = [0, 0]
    path = post(client, "/matrices/fetch", data={"name": "HB/bcsstk16"}).headers["location"]
    page = settled(client, path)
    assert "Connection reset by peer" in words(page.text)
    assert (page.context["actions"].fetch, 'id="fetch-button"' in page.text) == ("HB/bcsstk16", True)
    assert post(client, "/matrices/fetch", data={"name": page.context["actions"].fetch}).headers["location"] == path
    assert settled(client, path).context["matrix"].state == "ready"


def test_a_recorded_matrix_is_fetched_by_a_button(site: Site, client: TestClient, database: Database) -> None:
    with database.write() as session:
        source = {"kind": "collection", "name": "HB/bcsstk16"}
        session.add(MatrixRow(id="r", name="b", state=MatrixState.RECORDED, sha256="x", source=source, created_at=1.0))
    page = client.get("/matrices/r", headers=HTML)
    assert (page.context["actions"].fetch, 'id="fetch-button"' in page.text) == ("HB/bcsstk16", True)


def test_where_nothing_is_fetched_nothing_offers_it(client: TestClient, database: Database) -> None:
    with database.write() as session:
        source = {"kind": "collection", "name": "T/web"}
        session.add(
            MatrixRow(id="rec", name="web", state=MatrixState.FAILED, sha256="x", source=source, created_at=1.0)
        )
    assert client.get("/?name=T/other", headers=HTML).context["missing"].fetch == ""
    assert client.get("/matrices/rec", headers=HTML).context["actions"].fetch == ""
