"""What asks a health page from another container."""

import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

HOSTS: list[str] = []


class Page(BaseHTTPRequestHandler):
    """`/503` answers 503, anything else 200."""

    def do_GET(self) -> None:
        HOSTS.append(self.headers["Host"])
        self.send_response(503 if self.path == "/503" else 200)
        self.end_headers()
        self.wfile.write(b'{"status": "ok"}')

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def probe(url: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-m", "server.health_probe", url], capture_output=True, text=True, check=False
    )


def test_the_answer_decides_the_exit_status(address: str) -> None:
    well, ill = probe(f"{address}/healthz"), probe(f"{address}/503")
    assert (well.returncode, well.stdout) == (0, '{"status": "ok"}\n')
    assert (ill.returncode, "503" in ill.stdout, ill.stderr) == (1, True, "")


def test_a_server_that_is_not_there_is_one_line() -> None:
    ended = probe("http://127.0.0.1:1/healthz")
    assert (ended.returncode, len(ended.stdout.splitlines()), ended.stderr) == (1, 1, "")


def test_the_server_is_asked_by_a_name_that_it_answers_to(address: str) -> None:
    probe(f"{address}/readyz")
    assert HOSTS[-1] == "localhost"
