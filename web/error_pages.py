"""Error pages for browsers; programs get the problem document."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from starlette.exceptions import HTTPException

from gpu_engine.errors import quote
from web.components import Link
from web.contexts import ErrorPage, SignInPage
from web.form_actions import local_path
from web.problem_hints import WAYS, problem_text
from web.rendering import render
from web.selection import ValidValues, choices_of

TITLES = {422: "This choice is not possible"}
"""Status → title of its page, if it is not the name of the status."""

MACHINE_PATHS = ("/api/", "/static/", "/healthz", "/readyz", "/metrics")

Handler = Callable[[Request, Any], Awaitable[Response]]


def _rest(request: Request, detail: str) -> str:
    """Return the address of a refused page without the parameter that the message begins with, or without any."""
    pairs = request.query_params.multi_items()
    if request.method != "GET" or not pairs:
        return ""
    left = [(name, value) for name, value in pairs if name != detail.partition(" ")[0]]
    return request.url.path + (f"?{urlencode(left)}" if left and len(left) < len(pairs) else "")


def _choices(request: Request, valid: ValidValues) -> tuple[Link, ...]:
    """Return a link to the same address for each value that is possible."""
    left = [(name, value) for name, value in request.query_params.multi_items() if name != valid.name]
    return tuple(
        Link(label or value, f"{request.url.path}?{urlencode([*left, (valid.name, value)])}")
        for value, label in valid.labels.items()
    )


def _ways(problem: Mapping[str, Any]) -> tuple[Link, ...]:
    """Return the link to the page that the hint of a problem names."""
    way = WAYS.get(problem.get("hint_code", ""))
    return (way,) if way else ()


def as_page(handler: Any) -> Handler:
    """Wrap an exception handler so that browsers get its problem document as a page."""

    async def respond(request: Request, error: Any) -> Response:
        response: Response = await handler(request, error)
        is_page_request = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(
            MACHINE_PATHS
        )
        if not is_page_request or response.media_type != "application/problem+json":
            return response
        problem = json.loads(bytes(response.body))
        if problem["status"] == 401:
            # Only requests without a session and without a token get here.
            sign_in_page = SignInPage(
                "Sign in", "", local_path(request.query_params.get("next", "")), problem["detail"]
            )
            return render(request, "sign_in.html", sign_in_page, 401)
        status, detail = problem["status"], problem_text(problem)
        title = TITLES.get(status, problem["title"].capitalize())
        rest, choices = _rest(request, detail) if status == 422 else "", _ways(problem)
        valid = choices_of(error)
        if valid is not None and valid.labels:
            detail = f"Unknown {valid.name}: {quote(valid.value)}. Choose one of these:"
            choices = _choices(request, valid)
        elif isinstance(error, HTTPException) and status == 404:
            detail = f"No page has the address {quote(request.url.path)}. Continue at one of these places:"
        page = render(request, "error.html", ErrorPage(title, "", status, detail, rest, choices), status)
        page.headers.update({name: v for name, v in response.headers.items() if name in ("retry-after", "allow")})
        return page

    return respond
