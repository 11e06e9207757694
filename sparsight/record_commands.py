"""Commands `sparsight record …`: results of a device as a file, and reference results from such files."""

from pathlib import Path
from typing import Annotated

import typer

from server.documents import Recording
from sparsight.paged_output import Limit, print_list, utc_minute
from sparsight.terminal import AsJson, Column, Server, connect, print_json, print_status

app = typer.Typer(help="Export results, and import reference results.", no_args_is_help=True)
COLUMNS: tuple[Column[Recording], ...] = (
    Column("id", lambda recording: recording["id"]),
    Column("device", lambda recording: recording["name"], is_name=True),
    Column("source", lambda recording: "imported" if recording["imported"] else "release"),
    Column(
        "measured (UTC)", lambda recording: utc_minute(recording["measured_at"]) if recording["measured_at"] else ""
    ),
)


@app.command(epilog="Example: sparsight record write formats --device cuda:0 --out node7-formats.json.gz")
def write(
    study: Annotated[str, typer.Argument(help="Name of the study.")],
    device: Annotated[str, typer.Option(help="Device of the server whose results are written.")] = "cuda:0",
    out: Annotated[Path | None, typer.Option(help="File to write. Default: STUDY.json.gz.", dir_okay=False)] = None,
    server: Server = None,
) -> None:
    """Write the results of a device to a file that other servers can import.

    The file has the newest result of each case of a study, without raw samples.
    """
    with connect(server) as client:
        path = client.record(device, study, out or Path(f"{study}.json.gz"))
    print_status(f"Wrote {path}. To import it on another server, use `sparsight record import {path}`.")


@app.command(name="import", epilog="Example: sparsight record import node7-formats.json.gz --name node7-h100")
def import_file(
    file: Annotated[
        Path, typer.Argument(help="File of `record write`, or Ginkgo's JSON.", exists=True, dir_okay=False)
    ],
    name: Annotated[str, typer.Option(help="Device name: lowercase letters, digits, dashes.")] = "",
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Import reference results from a file.

    Pages show them next to results of the same matrices, but never rank them together. JSON of Ginkgo's benchmark
    spmv is accepted too, with --name.
    """
    with connect(server) as client:
        recording = client.import_recording(file, name)
    if as_json:
        print_json(recording)
    else:
        times = f", times {recording['times']}" if recording["times"] else ""
        print_status(f"Imported {recording['id']}: results of {recording['study']} on {recording['device']}{times}.")


@app.command()
def ls(limit: Limit = 50, server: Server = None, as_json: AsJson = False) -> None:
    """List the reference results: those of the release and imported ones."""
    with connect(server) as client:
        message = "No reference results. Import some with `sparsight record import`."
        print_list(client.recordings(), limit, COLUMNS, message, as_json)


@app.command()
def rm(
    recording: Annotated[str, typer.Argument(help="Id of the results, such as node7-h100/formats.")],
    server: Server = None,
) -> None:
    """Delete imported reference results."""
    with connect(server) as client:
        client.delete_recording(recording)
    print_status(f"Deleted the reference results {recording}.")
