"""Tests of the list of listening sockets, and of the difference between allowed and refused attempts."""

import os
import socket
from pathlib import Path

import psutil

from tests.users import needs_root
from tools.reach.access_attempts import read
from tools.reach.listeners import listeners
from tools.reach.other_users import NOBODY, become_nobody, isolated


def test_every_socket_of_a_process_is_found(tmp_path: Path) -> None:
    own = psutil.Process()
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        unix.bind("\0reach-test")
        unix.listen()
        found = {(entry.kind, entry.place) for entry in listeners([own])}
        assert ("tcp", f"127.0.0.1:{tcp.getsockname()[1]}") in found
    assert ("unix", "@reach-test") in found


@needs_root
def test_what_another_user_may_not_is_refused_and_what_it_may_is_told() -> None:
    assert isolated(become_nobody, lambda: str(os.getuid())) == (False, str(NOBODY))
    assert isolated(become_nobody, lambda: read(Path("/proc/1/environ")))[0]
    assert isolated(become_nobody, lambda: str(1 // 0)) == (
        False,
        "the attempt broke off: ZeroDivisionError('integer division or modulo by zero')",
    )
