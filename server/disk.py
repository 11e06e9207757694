"""Disk: whether an error says that there is no room, in the words of the system, of SQLite or of Postgres."""

import errno
import sqlite3

FULL = (errno.ENOSPC, errno.EDQUOT)
"""No room on the disk, or none of a quota of it."""

POSTGRES_FULL = "53100"


def is_full(error: BaseException) -> bool:
    """Return whether something was not written because a disk is full."""
    if isinstance(error, OSError):
        return error.errno in FULL
    # SQLAlchemy's errors have that of the driver.
    cause = getattr(error, "orig", None)
    if isinstance(cause, sqlite3.Error):
        return getattr(cause, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    return getattr(cause, "sqlstate", None) == POSTGRES_FULL
