"""Downloads of the collection: what is resumed, refused and given up, told by a site that is none."""

from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from gpu_engine.errors import NotFoundError, SparsightError, TooLargeError, UnavailableError
from server.collection import download as download_module
from server.collection.download import Download, Downloader
from tests.collection_site import ADDRESS, Body, Site

PATH, BODY = "MM/A/a.tar.gz", bytes(range(256)) * 40


@pytest.fixture
def site() -> Site:
    site = Site()
    site.files[f"/{PATH}"] = BODY
    return site


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download_module, "RETRY_S", 0.0)


def fetch(site: Site, part: Path, most: int = 10**6, address: str = ADDRESS) -> Download:
    return Downloader(address, httpx.MockTransport(site)).download(PATH, part, most)


def moved(location: str) -> httpx.Response:
    return httpx.Response(301, headers={"Location": location})


def test_a_file_comes_whole_with_its_checksum(site: Site, tmp_path: Path) -> None:
    got = fetch(site, tmp_path / "deep" / "part")
    assert (tmp_path / "deep" / "part").read_bytes() == BODY
    assert (got.address, got.size, got.sha256) == (f"{ADDRESS}/{PATH}", len(BODY), sha256(BODY).hexdigest())
    assert got.fetched_at.endswith("Z")
    (request,) = site.requests
    assert request.headers["user-agent"].startswith("sparsight/")
    assert "range" not in request.headers


def test_what_broke_off_is_gone_on_with(site: Site, tmp_path: Path) -> None:
    site.cuts = [1000, 500]
    assert fetch(site, tmp_path / "part").sha256 == sha256(BODY).hexdigest()
    asked = [(r.headers.get("range"), r.headers.get("if-range")) for r in site.requests]
    assert asked == [(None, None), ("bytes=1000-", '"1"'), ("bytes=1500-", '"1"')]


def test_a_later_call_goes_on_where_an_earlier_one_ended(site: Site, tmp_path: Path) -> None:
    part = tmp_path / "part"
    site.cuts = [1000, 0, 0]
    with pytest.raises(UnavailableError, match="from this server: Connection reset by peer; upload"):
        fetch(site, part)
    assert part.read_bytes() == BODY[:1000]
    assert fetch(site, part).size == len(BODY)
    assert site.requests[-1].headers["range"] == "bytes=1000-"


def test_another_version_is_fetched_anew(site: Site, tmp_path: Path) -> None:
    part = tmp_path / "part"
    site.cuts = [1000, 0, 0]
    with pytest.raises(UnavailableError):
        fetch(site, part)
    site.version, site.files[f"/{PATH}"] = "2", BODY[::-1]
    assert fetch(site, part).sha256 == sha256(BODY[::-1]).hexdigest()
    assert part.read_bytes() == BODY[::-1]


def test_a_part_of_an_unknown_version_is_not_believed(site: Site, tmp_path: Path) -> None:
    (tmp_path / "part").write_bytes(b"of something else")
    assert fetch(site, tmp_path / "part").sha256 == sha256(BODY).hexdigest()


def test_a_range_that_is_another_than_was_asked_for_is_not_appended(site: Site, tmp_path: Path) -> None:
    site.cuts = [1000]
    shifted = httpx.Response(206, headers={"Content-Range": f"bytes 10-{len(BODY) - 1}/{len(BODY)}"}, stream=Body(BODY))
    plain = site._file
    site.answers[f"/{PATH}"] = [lambda request: plain(request, BODY, '"1"'), lambda _: shifted]
    assert fetch(site, tmp_path / "part").sha256 == sha256(BODY).hexdigest()


@pytest.mark.parametrize("declared", [True, False])
def test_a_file_over_its_limit_is_given_up_and_gone(site: Site, tmp_path: Path, declared: bool) -> None:
    if not declared:
        site.answers[f"/{PATH}"] = [lambda _: httpx.Response(200, content=iter([BODY[:5000], BODY[5000:]]))]
    with pytest.raises(TooLargeError, match=r"larger than the limit of 9.*kB"):
        fetch(site, tmp_path / "part", most=9000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", [301, 302, 307, 308])
def test_its_own_hosts_may_send_to_each_other_by_https_alone(site: Site, tmp_path: Path, kind: int) -> None:
    own = "sparse-files.engr.tamu.edu"
    site.answers[f"/{PATH}"] = [lambda _: httpx.Response(kind, headers={"Location": f"http://{own}/{PATH}"})]
    assert fetch(site, tmp_path / "part").address == f"https://{own}/{PATH}"
    assert [str(request.url) for request in site.requests] == [f"{ADDRESS}/{PATH}", f"https://{own}/{PATH}"]


@pytest.mark.parametrize(
    "location",
    [
        "https://sparse.tamu.edu.evil.example/a",
        "https://evil.example/a",
        "//evil.example/a",
        "http://169.254.169.254/latest",
        "https://sparse.tamu.edu:8443/a",
        "https://me@sparse.tamu.edu/a",
        "file:///etc/passwd",
    ],
)
def test_a_host_that_is_not_its_own_is_not_asked(site: Site, tmp_path: Path, location: str) -> None:
    site.answers[f"/{PATH}"] = [lambda _: moved(location)]
    with pytest.raises(UnavailableError, match="redirects to another host"):
        fetch(site, tmp_path / "part")
    assert len(site.requests) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("location", ["http://xn--/", "http://xn--0/", "http://[::1", "//a\x01b/"])
def test_an_address_that_is_not_valid_is_one_sentence(site: Site, tmp_path: Path, location: str) -> None:
    site.answers[f"/{PATH}"] = [lambda _: moved(location)] * 3
    with pytest.raises(UnavailableError):
        fetch(site, tmp_path / "part")


@pytest.mark.parametrize("header", ["ETag", "Last-Modified"])
def test_a_version_that_no_request_can_name_begins_the_file_again(site: Site, tmp_path: Path, header: str) -> None:
    broken = httpx.Response(
        200, headers=[(header.encode(), b'"\xe9"'), (b"Content-Length", b"10240")], stream=Body(BODY[:10])
    )
    site.answers[f"/{PATH}"] = [lambda _: broken]
    assert fetch(site, tmp_path / "part").sha256 == sha256(BODY).hexdigest()
    assert "range" not in site.requests[-1].headers


def test_a_mirror_may_send_within_itself(site: Site, tmp_path: Path) -> None:
    site.answers[f"/mirror/{PATH}"] = [lambda _: moved(f"/{PATH}")]
    assert (
        fetch(site, tmp_path / "part", address="http://mirror.lab:81/mirror").address == f"http://mirror.lab:81/{PATH}"
    )


def test_circles_end(site: Site, tmp_path: Path) -> None:
    site.answers[f"/{PATH}"] = [lambda _: moved(f"/{PATH}")] * 20
    with pytest.raises(UnavailableError, match="redirects in a loop; upload the file instead"):
        fetch(site, tmp_path / "part")


def test_a_host_that_asks_to_wait_is_waited_for_or_left(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []

    def pause(downloader: Downloader, seconds: float, is_wanted: object) -> None:
        waited.append(seconds)

    monkeypatch.setattr(Downloader, "pause", pause)
    busy = httpx.Response(429, headers={"Retry-After": "7"})
    site.answers[f"/{PATH}"] = [lambda _: busy]
    assert fetch(site, tmp_path / "one").size == len(BODY)
    assert waited[0] == 7.0
    for retry_after in ("86400", "Wed, 21 Oct 2065 07:28:00 GMT"):
        late = httpx.Response(503, headers={"Retry-After": retry_after})
        site.answers[f"/{PATH}"] = [lambda _, late=late: late]  # type: ignore[misc]
        with pytest.raises(UnavailableError, match=r"is busy \(503\)\. Start the download again in \d+ s"):
            fetch(site, tmp_path / "two")


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (httpx.Response(404), NotFoundError, r"sparse.tamu.edu has no such file \(404\); upload the file instead"),
        (httpx.Response(403), UnavailableError, "sparse.tamu.edu answered 403 'Forbidden'; upload the file instead"),
        (httpx.Response(500), UnavailableError, "answered 500"),
        (httpx.Response(204), UnavailableError, "answered 204"),
    ],
)
def test_other_answers_are_said(
    site: Site, tmp_path: Path, answer: httpx.Response, kind: type[SparsightError], words: str
) -> None:
    site.answers[f"/{PATH}"] = [lambda _: answer]
    with pytest.raises(kind, match=words):
        fetch(site, tmp_path / "part")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (httpx.ConnectError("[Errno -2] Name or service not known"), "this server: Name or service not known; upload"),
        (httpx.ConnectTimeout("timed out"), "this server: no response within 10 s; upload the file instead"),
        (httpx.ReadError(""), "this server: ReadError; upload the file instead"),
    ],
)
def test_offline_is_one_sentence(tmp_path: Path, error: httpx.TransportError, words: str) -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise error

    with pytest.raises(UnavailableError, match=rf"^Cannot reach sparse\.tamu\.edu from {words}"):
        Downloader(ADDRESS, httpx.MockTransport(refuse)).download(PATH, tmp_path / "part", 100)


def test_nothing_more_is_written_once_nobody_wants_it(site: Site, tmp_path: Path) -> None:
    wanted = iter([True, False])
    site.answers[f"/{PATH}"] = [
        lambda _: httpx.Response(200, headers={"ETag": '"1"'}, content=iter([bytes(2**20)] * 3))
    ]
    downloader = Downloader(ADDRESS, httpx.MockTransport(site))
    with pytest.raises(UnavailableError, match="to resume"):
        downloader.download(PATH, tmp_path / "part", 10**8, lambda: next(wanted))
    assert (tmp_path / "part").stat().st_size == 2**20
