"""HINTS: what to do about a problem, in the words of the pages."""

from collections.abc import Mapping
from typing import Any

from gpu_engine.errors import Hint

HINTS: Mapping[Hint, str] = {
    "choose_direction": "Choose the direction and press Upload.",
    "choose_duplicates": "Choose what becomes of repeated edges and press Upload.",
    "choose_field": "Choose the field and press Upload.",
    "choose_header": "Choose what the first line is and press Upload.",
    "choose_ids": "Choose whether rows and columns share their ids and press Upload.",
    "choose_weights": "Choose whether the third column holds weights and press Upload.",
    "delete_with_results": "Confirm on the page of the matrix that its jobs are deleted with it.",
    "fetch_matrix": "Fetch it by name on the page Matrices; that one has values and can be measured.",
    "generate_matrix": "Generate it on the page Matrices; that one has values and can be measured.",
    "list_jobs": "The page Jobs lists them.",
    "list_matrices": "The page Matrices lists them.",
    "send_token": "Sign in at /sign-in.",
}


def words(problem: Mapping[str, Any]) -> str:
    """What a problem document says, and what to do on a page; static/problems.js does the same."""
    hint = HINTS.get(problem.get("hint_code", ""), problem.get("hint", ""))
    return " ".join(filter(None, (str(problem.get("detail", "")), hint)))
