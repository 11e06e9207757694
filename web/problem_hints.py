"""HINTS: what to do about an error, for readers of the pages."""

from collections.abc import Mapping
from typing import Any

from gpu_engine.errors import Hint
from web.components import Link

HINTS: Mapping[Hint, str] = {
    "choose_direction": "Choose the direction and press Upload.",
    "choose_duplicates": "Choose how to treat repeated edges and press Upload.",
    "choose_field": "Choose the field and press Upload.",
    "choose_header": "Choose the meaning of the first line and press Upload.",
    "choose_ids": "Choose whether rows and columns share their ids and press Upload.",
    "choose_weights": "Choose whether the third column holds weights and press Upload.",
    "delete_with_results": "Delete it on its page, together with its jobs.",
    "fetch_matrix": "Fetch it by name on the page Matrices, then measure it.",
    "generate_matrix": "Generate it on the page Matrices, then measure it.",
    "list_jobs": "See the page Jobs.",
    "list_matrices": "See the page Matrices.",
    "send_token": "Sign in at /sign-in.",
}


WAYS: Mapping[Hint, Link] = {
    "fetch_matrix": Link("Matrices", "/matrices"),
    "generate_matrix": Link("Matrices", "/matrices"),
    "list_jobs": Link("Jobs", "/jobs"),
    "list_matrices": Link("Matrices", "/matrices"),
}
"""Links to the pages that HINTS name."""


def problem_text(problem: Mapping[str, Any]) -> str:
    """Return the message of a problem document with its hint for pages; static/problems.js does the same."""
    hint = HINTS.get(problem.get("hint_code", ""), problem.get("hint", ""))
    return " ".join(filter(None, (str(problem.get("detail", "")), hint)))
