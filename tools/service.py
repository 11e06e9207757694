"""A service of a folder in a process of its own, for the benches."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

START_S = 60.0


@contextmanager
def served(home: Path, *options: str, **settings: str) -> Iterator[tuple[str, int]]:
    """The address and the process id of a server of that folder; `sparsight serve` takes the options."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = (sys.executable, "-m", "sparsight", "serve", "--port", f"{port}", *options)
    own = {f"SPARSIGHT_{name.upper()}": value for name, value in {"home": str(home), **settings}.items()}
    with subprocess.Popen(command, env={**_environment(), **own}) as server:
        try:
            yield _answering(server, f"http://127.0.0.1:{port}"), server.pid
        finally:
            server.terminate()


def _environment() -> Mapping[str, str]:
    """What of our own a server gets: no settings of a service that runs here."""
    return {name: value for name, value in os.environ.items() if not name.startswith("SPARSIGHT_")}


def _answering(server: subprocess.Popen[bytes], address: str) -> str:
    end = time.monotonic() + START_S
    while server.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}/healthz"):
                return address
        except OSError:
            time.sleep(0.1)
    raise SystemExit("The server did not start; its words are above.")
