"""Errors from problem documents of a server, with advice for Python or for the command line."""

from collections.abc import Mapping
from typing import Any, Literal

from gpu_engine import errors
from gpu_engine.errors import Hint, InputError, SparsightError, UnavailableError

STATUS_ERRORS: Mapping[int, type[SparsightError]] = {
    401: errors.UnauthorizedError,
    403: errors.ForbiddenError,
    404: errors.NotFoundError,
    409: errors.ConflictError,
    413: errors.TooLargeError,
    422: InputError,
    429: errors.LimitError,
    502: UnavailableError,
    503: UnavailableError,
    504: UnavailableError,
    507: errors.DiskFullError,
}
"""HTTP status → error class, for problem documents with an unknown code."""

Hints = Mapping[Hint | Literal["name_server"], str]
"""Code of a hint → advice."""

PYTHON: Hints = {
    "choose_direction": "Pass directed=True for edges u → v, or directed=False for edges in both directions.",
    "choose_duplicates": "Pass duplicates='sum' or duplicates='last'.",
    "choose_field": "Pass field='real' or field='pattern'.",
    "choose_header": "Pass header='sizes' or header='edge'.",
    "choose_ids": "Pass ids='shared' for a square matrix, or ids='apart' if rows and columns have separate ids.",
    "choose_weights": "Pass weights='values' if the numbers are weights, or weights='ignore' if they are timestamps.",
    "delete_with_results": "Pass with_results=True to delete the jobs and their results too.",
    "fetch_matrix": "Use Client.fetch to download the matrix with its values, and measure that one.",
    "generate_matrix": "Use Client.generate to generate the matrix with its values, and measure that one.",
    "list_jobs": "Use Client.jobs() to list all jobs.",
    "list_matrices": "Use Client.matrices() to list all matrices.",
    "name_server": "Start a server with `sparsight serve`, or pass the address of another server.",
    "send_token": "Pass the token as Client(server, token).",
}
"""Advice for users of Client."""

COMMAND: Hints = {
    "choose_direction": "Use --directed true for edges u → v, or --directed false for edges in both directions.",
    "choose_duplicates": "Use --duplicates sum or --duplicates last.",
    "choose_field": "Use --field real or --field pattern.",
    "choose_header": "Use --header sizes or --header edge.",
    "choose_ids": "Use --ids shared for a square matrix, or --ids apart if rows and columns have separate ids.",
    "choose_weights": "Use --weights values if the numbers are weights, or --weights ignore if they are timestamps.",
    "delete_with_results": "Use --with-results to delete the jobs and their results too.",
    "fetch_matrix": "Use `sparsight matrix fetch` to download the matrix with its values, and measure that one.",
    "generate_matrix": "Use `sparsight matrix add --generate` to generate it with its values, and measure that one.",
    "list_jobs": "Use `sparsight jobs ls` to list all jobs.",
    "list_matrices": "Use `sparsight matrix ls` to list all matrices.",
    "name_server": "Start a server with `sparsight serve`, or give another one with --server.",
    "send_token": "Set SPARSIGHT_TOKEN to the token, or SPARSIGHT_TOKEN_FILE to the path of its file.",
}
"""Advice for users of the command line."""


def error_of(problem: Mapping[str, Any], status: int, hints: Hints) -> SparsightError:
    """Return the error of a problem document: by its code, or by the status if the code is unknown."""
    known = {kind.code: kind for kind in _with_subclasses(SparsightError)}
    kind = known.get(str(problem.get("code")), STATUS_ERRORS.get(status, SparsightError))
    detail = problem.get("detail") or problem.get("title") or f"The server responded with status {status}."
    advice_by_code = {str(code): advice for code, advice in hints.items()}
    hint = advice_by_code.get(str(problem.get("hint_code")), problem.get("hint"))
    return kind(" ".join(str(part) for part in (detail, hint) if part))


def _with_subclasses(kind: type[SparsightError]) -> list[type[SparsightError]]:
    return [kind, *(member for child in kind.__subclasses__() for member in _with_subclasses(child))]
