"""Result of one check of `sparsight doctor`."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """Result of one check.

    status  `fail`: Sparsight cannot work; `warn`: something is slower or unavailable
    found   the state of the machine
    advice  what to do about it; empty if nothing
    """

    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""
