"""Facts of this server on the page of the service: versions and sizes, and for administrators where its files are."""

import os
import stat
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from sqlalchemy import make_url
from sqlalchemy.orm import Session

from gpu_engine import release
from gpu_engine.text import units
from server.metric_values import Histogram, MetricValues, histograms
from server.settings import Settings
from web.views import service_tiles

STDERR = 2
OPEN_FILES = Path("/proc/self/fd")
"""Folder of Linux with a link for each open file of this process."""


def facts(session: Session, values: MetricValues) -> tuple[tuple[str, str], ...]:
    """Return versions, sizes, and what the server process uses."""
    database = session.connection().dialect
    version = ".".join(map(str, getattr(database, "server_version_info", None) or ()))
    name = "SQLite" if database.name == "sqlite" else "PostgreSQL"
    matrices = values.by("sparsight_matrices", "state")
    writes = histograms(values, "sparsight_database_seconds", "kind").get("write", Histogram((), ()))
    memory = values.total("process_resident_memory_bytes")
    files = (values.total(f"process_{which}_fds") for which in ("open", "max"))
    return (
        ("Sparsight", release()),
        ("Database", f"{name} {version}"),
        ("Database writes, 95\u202f% within", service_tiles.bound_text(writes.quantile_s(0.95), writes)),
        ("Matrices with values", units.count(matrices["ready"])),
        ("Matrices with reference results only", units.count(matrices["recorded"])),
        ("Matrices being read", units.count(values.total("sparsight_ingests"))),
        ("Measurements", units.count(values.total("sparsight_measurements"))),
        ("Memory of the server process", units.size(memory) if memory else units.MISSING),
        ("Open files", " of ".join(map(units.count, files))),
    )


def locations(settings: Settings) -> tuple[tuple[str, str], ...]:
    """Return where the data, the database, the matrices, and the log of this server are; no password is among them."""
    url = make_url(settings.resolved_database_url)
    is_file = url.get_backend_name() == "sqlite"
    database = str(Path(url.database or "").absolute()) if is_file else url.render_as_string(hide_password=True)
    return (
        ("Data directory", str(settings.home.absolute())),
        ("Database file" if is_file else "Database address", database),
        ("Matrices", _store_text(settings.resolved_store)),
        ("Log of this server", _log_text()),
    )


def _store_text(store: str) -> str:
    """Return the folder of the matrices, or its address without a name and a password."""
    if "://" not in store:
        return str(Path(store).absolute())
    parts = urlsplit(store)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query=""))


def _log_text() -> str:
    """Return the file that standard error goes to, or the process whose standard error it is."""
    process = f"standard error of process {os.getpid()}"
    try:
        is_file = stat.S_ISREG(os.fstat(STDERR).st_mode)
        return str((OPEN_FILES / str(STDERR)).readlink()) if is_file else process
    except OSError:
        return process
