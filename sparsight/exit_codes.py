"""Exit codes of the command line, and those of errors and job states."""

from enum import IntEnum

from gpu_engine.errors import (
    ConflictError,
    ForbiddenError,
    InputError,
    LimitError,
    NotFoundError,
    SparsightError,
    UnauthorizedError,
    UnavailableError,
)


class Exit(IntEnum):
    """Exit codes of all commands; scripts rely on them.

    WORSE    `compare` found a kernel that `--fail-on` names
    NOTHING  no timing: no case of the job was timed, or `compare` found no two times to compare
    """

    DONE = 0
    FAILED = 1
    INPUT = 2
    UNREACHABLE = 3
    NOT_FOUND = 4
    CANCELLED = 5
    TIMEOUT = 6
    WORSE = 7
    NOTHING = 8
    INTERRUPTED = 130


ERRORS: tuple[tuple[type[SparsightError], Exit], ...] = (
    (InputError, Exit.INPUT),
    (ConflictError, Exit.INPUT),
    (UnauthorizedError, Exit.INPUT),
    (ForbiddenError, Exit.INPUT),
    (LimitError, Exit.UNREACHABLE),
    (UnavailableError, Exit.UNREACHABLE),
    (NotFoundError, Exit.NOT_FOUND),
    (SparsightError, Exit.FAILED),
)
"""Error class → exit code; the first class that matches an error counts."""

JOB_STATES = {"succeeded": Exit.DONE, "failed": Exit.FAILED, "cancelled": Exit.CANCELLED}
"""Final state of a job → exit code of the command that followed it."""


def exit_of(error: SparsightError) -> Exit:
    """Return the exit code for an error."""
    return next(code for kind, code in ERRORS if isinstance(error, kind))
