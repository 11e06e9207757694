"""What a check of `sparsight doctor` finds."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """One finding: `fail` keeps Sparsight from working, `warn` costs something; `advice` says what to do."""

    name: str
    status: Literal["ok", "warn", "fail"]
    found: str
    advice: str = ""
