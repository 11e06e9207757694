"""Responses of the API: documents with an ETag, and lists with a link to the next page, as JSON or CSV."""

import csv
import hashlib
import io
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import Request, Response

from gpu_engine.records import dumps

CSV, JSON = "text/csv", "application/json"
CSV_TYPE = f"{CSV}; charset=utf-8"
POLL_AFTER_S = "1"
"""Value of `Retry-After` with a 202, in seconds."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""Characters that make a spreadsheet treat a text as a formula."""


def wants_csv(request: Request) -> bool:
    """Return whether the caller prefers CSV to JSON, by the extension of the path or else by `Accept`."""
    ending = request.url.path.rpartition("/")[2].rpartition(".")[2]
    if ending in ("csv", "json"):
        return ending == "csv"
    accept = request.headers.get("accept", "")
    return _preference(accept, CSV) > _preference(accept, JSON)


def _preference(accept: str, kind: str) -> tuple[float, int]:
    """Return the q value that an Accept header gives a media type, and the specificity of the matching range (RFC
    9110).
    """
    ranges = ("*/*", f"{kind.partition('/')[0]}/*", kind)
    best = (-1, 0.0)
    for entry in accept.lower().split(","):
        name, *parameters = (part.strip() for part in entry.split(";"))
        if name in ranges:
            given = next((part[2:] for part in parameters if part.startswith("q=")), "1")
            quality = float(given) if re.fullmatch(r"0(\.\d{0,3})?|1(\.0{0,3})?", given) else 0.0
            best = max(best, (ranges.index(name), quality))
    return best[1], best[0] if best[1] else -1


def etag_matches(request: Request, tag: str) -> bool:
    """Return whether the caller already has the response with this ETag."""
    tags = [entry.strip().removeprefix("W/") for entry in request.headers.get("if-none-match", "").split(",")]
    return tag in tags or "*" in tags


def etag_response(request: Request, body: str, media_type: str = JSON, **headers: str) -> Response:
    """Return the body with an ETag of its content, or 304 if the caller already has it."""
    content = body.encode()
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache", "Vary": "Accept", **headers}
    if etag_matches(request, tag):
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=media_type, headers=headers)


def list_response(request: Request, items: Sequence[Mapping[str, Any]], next_cursor: str | None = None) -> Response:
    """Return a page of a list as JSON or CSV. `Link: rel=next` names the next page."""
    headers = {}
    if next_cursor is not None:
        following = request.url.include_query_params(cursor=next_cursor)
        headers["Link"] = f'<{following.path}?{following.query}>; rel="next"'
    if wants_csv(request):
        return etag_response(request, to_csv([flatten(item) for item in items]), CSV_TYPE, **headers)
    return etag_response(request, dumps({"items": list(items), "next": next_cursor}), **headers)


def flatten(document: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a document as one row: nested names joined by dots, lists as JSON, and documents in a list by their first
    field.
    """
    row: dict[str, Any] = {}
    for name, value in document.items():
        if isinstance(value, Mapping):
            row |= flatten(value, f"{prefix}{name}.")
        elif isinstance(value, list | tuple):
            row[prefix + name] = json.dumps([next(iter(v.values())) if isinstance(v, Mapping) else v for v in value])
        else:
            row[prefix + name] = value
    return row


def to_csv(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Return rows as CSV with a header: these columns, or all names that occur in rows. No cell is a formula."""
    columns = columns or list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([_cell(name) for name in columns])
    for row in rows:
        writer.writerow([_cell(row.get(name)) for name in columns])
    return text.getvalue()


def _cell(value: Any) -> Any:
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
