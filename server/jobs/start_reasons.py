"""Reasons of failed engine starts: convert errors of Ray to what happened, why, and what to do."""

import errno
import re
from pathlib import Path

EXAMINE = "Run `sparsight doctor` to check this machine."
INSTALL = "Reinstall Sparsight with its pinned dependencies."
WORDS_MAX = 300
"""Maximum number of quoted characters of an error or a log."""

LOG_HEAD = re.compile(r"\s+Last \d+ lines of error files:.*")
"""Heading in Ray's messages of log lines that often do not follow."""

FULL = (errno.ENOSPC, errno.EDQUOT)


def reason_of(error: BaseException, logs: Path) -> str:
    """Return the reason of a failed start in sentences for people.

    logs  folder of Ray's logs, which may contain the last messages of its processes
    """
    try:
        from ray import exceptions
    except ImportError as missing:
        return f"Ray cannot be imported: {_words(missing)}. {INSTALL}"
    match error:
        # First, because it is also an instance of the class of its cause.
        case exceptions.RayTaskError():
            return f"A Ray process cannot load a dependency of the studies: {_words(error.cause)}. {INSTALL}"
        case ImportError():
            return f"Ray cannot be imported: {_words(error)}. {INSTALL}"
        case exceptions.GetTimeoutError():
            return f"Ray has started, but its processes do not respond{_last_words(logs)}. {EXAMINE}"
        case exceptions.OutOfMemoryError():
            return "The host ran out of memory while a Ray process started. Close other programs, or add memory."
        case exceptions.WorkerCrashedError():
            return (
                f"A Ray process died before it responded{_last_words(logs)}. Check whether the "
                f"host ran out of memory (`dmesg`). {EXAMINE}"
            )
        case PermissionError():
            return (
                f"Ray cannot run or write {error.filename}: {error.strerror}. Correct its "
                f"permissions, or {_lower(INSTALL)}"
            )
        case OSError() if error.errno in FULL:
            return f"Ray has no disk space: {_words(error)}. Free space in /dev/shm and in the folder TMPDIR."
        case _:
            return f"Ray does not start: {_words(error)}{_last_words(logs)}. {EXAMINE}"


def _words(error: object) -> str:
    """Return the kind of an error with its first and its last line, where Ray puts the content of its logs."""
    lines = [line.strip(" =") for line in str(error).splitlines()]
    first, *others = [LOG_HEAD.sub("", line).rstrip(". ") for line in lines if line] or [""]
    parts = (type(error).__name__, first, others[-1] if others else "")
    return ": ".join(part[:WORDS_MAX] for part in parts if part)


def _last_words(logs: Path) -> str:
    """Return the last line in the error log of a Ray process as part of a sentence; empty if there is none."""
    try:
        files = sorted(logs.glob("*.err"), key=lambda path: path.stat().st_mtime)
        texts = [path.read_text(errors="replace") for path in files]
    except OSError:
        return ""
    # Ray writes the names of jobs and tasks there, after a colon.
    lines = (line for text in texts for line in text.splitlines() if line.strip() and not line.startswith(":"))
    *_, last = ["", *lines]
    return f" (its log ends with: {last[:WORDS_MAX]})" if last else ""


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
