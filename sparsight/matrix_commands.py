"""`sparsight matrix …`: the catalogue of a running server."""

import json
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from gpu_engine.errors import InputError, ParameterError, quote
from server.documents import Matrix
from sparsight.read_options import ReadOptionsCommand
from sparsight.terminal import AsJson, Server, connect, messages, out, print_json, print_table, say

app = typer.Typer(help="Matrices of a running server.", no_args_is_help=True)
MatrixId = Annotated[str, typer.Argument(metavar="MATRIX", help="Id of the matrix; `sparsight matrix ls` lists them.")]


@app.command(
    cls=ReadOptionsCommand, epilog="Example: sparsight matrix add --generate stencil:points=27,nx=64,ny=64,nz=64"
)
def add(
    ctx: typer.Context,
    file: Annotated[Path | None, typer.Argument(help="Matrix file.", exists=True, dir_okay=False)] = None,
    generate: Annotated[str, typer.Option(metavar="FAMILY:NAME=VALUE,…", help="Generate one instead.")] = "",
    name: Annotated[str, typer.Option(help="What to call it.")] = "",
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Upload a matrix file, or have the server generate a matrix; prints its id."""
    from gpu_engine.matrix_io.options import chosen, parse_options
    from sparsight.run import Task

    options = chosen(parse_options(ctx.obj or {}))
    if (file is None) == (not generate):
        raise InputError("Give either a file or --generate FAMILY:NAME=VALUE,….")
    if generate and options:
        raise InputError(f"A generated matrix is no edge list; leave --{' --'.join(options)} out.")
    with connect(server) as client:
        task = Task(client, messages(), out())
        if file is not None:
            matrix = task.upload(file, name, **options)
        else:
            family, parameters = parse_call(generate)
            matrix = task.settle(client.generate(family, name, **parameters))
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
    limit: Annotated[int, typer.Option(help="At most so many.", min=1)] = 50,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """List matrices, the newest first."""
    with connect(server) as client:
        found = list(islice(client.matrices(query, sort), limit))
    if as_json:
        print_json(found)
        return
    print_table([_row(matrix) for matrix in found], "There is no such matrix. Add one with `sparsight matrix add`.")


@app.command()
def show(matrix: MatrixId, server: Server = None, as_json: AsJson = False) -> None:
    """Show one matrix: shape, state, features."""
    with connect(server) as client:
        found = client.matrix(matrix)
    if as_json:
        print_json(found)
        return
    facts: dict[str, Any] = {**_row(found), "fingerprint": found["fingerprint"], **found["features"]}
    if found["error"]:
        facts["error"] = found["error"].get("detail", "")
    print_table([{"what": name, "value": _shown(value)} for name, value in facts.items()], "")


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
    with connect(server) as client:
        client.delete_matrix(matrix, with_results)
    if as_json:
        print_json({"deleted": matrix})
    else:
        say(f"Deleted {matrix}.")


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """Family and parameters of `family:name=value,…`: numbers, true and false as such; raises ParameterError."""
    family, _, rest = text.partition(":")
    parameters: dict[str, Any] = {}
    for part in filter(None, rest.split(",")):
        name, equals, value = part.partition("=")
        if not name or not equals or name in parameters:
            raise ParameterError(f"--generate has {quote(part)}; expected FAMILY:NAME=VALUE,… with each name once.")
        parameters[name] = _value(value)
    return family, parameters


def _value(text: str) -> Any:
    """A JSON value where the text is one, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text


def _row(matrix: Matrix) -> dict[str, Any]:
    return {name: matrix.get(name) for name in ("id", "name", "state", "n_rows", "n_cols", "nnz")}


def _shown(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else "" if value is None else str(value)
