"""Error pages for browsers; programs get the problem document."""

import json
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response

from web.contexts import ErrorPage, SignInPage
from web.form_actions import local_path
from web.problem_hints import problem_text
from web.rendering import render

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
        rest = _rest(request, detail) if status == 422 else ""
        page = render(request, "error.html", ErrorPage(title, "", status, detail, rest), status)
        page.headers.update({name: v for name, v in response.headers.items() if name in ("retry-after", "allow")})
        return page

    return respond
