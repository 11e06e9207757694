"""A collection of matrices as a transport of httpx: with ETags and ranges, and whatever may go wrong on the way."""

import io
import tarfile
from collections.abc import Callable, Iterator

import httpx
from fastapi import FastAPI

from server.collection.fetcher import Fetcher
from server.settings import Settings

ADDRESS = "https://sparse.tamu.edu"
MARKET = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 1 3.0\n2 1 -1.5\n"
LIST = (
    b"3\n01-Jan-2026 12:00:00\n"
    b"HB,bcsstk16,4884,4884,290378,1,0,1,1,1,1,structural problem,290378\n"
    b"Toy,two,2,2,3,1,0,0,0,1,1,toy problem,3\n"
    b"Toy,wide,3,5,9,1,1,0,0,0,0,toy graph,9\n"
)

Answer = Callable[[httpx.Request], httpx.Response]


def packed(name: str, content: bytes = MARKET, member: str = "") -> bytes:
    """An archive of the collection."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        info = tarfile.TarInfo(member or f"{name}/{name}.mtx")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    return file.getvalue()


class Body(httpx.SyncByteStream):
    """A body that comes as it is asked for, and may break off at its end."""

    def __init__(self, content: bytes, is_cut: bool = False) -> None:
        self._content, self._is_cut = content, is_cut

    def __iter__(self) -> Iterator[bytes]:
        yield self._content
        if self._is_cut:
            raise httpx.ReadError("Connection reset by peer")


class Site:
    """Files by path, each of one version.

    answers   of a path, in place of its file, the first first
    cuts      after how many bytes the next answers break off
    requests  that came
    """

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {"/files/ssstats.csv": LIST, "/MM/HB/bcsstk16.tar.gz": packed("bcsstk16")}
        self.version = "1"
        self.answers: dict[str, list[Answer]] = {}
        self.cuts: list[int] = []
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        path = request.url.path
        if self.answers.get(path):
            return self.answers[path].pop(0)(request)
        if path not in self.files:
            return httpx.Response(404)
        return self._file(request, self.files[path], f'"{self.version}"')

    def _file(self, request: httpx.Request, content: bytes, tag: str) -> httpx.Response:
        headers, status, total = {"ETag": tag}, 200, len(content)
        wanted = request.headers.get("range", "")
        if wanted and request.headers.get("if-range") == tag:
            begin = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if begin >= total:
                return httpx.Response(416, headers={"Content-Range": f"bytes */{total}"})
            content, status = content[begin:], 206
            headers["Content-Range"] = f"bytes {begin}-{total - 1}/{total}"
        headers["Content-Length"] = str(len(content))
        body = Body(content[: self.cuts.pop(0)], True) if self.cuts else Body(content)
        return httpx.Response(status, headers=headers, stream=body)

    @property
    def paths(self) -> list[str]:
        """What was asked for."""
        return [request.url.path for request in self.requests]


def serve_from(app: FastAPI, site: Site) -> None:
    """Has an application that does not run yet fetch from the site."""
    settings = Settings(**{**dict(app.state.settings), "collection_url": ADDRESS})
    app.state.fetcher = Fetcher(settings, app.state.ingestor, httpx.MockTransport(site))
