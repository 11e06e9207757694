"""`sparsight matrix fetch`, `index`, `collection …`: matrices of the SuiteSparse Matrix Collection by name."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpu_engine.errors import InputError, SparsightError, UnavailableError
from gpu_engine.text import units
from server.documents import CollectionEntry, CollectionIndex, Matrix
from sparsight.exits import exit_of
from sparsight.frozen import FrozenCollection, read_frozen
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

if TYPE_CHECKING:
    from sparsight.client import Client

app = typer.Typer(help="Lists of matrices of the collection, frozen by their hash.", no_args_is_help=True)
Where = Annotated[
    str,
    typer.Option(metavar="CONDITION", help="A condition: 'nnz > 1e6 and spd', on rows, cols, nnz, spd, symmetric …"),
]
COLUMNS: tuple[Column[CollectionEntry], ...] = (
    Column("name", lambda entry: entry["id"]),
    Column("rows", lambda entry: entry["rows"], right=True),
    Column("columns", lambda entry: entry["cols"], right=True),
    Column("nnz", lambda entry: entry["nnz"], right=True),
    Column(
        "about", lambda entry: None if entry["about_bytes"] is None else units.size(entry["about_bytes"]), right=True
    ),
    Column("kind", lambda entry: entry["kind"]),
)


def fetch(
    names: Annotated[list[str] | None, typer.Argument(metavar="GROUP/NAME", help="Such as HB/bcsstk16.")] = None,
    where: Where = "",
    collection: Annotated[
        Path | None, typer.Option(help="File of `sparsight matrix collection save`.", dir_okay=False)
    ] = None,
    limit: Annotated[int | None, typer.Option(help="The smallest so many of those found.", min=1)] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Fetch all that is found.")] = False,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Have the server fetch matrices of the SuiteSparse Matrix Collection; prints their ids."""
    if sum([bool(names), bool(where), collection is not None]) != 1:
        raise InputError("Give names, --where CONDITION or --collection FILE, and one of these alone.")
    with connect(server) as client:
        wanted = list(names or ()) or (list(read_frozen(collection).matrices) if collection else None)
        if wanted is None:
            found = sorted_by_size(client, where)
            if len(found) > 1 and not yes and limit is None:
                _print_found(found, as_json)
                return
            wanted = [entry["id"] for entry in found]
        _fetch_all(client, wanted[:limit], as_json)


def index(server: Server = None, as_json: AsJson = False) -> None:
    """Have the server fetch the list of all matrices of the collection, and say what it knows."""
    with connect(server) as client:
        known = client.fetch_collection_index()
    if as_json:
        print_json(known)
        return
    print_pairs(out(), {name: "" if value is None else str(value) for name, value in known.items()})


@app.command(epilog="Example: sparsight matrix collection save large-spd --where 'nnz > 1e7 and spd'")
def save(
    name: Annotated[str, typer.Argument(help="What to call it: the file is NAME.json, in this folder.")],
    where: Where,
    server: Server = None,
    as_json: AsJson = False,
) -> None:
    """Write the names of the matrices that a condition finds into a file, with their hash."""
    with connect(server) as client:
        found = sorted_by_size(client, where)
        known = client.collection_index()
    frozen = FrozenCollection.of(name, where, known["sha256"] or "", sorted(entry["id"] for entry in found))
    path = Path(f"{name}.json")
    frozen.write(path)
    if as_json:
        print_json({"file": str(path), "count": len(frozen.matrices), "sha256": frozen.sha256})
        return
    typer.echo(str(path))
    say(f"{len(frozen.matrices)} matrices, sha256 {frozen.sha256}.")


def sorted_by_size(client: "Client", where: str) -> list[CollectionEntry]:
    """What a condition finds, the fewest nonzeros first; the first condition of a server has the list fetched."""
    known = client.collection_index()
    if known["is_on"] and not known["is_complete"]:
        try:
            client.fetch_collection_index()
        except UnavailableError as error:
            _say_incomplete(known, error)
    found = list(client.collection(where=where, sort="nnz"))
    if not found:
        raise InputError("No matrix of the collection is like this, as far as is known there.")
    return found


def _say_incomplete(known: CollectionIndex, error: SparsightError) -> None:
    say(f"Only {known['count']} matrices that come with the server are looked through: {error.message}")


def _print_found(found: Sequence[CollectionEntry], as_json: bool) -> None:
    """What would be fetched; nothing is."""
    if as_json:
        print_json(list(found))
    else:
        say_left_out(print_table(out(), COLUMNS, found), "--json")
    sizes = [entry["about_bytes"] for entry in found]
    unknown = f", and {sizes.count(None)} of unknown size" if None in sizes else ""
    total = units.size(sum(filter(None, sizes)))
    say(
        f"{len(found)} matrices, about {total} to fetch{unknown}. Give --yes to fetch them, or --limit N for the first."
    )


def _fetch_all(client: "Client", names: Sequence[str], as_json: bool) -> None:
    """Fetches one after the other, and prints what became of each; ends with the code of the first error."""
    from sparsight.run import Task

    task = Task(client, messages(), out())
    ready: list[Matrix] = []
    failed: list[SparsightError] = []
    for name in names:
        try:
            matrix = task.settle(client.fetch(name))
        except SparsightError as error:
            if len(names) == 1:
                raise
            failed.append(error)
            say(f"{name}: {error.message}")
            continue
        ready.append(matrix)
        if not as_json:
            typer.echo(matrix["id"])
            say(f"{name}: {matrix['n_rows']} × {matrix['n_cols']}, {matrix['nnz']} nonzeros.")
    if as_json:
        print_json(ready[0] if len(names) == 1 else ready)
    if failed:
        raise typer.Exit(exit_of(failed[0]))
