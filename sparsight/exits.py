"""Exit: what the exit codes of the command line mean."""

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
    """The exit codes; scripts rely on them.

    WORSE    `compare` found what `--fail-on` names
    NOTHING  nothing was measured: no case of the job has a time, or no two times could be compared
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
"""The first class that an error is an instance of gives the exit code."""

JOB_STATES = {"succeeded": Exit.DONE, "failed": Exit.FAILED, "cancelled": Exit.CANCELLED}


def exit_of(error: SparsightError) -> Exit:
    """The exit code of an error of the tree."""
    return next(code for kind, code in ERRORS if isinstance(error, kind))
