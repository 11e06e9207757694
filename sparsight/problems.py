"""Problem documents of a server as errors of our tree."""

from collections.abc import Mapping
from typing import Any

from gpu_engine import errors
from gpu_engine.errors import InputError, SparsightError, UnavailableError

STATUS_ERRORS: Mapping[int, type[SparsightError]] = {
    401: InputError,
    403: InputError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    413: errors.TooLargeError,
    422: InputError,
    503: UnavailableError,
}


def error_of(problem: Mapping[str, Any], status: int) -> SparsightError:
    """The error that a problem document tells of: by its code, else by its status."""
    known = {kind.code: kind for kind in _family(SparsightError)}
    kind = known.get(str(problem.get("code")), STATUS_ERRORS.get(status, SparsightError))
    return kind(str(problem.get("detail") or problem.get("title") or f"The server answered {status}."))


def _family(kind: type[SparsightError]) -> list[type[SparsightError]]:
    return [kind, *(member for child in kind.__subclasses__() for member in _family(child))]
