"""The lock of a home: one dispatcher at a time measures on its devices."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from server.folders import take

log = logging.getLogger(__name__)

FILE = "dispatcher.lock"
"""Holds the owners that have held the lock, the last one at the end."""

OWNERS_KEPT = 20
"""Of those that held the lock of a home; each is one that may have left devices and jobs."""

LOCK_S = 1.0
"""How often a dispatcher whose home another one serves looks whether that has ended."""


@contextmanager
def sole_dispatcher(home: Path, owner: str, stop: threading.Event) -> Iterator[tuple[str, ...] | None]:
    """Holds the lock of this home, so that two dispatchers never measure on one device at a time.

    Yields the owners that held it before and are now dead, once another one that lives has ended; None when told to
    stop before that. The last one alone would not do: killed before it could offer, it left what an earlier one had.
    """
    with (home / FILE).open("a+") as lock:
        logged = False
        while not take(lock):
            if not logged:
                log.warning("another worker serves %s; this one waits until it ends", home)
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
    """Return the owners that have held the lock of this home; none where it cannot be read."""
    try:
        return tuple((home / FILE).read_text().split())
    except OSError:
        return ()
