"""Lock of a data directory: only one dispatcher at a time measures on its devices."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.private_folders import take

log = logging.getLogger(__name__)

FILE = "dispatcher.lock"
"""File with the owners that have held the lock, the last one at the end."""

OWNERS_KEPT = 20
"""Maximum number of stored owners; each may have left devices and jobs."""

LOCK_S = 1.0
"""Seconds between attempts to get the lock while another dispatcher holds it."""


@contextmanager
def sole_dispatcher(home: Path, owner: str, stop: threading.Event) -> Iterator[tuple[str, ...] | None]:
    """Hold the lock of this data directory, so that two dispatchers never measure on one device at a time.

    Yields the ended owners that held it before, or None if stopped while waiting. All of them are needed: the last one
    may have been killed before it took over devices of an earlier one.
    """
    with (home / FILE).open("a+") as lock:
        logged = False
        while not take(lock):
            if not logged:
                log.warning("another worker uses %s; waiting until it ends", home)
            logged = True
            if stop.wait(LOCK_S):
                yield None
                return
        lock.seek(0)
        dead = tuple(lock.read().split()[-OWNERS_KEPT:])
        lock.truncate(0)
        lock.write("\n".join((*dead, owner)))
        lock.flush()
        yield dead


def owners(home: Path) -> tuple[str, ...]:
    """Return the owners that have held the lock of this data directory; empty if it cannot be read."""
    try:
        return tuple((home / FILE).read_text().split())
    except OSError:
        return ()
