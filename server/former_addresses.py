"""FormerAddresses: translate addresses with names of an earlier release to the present names."""

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, urlencode

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gpu_engine.former_names import PRESENT

PERMANENT = 308
API = "/api/"
DEVICE_PAIR = "/devices/compare"
STOP, ENOUGH = "/stop", "/enough"
FIGURE, FORMER_FIGURE = "/figures/reduced_spmv-", "/figures/products-"

PAGES: Mapping[str, str] = {
    "/explore": "/formats",
    "/papers": "/library",
    "/docs": "/library#documents",
    "/devices": "/service#devices",
}
"""Former address of a page → its present path, with the part of the page that it was."""


class FormerAddresses:
    """Middleware that redirects pages with former addresses, and passes API requests on with present names."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with present names, or redirect it."""
        if scope["type"] == "http":
            path = present_path(scope["path"])
            # `first` is a former parameter of a schedule, but a present one of the comparison of devices.
            query = None if path == DEVICE_PAIR else present_query(scope["query_string"].decode("latin-1"))
            if path != scope["path"] or query is not None:
                given = scope["query_string"].decode("latin-1") if query is None else query
                if scope["method"] == "GET" and not path.startswith(API):
                    await RedirectResponse(_target(path, given), PERMANENT)(scope, receive, send)
                    return
                scope = {**scope, "path": path, "raw_path": quote(path).encode(), "query_string": given.encode()}
        await self.app(scope, receive, send)


def present_path(path: str) -> str:
    """Return the path with present names: `/products` becomes `/reduced_spmv`, and `/enough` of a job `/stop`."""
    if path.startswith(API):
        path = path.replace(FORMER_FIGURE, FIGURE)
        return path.removesuffix(ENOUGH) + STOP if path.startswith(f"{API}v1/jobs/") and path.endswith(ENOUGH) else path
    if path in PAGES:
        return PAGES[path]
    first, slash, rest = path[1:].partition("/")
    name, dot, ending = first.partition(".")
    return f"/{PRESENT.study(name)}{dot}{ending}{slash}{rest}"


def _target(path: str, query: str) -> str:
    path, _, part = path.partition("#")
    return quote(path) + (f"?{query}" if query else "") + (f"#{part}" if part else "")


def present_query(query: str) -> str | None:
    """Return the query with present names and values, or None if it has no former ones."""
    pairs = parse_qsl(query, keep_blank_values=True)
    present = [_present(name, value) for name, value in pairs]
    return None if present == pairs else urlencode(present)


def _present(name: str, value: str) -> tuple[str, str]:
    if (name, value) == ("bits", "same"):
        return "reproducible", "true"
    study, dot, parameter = name.rpartition(".")
    parameter = PRESENT.sources.get(parameter, PRESENT.parameters.get(parameter, parameter))
    if parameter == "study":
        value = PRESENT.study(value)
    return f"{PRESENT.study(study)}{dot}{parameter}", str(PRESENT.value(parameter, value))
