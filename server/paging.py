"""Keyset paging: a cursor names the last row seen, so pages stay right while rows come and go."""

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
    """Some items, and the cursor of the page after them; None at the end."""

    items: list[T]
    next: str | None


def encode_cursor(*keys: Any) -> str:
    """The sort keys of a row as an opaque string."""
    return base64.urlsafe_b64encode(json.dumps(keys).encode()).decode().rstrip("=")


def decode_cursor(cursor: str, count: int) -> list[Any]:
    """The `count` sort keys behind a cursor; raises ParameterError when it is not one of ours."""
    try:
        keys = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, RecursionError):
        keys = None
    # A bool would pass for a number.
    if not isinstance(keys, list) or len(keys) != count or not all(type(key) in (str, int, float) for key in keys):
        raise ParameterError("The cursor is not one that this list gave; start again without it.")
    return keys
