"""Problem documents of a server as errors of our tree; what to do in the words of Python or of the command line."""

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


Hints = Mapping[Hint | Literal["name_server"], str]

PYTHON: Hints = {
    "choose_direction": "Pass directed=True if it is the edge u → v, directed=False if it stands for both.",
    "choose_duplicates": "Pass duplicates='sum' or duplicates='last'.",
    "choose_field": "Pass field='real' or field='pattern'.",
    "choose_header": "Pass header='sizes' or header='edge'.",
    "choose_ids": "Pass ids='shared' for a square matrix, ids='apart' for rows and columns with ids of their own.",
    "choose_weights": "Pass weights='values' if they are weights, weights='ignore' if they are times.",
    "delete_with_results": "Pass with_results=True to delete them with it.",
    "fetch_matrix": "Client.fetch brings it with its values; measure that one.",
    "generate_matrix": "Client.generate makes it with its values; measure that one.",
    "list_jobs": "Client.jobs() lists them.",
    "list_matrices": "Client.matrices() lists them.",
    "name_server": "Start one with `sparsight serve`, or pass the address of another.",
    "send_token": "Pass it as Client(server, token).",
}
COMMAND: Hints = {
    "choose_direction": "Give --directed true if it is the edge u → v, --directed false if it stands for both.",
    "choose_duplicates": "Give --duplicates sum or --duplicates last.",
    "choose_field": "Give --field real or --field pattern.",
    "choose_header": "Give --header sizes or --header edge.",
    "choose_ids": "Give --ids shared for a square matrix, --ids apart for rows and columns with ids of their own.",
    "choose_weights": "Give --weights values if they are weights, --weights ignore if they are times.",
    "delete_with_results": "Give --with-results to delete them with it.",
    "fetch_matrix": "`sparsight matrix fetch` brings it with its values; measure that one.",
    "generate_matrix": "`sparsight matrix add --generate` makes it with its values; measure that one.",
    "list_jobs": "`sparsight jobs ls` lists them.",
    "list_matrices": "`sparsight matrix ls` lists them.",
    "name_server": "Start one with `sparsight serve`, or name another with --server.",
    "send_token": "Set SPARSIGHT_TOKEN to the token, or SPARSIGHT_TOKEN_FILE to the file that holds it.",
}


def error_of(problem: Mapping[str, Any], status: int, hints: Hints) -> SparsightError:
    """The error that a problem document tells of: by its code, else by its status."""
    known = {kind.code: kind for kind in _family(SparsightError)}
    kind = known.get(str(problem.get("code")), STATUS_ERRORS.get(status, SparsightError))
    said = problem.get("detail") or problem.get("title") or f"The server answered {status}."
    words = {str(name): text for name, text in hints.items()}
    hint = words.get(str(problem.get("hint_code")), problem.get("hint"))
    return kind(" ".join(str(part) for part in (said, hint) if part))


def _family(kind: type[SparsightError]) -> list[type[SparsightError]]:
    return [kind, *(member for child in kind.__subclasses__() for member in _family(child))]
