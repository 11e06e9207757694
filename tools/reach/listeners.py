"""Sockets on which processes listen."""

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

import psutil

LISTENS = 0x10000
"""Flag in /proc/net/unix of a listening socket: __SO_ACCEPTCON."""


@dataclass(frozen=True)
class Listener:
    """A socket on which a process of the service listens; kind is tcp, udp, or unix."""

    kind: str
    place: str
    process: str

    @property
    def port(self) -> int:
        """Return the port of a tcp or udp socket."""
        return int(self.place.rpartition(":")[2])


def listeners(family: list[psutil.Process]) -> list[Listener]:
    """Return every socket on which these processes listen, or receive datagrams."""
    owners = {process.pid: f"{process.pid} {process.name()}" for process in family}
    sockets = [
        Listener(
            "tcp" if entry.type == socket.SOCK_STREAM else "udp",
            f"{entry.laddr.ip}:{entry.laddr.port}",
            owners[entry.pid],
        )
        for entry in psutil.net_connections("inet")
        if entry.pid in owners
        and entry.laddr
        and (entry.status == psutil.CONN_LISTEN or (entry.type == socket.SOCK_DGRAM and not entry.raddr))
    ]
    rows = (line.split() for line in Path("/proc/net/unix").read_text().splitlines()[1:])
    places = {row[6]: row[7] for row in rows if len(row) > 7 and int(row[3], 16) & LISTENS}
    for pid, owner in owners.items():
        for link in Path(f"/proc/{pid}/fd").iterdir():
            inode = re.fullmatch(r"socket:\[(\d+)\]", _target(link))
            if inode and inode[1] in places:
                sockets.append(Listener("unix", places[inode[1]], owner))
    return sorted(set(sockets), key=lambda entry: (entry.kind, entry.place))


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""
