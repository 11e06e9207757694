"""Lookup of jobs and matrices by an id or by its first characters."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from gpu_engine.errors import InputError, NotFoundError, quote
from sparsight.addresses import Address

if TYPE_CHECKING:
    from server.documents import Job, Matrix
    from sparsight.client import Client

D = TypeVar("D", bound="Job | Matrix")

PREFIX_MIN = 4
"""Minimum number of characters that identify a job or a matrix."""


def find_job(client: "Client", address: Address) -> "Job":
    """Return the job of an address; raise NotFoundError, or InputError if several ids match."""
    return _find(client.job, client.jobs, address.id)


def find_matrix(client: "Client", address: Address) -> "Matrix":
    """Return the matrix of an address; raise NotFoundError, or InputError if several ids match."""
    return _find(client.matrix, lambda: client.matrices(address.id, recorded=True), address.id)


def _find(get: Callable[[str], D], everything: Callable[[], Iterable[D]], start: str) -> D:
    if not start:
        raise InputError("The id is empty. Give an id or its first characters.")
    try:
        return get(start)
    except NotFoundError:
        if len(start) < PREFIX_MIN:
            raise
        matches = [entry for entry in everything() if entry["id"].startswith(start)]
        if not matches:
            raise
    if len(matches) > 1:
        raise InputError(f"{quote(start)} matches {len(matches)} ids. Type more characters.")
    return matches[0]
