"""The page that asks a browser for a token: where it leads from and to, and what cookie it gives."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from server import tokens
from server.db import Database
from server.main import create_app
from server.roles import Role
from server.session_cookie import FILE
from server.settings import Settings
from server.tokens import Quotas
from tests.conftest import ADDRESS
from web.form_actions import local_path

HTML = {"Accept": "text/html,*/*;q=0.8"}
TOKEN = "correct horse"


@pytest.fixture
def locked(settings: Settings, templates_told: None) -> Iterator[TestClient]:
    """A browser that follows no redirect by itself, at a service with a token."""
    app = create_app(settings.model_copy(update={"token": TOKEN}))
    with TestClient(app, base_url=ADDRESS, headers=HTML, follow_redirects=False) as client:
        yield client


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        ("/", "%2F"),
        ("/formats?job=a+b&cache=cold&cache=warm%26", "%2Fformats%3Fjob%3Da%2Bb%26cache%3Dcold%26cache%3Dwarm%2526"),
        ("/matrices/%C3%A4%20b", "%2Fmatrices%2F%25C3%25A4%2520b"),
        ("/api/v1/jobs", "%2Fapi%2Fv1%2Fjobs"),
    ],
)
def test_a_page_that_needs_a_token_leads_to_the_sign_in_and_back(locked: TestClient, asked: str, wanted: str) -> None:
    first = locked.get(asked)
    assert (first.status_code, first.headers["location"]) == (303, f"/sign-in?next={wanted}")
    page = locked.get(first.headers["location"])
    assert (page.status_code, page.template.name) == (200, "sign_in.html")
    assert page.context["next"] == asked
    action = page.text.partition('<form action="')[2].partition('"')[0]
    done = locked.post(action, data={"token": f" {TOKEN}\n"})
    assert (done.status_code, done.headers["location"]) == (303, asked)
    assert locked.get("/").status_code == 200


def test_the_cookie_is_the_browsers_alone(locked: TestClient) -> None:
    plain = locked.post("/sign-in", data={"token": TOKEN}).headers["set-cookie"]
    name = plain.partition("=")[0]
    assert re.fullmatch(r"sparsight_[0-9a-f]{16}", name)
    assert plain.partition("; ")[2] == "HttpOnly; Max-Age=7200; Path=/; SameSite=lax"
    secure = TestClient(locked.app, base_url="https://127.0.0.1", follow_redirects=False)
    cookie = secure.post("/sign-in", data={"token": TOKEN}).headers["set-cookie"]
    assert cookie.startswith(f"__Host-{name}=")
    assert cookie.endswith("; SameSite=lax; Secure")
    assert secure.get("/jobs", headers=HTML).status_code == 200


def test_two_services_of_one_host_keep_a_browser_signed_in(
    locked: TestClient, tmp_path: Path, migrated: Path, settings: Settings
) -> None:
    (tmp_path / "other").mkdir()
    shutil.copy(migrated, tmp_path / "other" / "sparsight.db")
    other = create_app(settings.model_copy(update={"token": TOKEN, "home": tmp_path / "other"}))
    with TestClient(other, base_url="http://127.0.0.1:9000", headers=HTML, follow_redirects=False) as second:
        # A browser has one jar for all ports of a host.
        second.cookies = locked.cookies
        for client in (locked, second):
            client.post("/sign-in", data={"token": TOKEN})
        assert [client.get("/jobs").status_code for client in (locked, second)] == [200, 200]
        second.post("/sign-out")
        assert [client.get("/jobs").status_code for client in (locked, second)] == [200, 303]


def test_a_service_keeps_its_name(settings: Settings) -> None:
    first, again = (create_app(settings).state.cookie.name("http") for _ in range(2))
    assert first == again
    (settings.home / FILE).write_text("; Domain=evil")
    assert re.fullmatch(r"sparsight_[0-9a-f]{16}", create_app(settings).state.cookie.name("http"))


@pytest.mark.parametrize("headers", [{"origin": "https://evil.example"}, {"sec-fetch-site": "cross-site"}])
def test_another_site_signs_nobody_in_or_out(locked: TestClient, headers: dict[str, str]) -> None:
    for path in ("/sign-in", "/sign-out"):
        locked.cookies.clear()
        if path == "/sign-out":
            locked.post("/sign-in", data={"token": TOKEN})
        answer = locked.post(path, data={"token": TOKEN}, headers=headers)
        assert (answer.status_code, "set-cookie" in answer.headers) == (403, False)


def test_a_wrong_token_is_told_so_and_keeps_the_way_back(locked: TestClient) -> None:
    page = locked.post("/sign-in?next=%2Fjobs", data={"token": "wrong"})
    assert (page.status_code, "set-cookie" in page.headers) == (401, False)
    assert re.search('<p id="token-problem" role="alert">[^<]+</p>', page.text)
    assert 'aria-describedby="token-problem"' in page.text
    assert 'action="/sign-in?next=/jobs"' in page.text
    assert "wrong" not in page.text.partition("<main")[2].partition("</main>")[0]
    assert locked.post("/sign-in", data={}).status_code == 401


def test_a_service_with_a_token_asks_for_it(locked: TestClient) -> None:
    page = locked.get("/sign-in")
    assert (page.context["is_open"], 'id="token"' in page.text) == (False, True)


def test_a_token_in_an_address_opens_nothing(locked: TestClient) -> None:
    answer = locked.get("/matrices", params={"token": TOKEN})
    assert (answer.status_code, "set-cookie" in answer.headers) == (303, False)
    assert locked.get("/api/v1/matrices", params={"token": TOKEN}, headers={"accept": "*/*"}).status_code == 401


def test_every_page_says_who_is_signed_in_and_signs_out(locked: TestClient, database: Database) -> None:
    token = tokens.add(database, "ci", Role.READ, None, Quotas())
    locked.post("/sign-in", data={"token": token})
    page = locked.get("/jobs").text
    assert "Signed in with token ci (role read)." in page
    assert '<form action="/sign-out" method="post"' in page
    answer = locked.post("/jobs", data={"study": "formats"})
    assert (answer.status_code, "needs the role submit" in answer.text) == (403, True)
    assert locked.post("/sign-out").headers["location"] == "/sign-in"
    assert locked.get("/jobs").status_code == 303


def test_where_no_token_is_needed_nobody_signs_in(client: TestClient) -> None:
    answer = client.post("/sign-in?next=/jobs", data={"token": "x"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"], "set-cookie" in answer.headers) == (303, "/jobs", False)
    assert "/sign-out" not in client.get("/jobs").text
    page = client.get("/sign-in?next=/jobs", headers=HTML)
    assert (page.context["is_open"], 'id="token"' in page.text, 'href="/jobs"' in page.text) == (True, False, True)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("/", "/"),
        ("/jobs?state=a%20b&x=/y//z", "/jobs?state=a%20b&x=/y//z"),
        ("", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("/\t/evil.example", "/"),
        ("/\n/evil.example", "/"),
        ("\\\\evil.example", "/"),
        ("https://evil.example", "/"),
        ("evil.example", "/"),
        ("javascript:alert(1)", "/"),
        ("/a b", "/"),
        ("/a\\b", "/"),
        ("/ä", "/"),
        ("/a\r\nSet-Cookie: x=y", "/"),
        ("/a\n", "/"),
    ],
)
def test_the_way_back_stays_here(text: str, path: str) -> None:
    assert local_path(text) == path
