"""`sparsight serve`: the API in this process, a worker beside it, and nothing left behind when it stops."""

import gc
import logging
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import uvicorn

from gpu_engine.errors import UnavailableError
from server import connection, first_start, import_recordings, retention
from server.folders import open_service
from server.guard import check_access
from server.main import create_app
from server.migrate import migrate
from server.settings import Settings
from sparsight.worker_process import WorkerProcess

log = logging.getLogger(__name__)

GRACE_S = 3
"""How long answers that are on their way may take when the server stops."""


class Server(uvicorn.Server):
    """A uvicorn server that tells when it answers, and when it is about to stop."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None], on_stop: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Starts to listen, then tells."""
        await super().startup(sockets)
        if self.started:
            self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tells, then waits for open answers."""
        self._on_stop()
        await super().shutdown(sockets)


def listen(host: str, port: int) -> socket.socket:
    """A bound socket; port 0 takes a free one; raises UnavailableError where it is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise UnavailableError(
            f"Cannot listen on {host}:{port}: {error.strerror or error}. Choose another port, as in --port {port + 1}."
        ) from error


def address(listener: socket.socket) -> str:
    """The URL of a listening socket."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def serve(settings: Settings, with_worker: bool, announce: Callable[[str], None]) -> None:
    """Migrates the database and serves until SIGINT or SIGTERM; `announce` is told the address when it answers.

    Raises InputError for an address that others reach, unless there is a token.
    """
    check_access(settings)
    signal.signal(signal.SIGTERM, _interrupt)
    open_service(settings)
    with listen(settings.host, settings.port) as listener:
        migrate(settings.resolved_database_url)
        _run(settings, listener, with_worker, announce)


def _run(settings: Settings, listener: socket.socket, with_worker: bool, announce: Callable[[str], None]) -> None:
    app = create_app(settings)
    worker = WorkerProcess(drain_s=settings.drain_seconds)
    stopping = threading.Event()
    samples = threading.Thread(target=first_start.run, args=(app.state.ingestor, settings, stopping), daemon=True)
    deleting = threading.Thread(target=retention.run, args=(app.state.ingestor, settings, stopping), daemon=True)
    recordings = threading.Thread(target=import_recordings.run, args=(app.state.database,), daemon=True)

    def ready() -> None:
        announce(address(listener))
        if with_worker:
            worker.start()
        samples.start()
        deleting.start()
        recordings.start()

    config = uvicorn.Config(
        app,
        # Its messages go where ours go.
        log_config=None,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=GRACE_S,
        proxy_headers=bool(settings.proxy),
        forwarded_allow_ips=settings.proxy,
        **connection.OPTIONS,
    )
    # What was imported stays, and is most of what a full collection would look at, while every thread stands still.
    gc.collect()
    gc.freeze()
    try:
        Server(config, ready, app.state.streams.close).run(sockets=[listener])
    except KeyboardInterrupt:
        # Both signals are how a server is meant to stop.
        log.debug("stopped by a signal")
    finally:
        stopping.set()
        worker.stop()


def _interrupt(*_: Any) -> NoReturn:
    raise KeyboardInterrupt
