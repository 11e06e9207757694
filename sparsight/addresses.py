"""Addresses of jobs and matrices on the command line: an id, the first characters of an id, or a URL."""

import re
from dataclasses import dataclass

from gpu_engine.errors import InputError, quote

URL = re.compile(r"(https?://[^/]+)/(?:api/v1/)?(\w+)/([^/?#]+)/?(?:[?#].*)?")


@dataclass(frozen=True, slots=True)
class Address:
    """Job or matrix as the user names it.

    id      the complete id or its first characters
    server  the server of a URL; empty if only an id is given
    """

    id: str
    server: str = ""


def job_address(text: str) -> Address:
    """Return the address of a job; raise InputError for the URL of something else."""
    return _address(text, "jobs")


def matrix_address(text: str) -> Address:
    """Return the address of a matrix; raise InputError for the URL of something else."""
    return _address(text, "matrices")


def server_of(server: str | None, *addresses: Address) -> str:
    """Return the server of the option or of the URLs, or an empty string; raise InputError for different servers."""
    servers = list(dict.fromkeys(filter(None, (server, *(address.server for address in addresses)))))
    if len({with_scheme(name) for name in servers}) > 1:
        raise InputError(f"{' and '.join(servers)} are different servers. Use one server per command.")
    return servers[0] if servers else ""


def with_scheme(server: str) -> str:
    """Return the URL of a server; http:// is added if the scheme is missing."""
    return (server if "://" in server else f"http://{server}").rstrip("/")


def _address(text: str, kind: str) -> Address:
    if "://" not in text:
        return Address(text)
    match = URL.fullmatch(text)
    if match is None or match[2] != kind:
        raise InputError(f"Not an address of the {kind} of a server: {quote(text)}. Expected http://…/{kind}/ID.")
    return Address(match[3], match[1])
