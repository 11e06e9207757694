"""`sparsight matrix …`: the catalogue of a running server."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from gpu_engine.errors import InputError, quote
from server.documents import Advice, Matrix
from sparsight.addresses import Address, matrix_address
from sparsight.lists import Limit, moment, print_list
from sparsight.lookups import find_matrix
from sparsight.read_options import ReadOptionsCommand
from sparsight.report import duration
from sparsight.sources import parse_call
from sparsight.terminal import (
    AsJson,
    Column,
    Server,
    connect,
    messages,
    out,
    print_json,
    print_pairs,
    print_table,
    say,
    say_left_out,
)

app = typer.Typer(help="Matrices of a running server.", no_args_is_help=True)
MatrixId = Annotated[
    Address,
    typer.Argument(metavar="MATRIX", help="Id of the matrix, how it begins, or its URL.", parser=matrix_address),
]
COLUMNS: tuple[Column[Matrix], ...] = (
    Column("id", lambda matrix: matrix["id"]),
    Column("name", lambda matrix: matrix["name"], is_name=True),
    Column("nnz", lambda matrix: matrix["nnz"], right=True),
    Column("state", lambda matrix: matrix["state"]),
    Column("rows", lambda matrix: matrix["n_rows"], right=True),
    Column("columns", lambda matrix: matrix["n_cols"], right=True),
    Column("added (UTC)", lambda matrix: moment(matrix["created_at"])),
)
RECORDED = "recorded-"
"""How the ids of matrices begin that came with recorded results."""


@app.command(
    cls=ReadOptionsCommand, epilog="Example: sparsight matrix add --generate stencil:points=27,nx=64,ny=64,nz=64"
)
def add(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="Matrix file.", exists=True, dir_okay=False)] = None,
    generate: Annotated[str, typer.Option(metavar="GENERATOR:NAME=VALUE,…", help="Generate one instead.")] = "",
    name: Annotated[str, typer.Option(help="What to call it.")] = "",
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Upload a matrix file, or have the server generate a matrix; prints its id."""
    from gpu_engine.matrix_io.options import chosen, parse_options
    from sparsight.run import Task

    options = chosen(parse_options(ctx.obj or {}))
    if (file is None) == (not generate):
        raise InputError("Give either a file or --generate GENERATOR:NAME=VALUE,….")
    if generate and options:
        raise InputError(f"A generated matrix leaves nothing open; leave --{' --'.join(options)} out.")
    with connect(server) as client:
        task = Task(client, messages(), out())
        if file is not None:
            matrix = task.upload(file, name, **options)
        else:
            call = parse_call(generate)
            matrix = task.settle(client.generate(call.generator, name, **call.parameters))
    if name and " ".join(name.split()) != matrix["name"]:
        say(f"The server has this matrix already, as {quote(matrix['name'])}, and keeps that name.")
    if as_json:
        print_json(matrix)
        return
    typer.echo(matrix["id"])
    say(f"{matrix['name']}: {matrix['n_rows']} × {matrix['n_cols']}, {matrix['nnz']} nonzeros.")


@app.command()
def ls(
    query: Annotated[str, typer.Argument(help="Part of the name, or how id or fingerprint begin.")] = "",
    sort: Annotated[
        str, typer.Option(help="created_at, name, n_rows, nnz …; a minus before it: descending.")
    ] = "-created_at",
    recorded: Annotated[bool, typer.Option("--recorded", help="Those that came with recorded results too.")] = False,
    limit: Limit = 50,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List matrices, the newest first."""
    with connect(server) as client:
        none = "There is no such matrix. Add one with `sparsight matrix add`."
        print_list(client.matrices(query, sort, recorded), limit, COLUMNS, none, as_json)
        if not recorded:
            others = client.matrices(query or RECORDED, recorded=True)
            if count := sum(matrix["state"] == "recorded" for matrix in others):
                say(f"Not listed: {count} that came with recorded results; --recorded lists them too.")


@app.command(epilog="Example: sparsight matrix show 9f86d081")
def show(matrix: MatrixId, server: Server = None, as_json: AsJson = False) -> None:
    """Show one matrix: shape, state, features, and the kernels to try first."""
    with connect(server, matrix) as client:
        found = find_matrix(client, matrix)
    if as_json:
        print_json(found)
        return
    facts: dict[str, Any] = {column.heading: column.cell(found) for column in COLUMNS}
    facts["fingerprint"] = found["fingerprint"]
    facts |= {name: value for name, value in found["features"].items() if name not in found}
    if found["error"]:
        facts["error"] = found["error"].get("detail", "")
    print_pairs(out(), {name: _shown(value) for name, value in facts.items()})
    if found["advice"]:
        _print_advice(found["advice"])
        close = len(found["near_best"])
        taken = f"on the {found['advice_gpu']} the first can be taken unmeasured"
        said = taken if found["confidence"] == "high" else "measure which is fastest"
        say(f"Predicted within 20 % of the first, itself among them: {close}; {said}.")


@app.command()
def rm(
    matrix: MatrixId,
    with_results: Annotated[
        bool, typer.Option("--with-results", help="Delete its jobs and their results too.")
    ] = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Delete a matrix; one with jobs only with their results."""
    with connect(server, matrix) as client:
        found = find_matrix(client, matrix)
        client.delete_matrix(found["id"], with_results)
    if as_json:
        print_json({"deleted": found["id"]})
    else:
        say(f"Deleted {found['id']}: {found['name']}.")


def _print_advice(advice: Sequence[Advice]) -> None:
    """A table of kernels, the best first, with the time that is predicted on each model of GPU."""
    models = list(advice[0]["predicted_s"])
    columns: tuple[Column[Advice], ...] = (
        Column("kernel", lambda entry: entry["kernel"]),
        *(Column(model, partial(_predicted, model), right=True) for model in models),
        Column("why", lambda entry: entry["reason"]),
    )
    console = out()
    say("\nKernels to try first, with predicted times of a warm product", console, "italic")
    say_left_out(print_table(console, columns, advice), "--json")


def _predicted(model: str, advice: Advice) -> str:
    return duration(advice["predicted_s"].get(model))


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
