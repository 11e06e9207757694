"""Commands `sparsight backup` and `restore`: the database and all matrices in one file."""

from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpu_engine.text import units
from server import logs
from sparsight.terminal import print_status, read_settings

if TYPE_CHECKING:
    from server.backup import Manifest

File = Annotated[Path, typer.Argument(help="Path of the backup, a tar file.")]


def backup(file: File) -> None:
    """Write the database and all matrices to one file. The service can keep running."""
    from server.backup import back_up
    from server.db import Database
    from server.store import Store

    settings = read_settings()
    logs.configure(settings.log_format)
    with closing(Database(settings.resolved_database_url)) as database:
        manifest = back_up(database, Store(settings.resolved_store), file)
    print_status(f"Wrote {file}: {_contents(manifest)}, {units.size(file.stat().st_size)}.")
    if manifest.missing:
        print_status(f"The values of {len(manifest.missing)} matrices are missing in the store and in the backup.")


def restore(file: File) -> None:
    """Fill an empty data directory from a backup. Stop the server and the workers first."""
    from server.private_folders import open_service
    from server.restore import restore as run_restore

    settings = read_settings()
    logs.configure(settings.log_format)
    open_service(settings)
    print_status(f"Restored {_contents(run_restore(settings, file))}. You can now start the service.")


def _contents(manifest: "Manifest") -> str:
    rows = manifest.rows
    return f"{rows['jobs']} jobs with {rows['measurements']} measurements, {len(manifest.matrices)} matrices"
