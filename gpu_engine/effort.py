"""Effort: how much is sampled, and the parameters of studies that say so."""

from dataclasses import dataclass
from typing import Any, Literal

Sampling = Literal["settle", "full"]
Energy = Literal["leaders", "all"]

SHARE = {"settle": 0.6, "full": 1.0}
"""The share of all turns that are expected to be taken."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is sampled of what is sampled together.

    sampling  `full`: everything takes part in all rounds; `settle`: only what has an open verdict does
    budget_s  seconds of rounds after which no other one begins; 0: no limit
    energy    of which warm cases it is measured: those that lead, or all
    """

    sampling: Sampling = "full"
    budget_s: float = 0.0
    energy: Energy = "all"

    @classmethod
    def of(cls, params: Any) -> "Effort":
        """What the parameters of a study say; one that measures no energy has none to choose."""
        return cls(params.sampling, params.budget_s, getattr(params, "energy", "all"))


FULL = Effort()

SAMPLING: tuple[Sampling, str] = (
    "settle",
    "Rounds only for what has an open verdict, or full: all rounds for everything.",
)
"""Default and description of the parameter that says so; the others' as well."""

BUDGET_S = 0.0, "Seconds of rounds, of what is sampled together, that are enough; 0: no limit."

ENERGY: tuple[Energy, str] = (
    "leaders",
    "Whose energy is measured: that of the fastest and what may be as fast, or of all.",
)
