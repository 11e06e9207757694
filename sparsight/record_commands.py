"""`sparsight record …`: what a device has measured as a file, and such files of other devices."""

from pathlib import Path
from typing import Annotated

import typer

from server.documents import Recording
from sparsight.lists import Limit, moment, print_list
from sparsight.terminal import AsJson, Column, Server, connect, print_json, say

app = typer.Typer(help="Results of devices as files, from one server to another.", no_args_is_help=True)
COLUMNS: tuple[Column[Recording], ...] = (
    Column("id", lambda recording: recording["id"]),
    Column("device", lambda recording: recording["name"], is_name=True),
    Column("came", lambda recording: "imported" if recording["imported"] else "with the release"),
    Column("measured (UTC)", lambda recording: moment(recording["measured_at"]) if recording["measured_at"] else ""),
)


@app.command(epilog="Example: sparsight record write formats --device cuda:0 --out node7-formats.json.gz")
def write(
    study: Annotated[str, typer.Argument(help="Name of a study.")],
    device: Annotated[str, typer.Option(help="A device of the server.")] = "cuda:0",
    out: Annotated[Path | None, typer.Option(help="The file; default: STUDY.json.gz.", dir_okay=False)] = None,
    server: Server = None,
) -> None:
    """Write the newest result of each case of a study on a device, without raw samples."""
    with connect(server) as client:
        path = client.record(device, study, out or Path(f"{study}.json.gz"))
    say(f"Wrote {path}. Another server takes it with `sparsight record import {path}`.")


@app.command(name="import", epilog="Example: sparsight record import node7-formats.json.gz --name node7-h100")
def import_file(
    file: Annotated[Path, typer.Argument(help="A recording, or JSON of Ginkgo's spmv.", exists=True, dir_okay=False)],
    name: Annotated[str, typer.Option(help="What to call its device: small letters, digits, dashes.")] = "",
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Import a recording: pages show it beside results of the same matrices, and never rank it with them.

    Results of Ginkgo's benchmark spmv are a recording too, of a device that you name.
    """
    with connect(server) as client:
        found = client.import_recording(file, name)
    if as_json:
        print_json(found)
    else:
        times = f", times {found['times']}" if found["times"] else ""
        say(f"Imported {found['id']}: results of {found['study']} on {found['device']}{times}.")


@app.command()
def ls(limit: Limit = 50, server: Server = None, as_json: AsJson = False) -> None:
    """List the recordings, those that came with the release too."""
    with connect(server) as client:
        print_list(client.recordings(), limit, COLUMNS, "There are no recordings.", as_json)


@app.command()
def rm(
    recording: Annotated[str, typer.Argument(help="Its id, such as node7-h100/formats.")], server: Server = None
) -> None:
    """Have the server forget a recording that was imported."""
    with connect(server) as client:
        client.delete_recording(recording)
    say(f"The recording {recording} is gone.")
