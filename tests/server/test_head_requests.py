"""HEAD, and the methods of an address."""

import pytest
from fastapi.testclient import TestClient

PATHS = [
    "/",
    "/matrices",
    "/formats",
    "/formats.csv",
    "/healthz",
    "/library",
    "/reference",
    "/api/v1/matrices",
    "/api/v1/figures",
]


@pytest.mark.parametrize("path", PATHS)
def test_head_answers_the_headers_of_get(client: TestClient, path: str) -> None:
    full, head = client.get(path), client.head(path)
    assert (head.status_code, head.content) == (200, b"")
    names = ("content-type", "content-length", "etag", "content-security-policy")
    assert [head.headers.get(name) for name in names] == [full.headers.get(name) for name in names]


def test_head_of_a_stream_ends(client: TestClient) -> None:
    head = client.head("/api/v1/events?topics=jobs")
    assert (head.status_code, head.headers["content-type"], head.content) == (
        200,
        "text/event-stream; charset=utf-8",
        b"",
    )


def test_head_of_what_is_not_there(client: TestClient) -> None:
    assert [client.head(path).status_code for path in ("/api/v1/jobs/nope", "/nope", "/api/v1/jobs?nope=1")] == [
        404,
        404,
        422,
    ]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/api/v1/matrices", "GET, HEAD, POST"),
        ("POST", "/api/v1/matrices/m1", "GET, HEAD, DELETE"),
        ("GET", "/api/v1/matrices/preview/x/y", ""),
        ("GET", "/api/v1/jobs/x/cancel", "POST"),
        ("HEAD", "/api/v1/jobs/x/cancel", "POST"),
        ("DELETE", "/matrices", "GET, HEAD, POST"),
        ("OPTIONS", "/healthz", "GET, HEAD"),
        ("PUT", "/api/v1/matrices/generate", "POST"),
    ],
)
def test_a_wrong_method_is_told_the_right_ones(client: TestClient, method: str, path: str, allowed: str) -> None:
    answer = client.request(method, path)
    assert answer.status_code == (405 if allowed else 404)
    assert answer.headers.get("allow", "") == allowed
    if allowed and method != "HEAD":
        assert answer.json()["code"] == "method_not_allowed"
        assert answer.json()["detail"] == f"{method} is not allowed here. Allowed: {allowed}."


def test_a_browser_is_told_the_methods_on_a_page(client: TestClient) -> None:
    answer = client.post("/service", headers={"accept": "text/html"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD")
    assert answer.headers["content-type"].startswith("text/html")
