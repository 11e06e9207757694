"""`sparsight backup` and `restore`: everything that a home has, in one file."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpu_engine.text import units
from server import logs
from sparsight.terminal import read_settings, say

if TYPE_CHECKING:
    from server.backup import Manifest

File = Annotated[Path, typer.Argument(help="A tar file.")]


def backup(file: File) -> None:
    """Write the database and the matrices into one file; the service may run meanwhile."""
    from server.backup import back_up
    from server.db import Database
    from server.store import Store

    settings = read_settings()
    logs.configure(settings.log_format)
    with closing(Database(settings.resolved_database_url)) as database:
        manifest = back_up(database, Store(settings.resolved_store), file)
    say(f"{file}: {_held(manifest)}, {units.size(file.stat().st_size)}.")
    if manifest.missing:
        say(f"Without the values of {len(manifest.missing)} matrices, which are not in the store.")


def restore(file: File) -> None:
    """Fill an empty database and store from a backup; stop server and workers first."""
    from server.folders import open_service
    from server.restore import restore as run_restore

    settings = read_settings()
    logs.configure(settings.log_format)
    open_service(settings)
    say(f"Restored {_held(run_restore(settings, file))}. Start the service.")


def _held(manifest: "Manifest") -> str:
    rows = manifest.rows
    return f"{rows['jobs']} jobs with {rows['measurements']} measurements, {len(manifest.matrices)} matrices"
