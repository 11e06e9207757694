"""Commands `sparsight matrix …`: the matrices of a running server."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from gpu_engine.errors import InputError, quote
from server.documents import Advice, Matrix
from sparsight.addresses import Address, matrix_address
from sparsight.lookups import find_matrix
from sparsight.paged_output import Limit, print_list, utc_minute
from sparsight.read_options import ReadOptionsCommand
from sparsight.report import format_duration
from sparsight.sources import parse_call
from sparsight.terminal import (
    AsJson,
    Column,
    Server,
    connect,
    messages,
    out,
    print_hidden_columns,
    print_json,
    print_pairs,
    print_status,
    print_table,
)

app = typer.Typer(help="Add, list, and delete matrices.", no_args_is_help=True)
MatrixId = Annotated[
    Address,
    typer.Argument(metavar="MATRIX", help="Matrix id, a unique prefix of it, or its URL.", parser=matrix_address),
]
COLUMNS: tuple[Column[Matrix], ...] = (
    Column("id", lambda matrix: matrix["id"]),
    Column("name", lambda matrix: matrix["name"], is_name=True),
    Column("nnz", lambda matrix: matrix["nnz"], right=True),
    Column("state", lambda matrix: matrix["state"]),
    Column("rows", lambda matrix: matrix["n_rows"], right=True),
    Column("columns", lambda matrix: matrix["n_cols"], right=True),
    Column("added (UTC)", lambda matrix: utc_minute(matrix["created_at"])),
)
RECORDED = "recorded-"
"""Prefix of the ids of reference matrices."""


@app.command(
    cls=ReadOptionsCommand, epilog="Example: sparsight matrix add --generate stencil:points=27,nx=64,ny=64,nz=64"
)
def add(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="Matrix file to upload.", exists=True, dir_okay=False)] = None,
    generate: Annotated[
        str, typer.Option(metavar="GENERATOR:NAME=VALUE,…", help="Generate a matrix instead of uploading a file.")
    ] = "",
    name: Annotated[str, typer.Option(help="Name of the matrix on the server.")] = "",
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Upload a matrix file, or generate a matrix on the server, and print its id."""
    from gpu_engine.matrix_io.options import chosen, parse_options
    from sparsight.run import Task

    options = chosen(parse_options(ctx.obj or {}))
    if (file is None) == (not generate):
        raise InputError("Give exactly one of: a file, --generate GENERATOR:NAME=VALUE,….")
    if generate and options:
        raise InputError(f"Generated matrices have no file options. Remove --{' --'.join(options)}.")
    with connect(server) as client:
        task = Task(client, messages(), out())
        if file is not None:
            matrix = task.upload(file, name, **options)
        else:
            call = parse_call(generate)
            matrix = task.wait_until_read(client.generate(call.generator, name, **call.parameters))
    if name and " ".join(name.split()) != matrix["name"]:
        print_status(f"The server already has this matrix and keeps its name {quote(matrix['name'])}.")
    if as_json:
        print_json(matrix)
        return
    typer.echo(matrix["id"])
    print_status(f"{matrix['name']}: {matrix['n_rows']} × {matrix['n_cols']}, {matrix['nnz']} nonzeros.")


@app.command()
def ls(
    query: Annotated[str, typer.Argument(help="Part of the name, or a prefix of the id or fingerprint.")] = "",
    sort: Annotated[
        str, typer.Option(help="created_at, name, n_rows, nnz …; with a leading minus descending.")
    ] = "-created_at",
    recorded: Annotated[bool, typer.Option("--recorded", help="Include reference matrices.")] = False,
    limit: Limit = 50,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List matrices, newest first."""
    with connect(server) as client:
        message = "No matrices match. Add one with `sparsight matrix add`."
        print_list(client.matrices(query, sort, recorded), limit, COLUMNS, message, as_json)
        if not recorded:
            matches = client.matrices(query or RECORDED, recorded=True)
            if count := sum(matrix["state"] == "recorded" for matrix in matches):
                print_status(f"{count} reference matrices hidden. Use --recorded to list them.")


@app.command(epilog="Example: sparsight matrix show 9f86d081")
def show(matrix: MatrixId, server: Server = None, as_json: AsJson = False) -> None:
    """Show one matrix: shape, state, features, and predicted best kernels."""
    with connect(server, matrix) as client:
        document = find_matrix(client, matrix)
    if as_json:
        print_json(document)
        return
    facts: dict[str, Any] = {column.heading: column.cell(document) for column in COLUMNS}
    facts["fingerprint"] = document["fingerprint"]
    facts |= {name: value for name, value in document["features"].items() if name not in document}
    if document["error"]:
        facts["error"] = document["error"].get("detail", "")
    print_pairs(out(), {name: _cell_text(value) for name, value in facts.items()})
    if document["advice"]:
        _print_advice(document["advice"])
        near_best = len(document["near_best"])
        high = f"High confidence on the {document['advice_gpu']}: you can use the first kernel without measuring."
        confidence = high if document["confidence"] == "high" else "Low confidence: measure to find the fastest."
        kernels = "kernel" if near_best == 1 else "kernels"
        print_status(f"Predicted within 20 % of the fastest: {near_best} {kernels}. {confidence}")


@app.command()
def rm(
    matrix: MatrixId,
    with_results: Annotated[
        bool, typer.Option("--with-results", help="Also delete its jobs and their results.")
    ] = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Delete a matrix. If it has jobs, use --with-results."""
    with connect(server, matrix) as client:
        document = find_matrix(client, matrix)
        client.delete_matrix(document["id"], with_results)
    if as_json:
        print_json({"deleted": document["id"]})
    else:
        print_status(f"Deleted matrix {document['id']} ({document['name']}).")


def _print_advice(advice: Sequence[Advice]) -> None:
    """Print a table of kernels, best first, with the predicted time on each GPU model."""
    models = list(advice[0]["predicted_s"])
    columns: tuple[Column[Advice], ...] = (
        Column("kernel", lambda entry: entry["kernel"]),
        *(Column(model, partial(_predicted_time, model), right=True) for model in models),
        Column("reason", lambda entry: entry["reason"]),
    )
    console = out()
    print_status("\nPredicted best kernels, with predicted times of one SpMV (warm)", console, "italic")
    print_hidden_columns(print_table(console, columns, advice), "--json")


def _predicted_time(model: str, advice: Advice) -> str:
    return format_duration(advice["predicted_s"].get(model))


def _cell_text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
