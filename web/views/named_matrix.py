"""A matrix by its name: the matrix itself, those with similar names, or a download from the collection."""

from collections import Counter

from sqlalchemy.orm import Session

from gpu_engine.text import units
from server import catalogue
from server.collection.entries import ID
from server.collection.fetcher import Fetcher
from server.models import MatrixRow, MatrixState
from web.components import Link
from web.home_contexts import NotHere

SIMILAR = 5
SEARCHED = 50
STATES = (MatrixState.READY, MatrixState.RECORDED, MatrixState.INGESTING, MatrixState.FAILED)
"""States of matrices with the same name, the preferred one first."""


def find(session: Session, name: str) -> MatrixRow | None:
    """Return the matrix of that name: one with values if there is one, the newest of several."""
    last = name.rpartition("/")[2]
    names = {text.casefold() for text in (name, last, last.partition(".")[0])}
    rows = catalogue.list_matrices(session, last.partition(".")[0], limit=SEARCHED, recorded=True).items
    equal = (row for row in rows if row.id == name or row.name.casefold() in names)
    return min(equal, key=lambda row: STATES.index(MatrixState(row.state)), default=None)


def not_here(session: Session, fetcher: Fetcher, name: str, query: str) -> NotHere:
    """Return what to do about a name without a matrix; query: that of the addresses of similar matrices."""
    rows = catalogue.list_matrices(session, name.rpartition("/")[2], limit=SIMILAR, recorded=True).items
    names = Counter(row.name for row in rows)
    similar = tuple(Link(_distinct(row, names), f"/matrices/{row.id}{query}") for row in rows)
    if not fetcher.is_on:
        return NotHere(name, similar, "", "")
    folded = name.casefold()
    entries = fetcher.shelf.index().entries.values()
    entry = next((each for each in entries if folded in (each.id.casefold(), each.name.casefold())), None)
    size = units.size(entry.about_bytes) if entry and entry.about_bytes else ""
    return NotHere(name, similar, entry.id if entry else name if ID.fullmatch(name) else "", size)


def _distinct(row: MatrixRow, names: Counter[str]) -> str:
    """Return the name of a matrix, with its size if another one has the same name."""
    return f"{row.name}, {units.count(row.nnz)} nonzeros" if names[row.name] > 1 and row.nnz else row.name
