"""Problems say what to do in the words of the tool in hand; each tool has words for every hint."""

from typing import Any, get_args

import pytest

from gpu_engine.errors import Hint, NotFoundError, SparsightError
from server import errors
from server.errors import problem, problem_of
from sparsight.problems import COMMAND, PYTHON, Hints, error_of
from web import problem_hints


@pytest.mark.parametrize(
    ("table", "own"),
    [(errors.HINTS, set()), (problem_hints.HINTS, set()), (PYTHON, {"name_server"}), (COMMAND, {"name_server"})],
)
def test_every_hint_has_words_in_every_tool(table: dict[str, str], own: set[str]) -> None:
    assert set(table) == {*get_args(Hint), *own}


@pytest.mark.parametrize(
    ("words", "expected"),
    [(PYTHON, "Use Client.jobs() to list all jobs."), (COMMAND, "Use `sparsight jobs ls` to list all jobs.")],
)
def test_an_error_has_the_hint_of_its_tool_and_not_that_of_http(words: Hints, expected: str) -> None:
    document = problem_of(NotFoundError("There is no job 'x'.", hint="list_jobs"))
    assert (document["detail"], document["hint"]) == ("There is no job 'x'.", "GET /api/v1/jobs lists them.")
    found = error_of(document, 404, words)
    assert type(found) is NotFoundError
    assert found.message == f"There is no job 'x'. {expected}"
    assert problem_hints.problem_text(document) == f"There is no job 'x'. {problem_hints.HINTS['list_jobs']}"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (problem(404, "not_found", "No."), "No."),
        ({"detail": "No.", "hint_code": "of_a_newer_server", "hint": "Send it twice."}, "No. Send it twice."),
        ({"title": "Not Found"}, "Not Found"),
        ({}, "The server responded with status 418."),
    ],
)
def test_words_that_no_table_has_are_those_of_the_server(document: dict[str, Any], message: str) -> None:
    found = error_of(document, 418, COMMAND)
    assert (type(found), found.message) in [(SparsightError, message), (NotFoundError, message)]
