"""Why the engine did not start: an error of Ray as what happened, why, and what to do."""

import errno
import re
from pathlib import Path

EXAMINE = "`sparsight doctor` examines this machine."
INSTALL = "Install Sparsight again, with the versions that it names."
WORDS_MAX = 300
"""Characters that are quoted of an error or a log."""

LOG_HEAD = re.compile(r"\s+Last \d+ lines of error files:.*")
"""Ray's own words for what follows; often nothing does."""

FULL = (errno.ENOSPC, errno.EDQUOT)


def reason_of(error: BaseException, logs: Path) -> str:
    """Return the reason of a failed start in sentences for people.

    logs  the folder of Ray's logs, which may hold the last words of its processes
    """
    try:
        from ray import exceptions
    except ImportError as missing:
        return f"Ray cannot be imported: {_words(missing)}. {INSTALL}"
    match error:
        # First: it is of the kind of its cause too.
        case exceptions.RayTaskError():
            return f"A process of Ray cannot load what studies need: {_words(error.cause)}. {INSTALL}"
        case ImportError():
            return f"Ray cannot be imported: {_words(error)}. {INSTALL}"
        case exceptions.GetTimeoutError():
            return f"Ray has started, but none of its processes answers{_last_words(logs)}. {EXAMINE}"
        case exceptions.OutOfMemoryError():
            return "The host ran out of memory as a process of Ray started. End other programs, or add memory."
        case exceptions.WorkerCrashedError():
            return (
                f"A process of Ray died before it answered{_last_words(logs)}. Look whether the host ran out of memory "
                f"(`dmesg`). {EXAMINE}"
            )
        case PermissionError():
            return f"Ray cannot run or write {error.filename}: {error.strerror}. Correct its mode, or {_lower(INSTALL)}"
        case OSError() if error.errno in FULL:
            return f"Ray finds no room: {_words(error)}. Free space in /dev/shm and in the folder TMPDIR."
        case _:
            return f"Ray does not start: {_words(error)}{_last_words(logs)}. {EXAMINE}"


def _words(error: object) -> str:
    """Return the kind of an error with its first line, and with its last one: Ray puts there what its logs say."""
    lines = [line.strip(" =") for line in str(error).splitlines()]
    first, *others = [LOG_HEAD.sub("", line).rstrip(". ") for line in lines if line] or [""]
    parts = (type(error).__name__, first, others[-1] if others else "")
    return ": ".join(part[:WORDS_MAX] for part in parts if part)


def _last_words(logs: Path) -> str:
    """Return the last line that a process of Ray wrote to its errors, as part of a sentence; empty where none did."""
    try:
        files = sorted(logs.glob("*.err"), key=lambda path: path.stat().st_mtime)
        texts = [path.read_text(errors="replace") for path in files]
    except OSError:
        return ""
    # Ray notes the names of jobs and tasks there, behind a colon.
    lines = (line for text in texts for line in text.splitlines() if line.strip() and not line.startswith(":"))
    *_, last = ["", *lines]
    return f" (its log ends with: {last[:WORDS_MAX]})" if last else ""


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
