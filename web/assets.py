"""Static files under URLs that contain a hash of their content, so that browsers may cache them forever."""

import gzip
import hashlib
import mimetypes
from dataclasses import dataclass
from functools import cache
from importlib import resources

from fastapi import APIRouter, Request, Response

from gpu_engine.errors import NotFoundError, quote
from web.script_bundle import bundle

router = APIRouter(include_in_schema=False)
IMMUTABLE = "public, max-age=31536000, immutable"
PLOTLY = "plotly.min.js"
STYLES, SCRIPT = "app.css", "app.js"
FIRST = "theme.js"
"""Script that runs before the first paint, alone."""

DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True)
class Asset:
    """A static file: its bytes, plain and gzipped, and its media type."""

    plain: bytes
    gzipped: bytes
    media_type: str


@cache
def _project_files() -> dict[str, bytes]:
    """Return the static files by name: `app.css` is all style sheets in the order of names, `app.js` all modules."""
    folder = resources.files("web").joinpath("static")
    named = {entry.name: entry.read_bytes() for entry in folder.iterdir() if entry.is_file()}
    modules = {name: content.decode() for name, content in named.items() if name.endswith(".js") and name != FIRST}
    sheets = sorted(folder.joinpath("styles").iterdir(), key=lambda entry: entry.name)
    alone = {name: content for name, content in named.items() if name not in modules}
    styles = b"".join(sheet.read_bytes() for sheet in sheets)
    return alone | {STYLES: styles, SCRIPT: bundle(modules, SCRIPT).encode()}


@cache
def digest() -> str:
    """Return one digest of all project files."""
    total = hashlib.sha256()
    for name, content in sorted(_project_files().items()):
        total.update(name.encode() + b"\0" + content)
    return total.hexdigest()[:DIGEST_CHARS]


@cache
def plotly_digest() -> str:
    """Return the digest of plotly.js in the installed wheel, which changes less often than project files."""
    return hashlib.sha256(_plotly()).hexdigest()[:DIGEST_CHARS]


def url(name: str) -> str:
    """Return the URL of a static file."""
    return f"/static/{plotly_digest() if name == PLOTLY else digest()}/{name}"


def text(name: str) -> str:
    """Return the text of a static file, for pages that embed it."""
    return _asset(name).plain.decode()


@router.get("/static/{version}/{name}")
def static(version: str, name: str, request: Request) -> Response:
    """Return a static file of the current version; raises NotFoundError (404) for any other version."""
    if (name != PLOTLY and name not in _project_files()) or url(name) != f"/static/{version}/{name}":
        raise NotFoundError(f"No static file {quote(name)} of version {quote(version)}. Reload the page.")
    asset = _asset(name)
    headers = {"Cache-Control": IMMUTABLE, "Vary": "Accept-Encoding"}
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(asset.gzipped, media_type=asset.media_type, headers=headers | {"Content-Encoding": "gzip"})
    return Response(asset.plain, media_type=asset.media_type, headers=headers)


@cache
def _asset(name: str) -> Asset:
    plain = _plotly() if name == PLOTLY else _project_files()[name]
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Asset(plain, gzip.compress(plain, 6, mtime=0), media_type)


@cache
def _plotly() -> bytes:
    return resources.files("plotly").joinpath("package_data", PLOTLY).read_bytes()
