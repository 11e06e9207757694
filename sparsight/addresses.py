"""Address: how the command line names a job or a matrix: by its id, by how the id begins, or by its URL."""

import re
from dataclasses import dataclass

from gpu_engine.errors import InputError, quote

URL = re.compile(r"(https?://[^/]+)/(?:api/v1/)?(\w+)/([^/?#]+)/?(?:[?#].*)?")


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


def _address(text: str, kind: str) -> Address:
    if "://" not in text:
        return Address(text)
    match = URL.fullmatch(text)
    if match is None or match[2] != kind:
        raise InputError(f"{quote(text)} is not the address of one of the {kind}; expected http://…/{kind}/ID.")
    return Address(match[3], match[1])
