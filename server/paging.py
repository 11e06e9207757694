"""Keyset paging: a cursor contains the sort keys of the last row, so that pages stay correct while rows are added and
deleted.
"""

import base64
import json
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from gpu_engine.errors import ParameterError

T = TypeVar("T")
LIMIT_DEFAULT = 50
LIMIT_MAX = 500


@dataclass(frozen=True)
class Page(Generic[T]):
    """Items of a page, and the cursor of the next page; None on the last page."""

    items: list[T]
    next: str | None


def encode_cursor(*keys: Any) -> str:
    """Return the sort keys of a row as an opaque string."""
    return base64.urlsafe_b64encode(json.dumps(keys).encode()).decode().rstrip("=")


def invalid_cursor() -> ParameterError:
    """Return the error for a cursor that this list did not create."""
    return ParameterError("Invalid cursor. Repeat the request without it.")


def decode_cursor(cursor: str, count: int) -> list[Any]:
    """Return the `count` sort keys in a cursor. Raises ParameterError for an invalid cursor."""
    try:
        keys = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        keys = None
    # `type` instead of `isinstance`, because a bool is an int.
    if not isinstance(keys, list) or len(keys) != count or not all(type(key) in (str, int, float) for key in keys):
        raise invalid_cursor()
    return keys
