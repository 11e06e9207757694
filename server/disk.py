"""Disk errors: detect from errors of the system, SQLite, or Postgres that a disk is full."""

import errno
import sqlite3

FULL = (errno.ENOSPC, errno.EDQUOT)
"""Error numbers of a full disk and of an exhausted disk quota."""

POSTGRES_FULL = "53100"


def is_full(error: BaseException) -> bool:
    """Return whether a write failed because a disk is full."""
    if isinstance(error, OSError):
        return error.errno in FULL
    # SQLAlchemy's errors wrap those of the driver.
    cause = getattr(error, "orig", None)
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return getattr(cause, "sqlstate", None) == POSTGRES_FULL
