"""Errors as pages, for browsers; programs get the problem document."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response

from web.contexts import ErrorPage, SignInPage
from web.hints import words
from web.posts import local_path
from web.rendering import render

MACHINE_PATHS = ("/api/", "/static/", "/healthz", "/readyz", "/metrics")

Handler = Callable[[Request, Any], Awaitable[Response]]


def as_page(handler: Any) -> Handler:
    """The same handler, its problem document rendered as a page for a browser that asked for one."""

    async def respond(request: Request, error: Any) -> Response:
        response: Response = await handler(request, error)
        wanted = "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(MACHINE_PATHS)
        if not wanted or response.media_type != "application/problem+json":
            return response
        problem = json.loads(bytes(response.body))
        if problem["status"] == 401:
            # Whoever has signed in or sends a token gets to no handler with this.
            asked = SignInPage("Sign in", "", local_path(request.query_params.get("next", "")), problem["detail"])
            return render(request, "sign_in.html", asked, 401)
        title = problem["title"].capitalize()
        page = render(request, "error.html", ErrorPage(title, "", problem["status"], words(problem)), problem["status"])
        page.headers.update({name: v for name, v in response.headers.items() if name in ("retry-after", "allow")})
        return page

    return respond
