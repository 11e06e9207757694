"""Command `sparsight serve`: the API in this process and a worker in a child process, both stopped together."""

import gc
import logging
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import uvicorn

from gpu_engine.errors import UnavailableError
from server import connection, first_start, import_recordings, retention, sandbox
from server.guard import check_access
from server.main import create_app
from server.migrate import migrate
from server.settings import Settings
from sparsight.worker_process import WorkerProcess

log = logging.getLogger(__name__)

GRACE_S = 3
"""Seconds that open responses may take when the server stops."""


class Server(uvicorn.Server):
    """Uvicorn server with callbacks.

    on_ready  called when the server accepts requests
    on_stop   called before it shuts down
    """

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None], on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, then call on_ready."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Call on_stop, then wait for open responses."""
        self._on_stop()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """Return a bound socket (port 0: any free port); raise UnavailableError if the port is in use."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UnavailableError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. Choose another port: --port {port + 1}."
        ) from error


def address(listener: socket.socket) -> str:
    """Return the URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(settings: Settings, with_worker: bool, announce: Callable[[str], None]) -> None:
    """Migrate the database and serve until SIGINT or SIGTERM; call `announce` with the URL when the server is ready.

    The data directory is open (server/private_folders.py). Raises InputError if other hosts can reach the address and
    no token exists.
    """
    check_access(settings)
    signal.signal(signal.SIGTERM, _interrupt)
    with listen(settings.host, settings.port) as listener:
        migrate(settings.resolved_database_url)
        _run(settings, listener, with_worker, announce)


def _run(settings: Settings, listener: socket.socket, with_worker: bool, announce: Callable[[str], None]) -> None:
    app = create_app(settings)
    ingestor, stopping = app.state.ingestor, threading.Event()
    worker = WorkerProcess(drain_s=settings.drain_seconds)
    app.state.starts_worker = with_worker
    later = [
        _in_background(import_recordings.run, app.state.database),
        _in_background(first_start.run, ingestor, settings, stopping),
        _in_background(retention.run, ingestor, settings, stopping),
    ]

    def ready() -> None:
        announce(address(listener))
        if with_worker:
            worker.start()
        for thread in later:
            thread.start()

    config = uvicorn.Config(
        app,
        # Uvicorn logs through the logging of the service.
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE_S,
        proxy_headers=bool(settings.proxy),
        forwarded_allow_ips=settings.proxy,
        **connection.OPTIONS,
    )
    # Imported objects stay for the lifetime of the process; freezing them shortens the pauses of full collections.
    gc.collect()
    gc.freeze()
    try:
        Server(config, ready, app.state.streams.close).run(sockets=[listener])
    except KeyboardInterrupt:
        # SIGINT and SIGTERM are the normal ways to stop a server.
        log.debug("stopped by a signal")
    finally:
        stopping.set()
        worker.stop()


def _in_background(work: Callable[..., None], *arguments: Any) -> threading.Thread:
    """Return a thread that works as soon as the process that reads files is warm."""

    def run() -> None:
        # The first file of a user comes first.
        sandbox.servers.warm()
        work(*arguments)

    return threading.Thread(target=run, daemon=True)


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt
