"""FormerAddresses: an address by the names of an earlier release is answered as that of this one."""

from urllib.parse import parse_qsl, quote, urlencode

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gpu_engine.former_names import PRESENT

PERMANENT = 308
API = "/api/"
STOP, ENOUGH = "/stop", "/enough"
FIGURE, FORMER_FIGURE = "/figures/reduced_spmv-", "/figures/products-"


class FormerAddresses:
    """Middleware: redirects the pages of former addresses, and passes calls of the API on by their present names."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers the request, or redirects it."""
        if scope["type"] == "http":
            path, query = present_path(scope["path"]), present_query(scope["query_string"].decode("latin-1"))
            if path != scope["path"] or query is not None:
                given = scope["query_string"].decode("latin-1") if query is None else query
                if scope["method"] == "GET" and not path.startswith(API):
                    await RedirectResponse(quote(path) + (f"?{given}" if given else ""), PERMANENT)(
                        scope, receive, send
                    )
                    return
                scope = {**scope, "path": path, "raw_path": quote(path).encode(), "query_string": given.encode()}
        await self.app(scope, receive, send)


def present_path(path: str) -> str:
    """Return the path by present names: `/products` is `/reduced_spmv`, and a job is stopped by `/stop`."""
    if path.startswith(API):
        path = path.replace(FORMER_FIGURE, FIGURE)
        return path.removesuffix(ENOUGH) + STOP if path.startswith(f"{API}v1/jobs/") and path.endswith(ENOUGH) else path
    first, slash, rest = path[1:].partition("/")
    name, dot, ending = first.partition(".")
    return f"/{PRESENT.study(name)}{dot}{ending}{slash}{rest}"


def present_query(query: str) -> str | None:
    """Return the query by present names and values; None if it has no former one."""
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
