"""Looking up jobs and matrices by their ids, or by how these begin."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from gpu_engine.errors import InputError, NotFoundError, quote
from sparsight.addresses import Address

if TYPE_CHECKING:
    from server.documents import Job, Matrix
    from sparsight.client import Client

D = TypeVar("D", bound="Job | Matrix")

PREFIX_LEAST = 4
"""Fewest characters of an id that stand for it."""


def find_job(client: "Client", address: Address) -> "Job":
    """The job of an address; raises NotFoundError, and InputError where several ids begin so."""
    return _find(client.job, client.jobs, address.id)


def find_matrix(client: "Client", address: Address) -> "Matrix":
    """The matrix of an address; raises NotFoundError, and InputError where several ids begin so."""
    return _find(client.matrix, lambda: client.matrices(address.id, recorded=True), address.id)


def _find(get: Callable[[str], D], everything: Callable[[], Iterable[D]], start: str) -> D:
    if not start:
        raise InputError("The id is empty.")
    try:
        return get(start)
    except NotFoundError:
        if len(start) < PREFIX_LEAST:
            raise
        matches = [entry for entry in everything() if entry["id"].startswith(start)]
        if not matches:
            raise
    if len(matches) > 1:
        raise InputError(f"{len(matches)} ids begin with {quote(start)}; give more of it.")
    return matches[0]
