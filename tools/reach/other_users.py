"""Another user account and another address, each entered by a child of this process."""

import ctypes
import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager

NOBODY = 65534
HERE, THERE = "10.203.113.1", "10.203.113.2"
NAMESPACE = "sparsight-reach"
LINK = "ssreach"
CLONE_NEWNET = 0x40000000


def isolated(become: Callable[[], None], attempt: Callable[[], str]) -> tuple[bool, str]:
    """Run the attempt in a child that became another user; return whether it was refused, and the answer.

    An attempt raises OSError if it is refused, and otherwise returns the answer. The child executes no new program,
    because another user may not even read our Python.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if not pid:
        answer: tuple[bool, str] = (False, "the attempt broke off")
        try:
            become()
            answer = (False, attempt())
        except OSError as error:
            answer = (True, str(error.strerror or error))
        except BaseException as error:
            answer = (False, f"the attempt broke off: {error!r}")
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        output = pipe.read()
    os.waitpid(pid, 0)
    refused, text = json.loads(output) if output else (False, "the attempt broke off")
    return bool(refused), str(text)


def become_nobody() -> None:
    """Switch to the account of another user, without our groups."""
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def enter_namespace() -> None:
    """Switch to the network namespace with another address."""
    with open(f"/run/netns/{NAMESPACE}") as place:
        if ctypes.CDLL(None, use_errno=True).setns(place.fileno(), CLONE_NEWNET):
            raise RuntimeError(os.strerror(ctypes.get_errno()))


@contextmanager
def namespace() -> Iterator[bool]:
    """Create a network namespace linked to this one by a veth pair; yield False if this machine allows none."""
    commands = (
        f"ip netns add {NAMESPACE}",
        f"ip link add {LINK}0 type veth peer name {LINK}1",
        f"ip link set {LINK}1 netns {NAMESPACE}",
        f"ip addr add {HERE}/30 dev {LINK}0",
        f"ip link set {LINK}0 up",
        f"ip -n {NAMESPACE} addr add {THERE}/30 dev {LINK}1",
        f"ip -n {NAMESPACE} link set {LINK}1 up",
    )
    try:
        yield all(subprocess.run(words.split(), capture_output=True, check=False).returncode == 0 for words in commands)
    finally:
        subprocess.run(["ip", "netns", "del", NAMESPACE], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", f"{LINK}0"], capture_output=True, check=False)
