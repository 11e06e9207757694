"""Commands `sparsight matrix fetch`, `index`, and `collection …`: downloads from the SuiteSparse Matrix Collection."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpu_engine.errors import InputError, SparsightError, UnavailableError
from gpu_engine.text import units
from server.documents import CollectionEntry, CollectionIndex, Matrix
from sparsight.collection_file import FrozenCollection, read_collection
from sparsight.exit_codes import exit_of
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

if TYPE_CHECKING:
    from sparsight.client import Client

app = typer.Typer(help="Lists of matrix names in files, with a hash.", no_args_is_help=True)
Where = Annotated[
    str,
    typer.Option(metavar="CONDITION", help="Condition on rows, cols, nnz, spd, symmetric …: 'nnz > 1e6 and spd'."),
]
COLUMNS: tuple[Column[CollectionEntry], ...] = (
    Column("name", lambda entry: entry["id"]),
    Column("rows", lambda entry: entry["rows"], right=True),
    Column("columns", lambda entry: entry["cols"], right=True),
    Column("nnz", lambda entry: entry["nnz"], right=True),
    Column(
        "size", lambda entry: None if entry["about_bytes"] is None else units.size(entry["about_bytes"]), right=True
    ),
    Column("kind", lambda entry: entry["kind"]),
)


def fetch(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="GROUP/NAME", help="Matrix names such as HB/bcsstk16.")
    ] = None,
    where: Where = "",
    collection: Annotated[
        Path | None, typer.Option(help="File of `sparsight matrix collection save`.", dir_okay=False)
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Fetch only the N smallest matches.", min=1)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Fetch all matches without asking.")] = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Download matrices of the SuiteSparse Matrix Collection to the server, and print their ids."""
    if sum([bool(names), bool(where), collection is not None]) != 1:
        raise InputError("Give exactly one of: matrix names, --where CONDITION, --collection FILE.")
    with connect(server) as client:
        selection = list(names or ()) or (list(read_collection(collection).matrices) if collection else None)
        if selection is None:
            matches = sorted_by_size(client, where)
            if len(matches) > 1 and not yes and limit is None:
                _print_matches(matches, as_json)
                return
            selection = [entry["id"] for entry in matches]
        _fetch_all(client, selection[:limit], as_json)


def index(server: Server = None, as_json: AsJson = False) -> None:
    """Download the list of all matrices of the collection to the server."""
    with connect(server) as client:
        status = client.fetch_collection_index()
    if as_json:
        print_json(status)
        return
    print_pairs(out(), {name: "" if value is None else str(value) for name, value in status.items()})


@app.command(epilog="Example: sparsight matrix collection save large-spd --where 'nnz > 1e7 and spd'")
def save(
    name: Annotated[str, typer.Argument(help="Name of the list; the file is NAME.json in this folder.")],
    where: Where,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Write the names of the matrices that match a condition to a file, with their hash."""
    with connect(server) as client:
        matches = sorted_by_size(client, where)
        index_sha256 = client.collection_index()["sha256"] or ""
    frozen = FrozenCollection.of(name, where, index_sha256, sorted(entry["id"] for entry in matches))
    path = Path(f"{name}.json")
    frozen.write(path)
    if as_json:
        print_json({"file": str(path), "count": len(frozen.matrices), "sha256": frozen.sha256})
        return
    typer.echo(str(path))
    print_status(f"{len(frozen.matrices)} matrices, sha256 {frozen.sha256}.")


def sorted_by_size(client: "Client", where: str) -> list[CollectionEntry]:
    """Return the matrices that match a condition, smallest first; download the complete list if the server lacks it.

    Raises InputError if none matches.
    """
    status = client.collection_index()
    if status["is_on"] and not status["is_complete"]:
        try:
            client.fetch_collection_index()
        except UnavailableError as error:
            _print_incomplete(status, error)
    matches = list(client.collection(where=where, sort="nnz"))
    if not matches:
        raise InputError("No known matrix in the collection matches.")
    return matches


def _print_incomplete(status: CollectionIndex, error: SparsightError) -> None:
    print_status(f"Searching only the {status['count']} matrices that the server already knows. {error.message}")


def _print_matches(matches: Sequence[CollectionEntry], as_json: bool) -> None:
    """Print the matches and their total size; download nothing."""
    if as_json:
        print_json(list(matches))
    else:
        print_hidden_columns(print_table(out(), COLUMNS, matches), "--json")
    sizes = [entry["about_bytes"] for entry in matches]
    unknown = f", plus {sizes.count(None)} of unknown size" if None in sizes else ""
    total = units.size(sum(filter(None, sizes)))
    print_status(
        f"{len(matches)} matches, about {total}{unknown}. "
        "Use --yes to fetch all, or --limit N for the N smallest matches."
    )


def _fetch_all(client: "Client", names: Sequence[str], as_json: bool) -> None:
    """Fetch the matrices one after the other and print the outcome of each; exit with the code of the first error."""
    from sparsight.run import Task

    task = Task(client, messages(), out())
    ready: list[Matrix] = []
    failed: list[SparsightError] = []
    for name in names:
        try:
            matrix = task.wait_until_read(client.fetch(name))
        except SparsightError as error:
            if len(names) == 1:
                raise
            failed.append(error)
            print_status(f"{name}: {error.message}")
            continue
        ready.append(matrix)
        if not as_json:
            typer.echo(matrix["id"])
            print_status(f"{name}: {matrix['n_rows']} × {matrix['n_cols']}, {matrix['nnz']} nonzeros.")
    if as_json:
        print_json(ready[0] if len(names) == 1 else ready)
    if failed:
        raise typer.Exit(exit_of(failed[0]))
