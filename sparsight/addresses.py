"""Address: how the command line names a job or a matrix: by its id, by how the id begins, or by its URL."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gpu_engine.errors import InputError, NotFoundError, quote

if TYPE_CHECKING:
    from server.documents import Job, Matrix
    from sparsight.client import Client

D = TypeVar("D", bound="Job | Matrix")

URL = re.compile(r"(https?://[^/]+)/(?:api/v1/)?(\w+)/([^/?#]+)/?(?:[?#].*)?")
PREFIX_LEAST = 4
"""Fewest characters of an id that stand for it."""


@dataclass(frozen=True, slots=True)
class Address:
    """An id, whole or its beginning, and the server that a URL names."""

    id: str
    server: str = ""


def job_address(text: str) -> Address:
    """The address of a job; raises InputError."""
    return _address(text, "jobs")


def matrix_address(text: str) -> Address:
    """The address of a matrix; raises InputError."""
    return _address(text, "matrices")


def server_of(server: str | None, *addresses: Address) -> str:
    """The one server that is named, empty for none; raises InputError for two."""
    named = list(dict.fromkeys(filter(None, (server, *(address.server for address in addresses)))))
    if len({with_scheme(name) for name in named}) > 1:
        raise InputError(f"{' and '.join(named)} are different servers; name one.")
    return named[0] if named else ""


def with_scheme(server: str) -> str:
    """The URL of a server of which the scheme may be left out."""
    return (server if "://" in server else f"http://{server}").rstrip("/")


def find_job(client: "Client", address: Address) -> "Job":
    """The job of an address; raises NotFoundError, and InputError where several ids begin so."""
    return _find(client.job, client.jobs, address.id)


def find_matrix(client: "Client", address: Address) -> "Matrix":
    """The matrix of an address; raises NotFoundError, and InputError where several ids begin so."""
    return _find(client.matrix, lambda: client.matrices(address.id, recorded=True), address.id)


def _address(text: str, kind: str) -> Address:
    if "://" not in text:
        return Address(text)
    match = URL.fullmatch(text)
    if match is None or match[2] != kind:
        raise InputError(f"{quote(text)} is not the address of one of the {kind}; expected http://…/{kind}/ID.")
    return Address(match[3], match[1])


def _find(get: Callable[[str], D], everything: Callable[[], Iterable[D]], start: str) -> D:
    if not start:
        raise InputError("The id is empty.")
    try:
        return get(start)
    except NotFoundError:
        if len(start) < PREFIX_LEAST:
            raise
        found = [entry for entry in everything() if entry["id"].startswith(start)]
        if not found:
            raise
    if len(found) > 1:
        raise InputError(f"{len(found)} ids begin with {quote(start)}; give more of it.")
    return found[0]
