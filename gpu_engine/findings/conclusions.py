"""A paper's conclusions beside what records say of them: what several studies share."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Generic, Literal, TypeVar

from gpu_engine.findings.data import StudyData
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table

EXAMPLES = 3
"""Most cases that are named."""

ABOUT = 0.9
"""`About 1.5 times` holds from this share of it on."""

SOURCE = re.compile(r"§\d+(\.\d+)*|(Figure|Table) [\dIVX]+")

Says = Literal["agrees", "mostly", "seldom", "disagrees", "no data"]

Group = TypeVar("Group")
"""What a statement is judged on, one case after the other."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A statement of the paper and what the records of one device in one cache state say of it.

    says     of all cases that it is about: they agree, most or few do, none does, or there is none
    numbers  what that is taken from, in words
    source   where the paper says it: `Figure 6`, `§5.4`
    """

    statement: str
    says: Says
    numbers: str
    device: str = ""
    cache: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Trial:
    """Whether a statement holds for a case, and the number that says so.

    factor  of one that is a ratio of times; reason: why it does not hold, in a few words, empty where that is not known
    """

    holds: bool
    number: str
    factor: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Statement(Generic[Group]):
    """What a paper says.

    about   the cases that it is about, in the singular
    judge   the trial of a case; None: the case is not what it is about, or lacks the times
    mostly  it speaks of most cases: more than half of them are enough
    source  where it says so, `Figure 6`; empty: the first figure, table or section that the text names
    """

    text: str
    about: str
    judge: Callable[[Group, StudyData], Trial | None]
    mostly: bool = False
    source: str = ""

    @property
    def place(self) -> str:
        """Where the paper says it, as its page lists it."""
        named = SOURCE.search(self.text)
        return self.source or (named.group() if named else "")

    def unjudged(self) -> Conclusion:
        """Where there are no records at all."""
        return Conclusion(self.text, "no data", "", source=self.place)

    def conclusion(self, trials: Sequence[tuple[str, Trial]], device: str, cache: str) -> Conclusion:
        """What the trials say together; trials: (name of the case, trial)."""
        if not trials:
            lacking = f"No {self.about} here has the times."
            return Conclusion(self.text, "no data", lacking, device, cache, self.place)
        held = sum(trial.holds for _, trial in trials)
        most = 2 * held > len(trials)
        enough = held == len(trials) or (self.mostly and most)
        says: Says = "agrees" if enough else "mostly" if most else "seldom" if held else "disagrees"
        numbers = f"Holds for {held} of {len(trials)}{_mean(trials)}. {_examples(trials)}{_reasons(trials)}"
        return Conclusion(self.text, says, numbers, device, cache, self.place)


def conclude(
    statements: Sequence[Statement[Group]],
    places: Mapping[tuple[str, str], Sequence[tuple[str, Group]]],
    data: StudyData,
) -> list[Conclusion]:
    """Every statement on each device in each cache state; places: (device, cache) → (name, case)."""
    if not places:
        return [statement.unjudged() for statement in statements]
    return [
        statement.conclusion([(name, trial) for name, case in of if (trial := statement.judge(case, data))], *place)
        for place, of in places.items()
        for statement in statements
    ]


def table_of(conclusions: Iterable[Conclusion]) -> Table:
    """A row a statement, device and cache state."""
    texts = ("the paper", "here", "numbers", "device", "cache")
    rows = tuple((c.statement, c.says, c.numbers, c.device, c.cache) for c in conclusions if c.device)
    return Table(tuple(Head(text, numeric=False) for text in texts), rows)


def _mean(trials: Sequence[tuple[str, Trial]]) -> str:
    factors = [trial.factor for _, trial in trials if trial.factor]
    if len(factors) < max(2, len(trials)):
        return ""
    return f", {units.ratio(geometric_mean(factors))} in geometric mean"


def _examples(trials: Sequence[tuple[str, Trial]]) -> str:
    """The cases for which it does not hold, which a reader looks for; where there are none, those for which it does."""
    failures = [entry for entry in trials if not entry[1].holds]
    word, shown = ("Not for", failures) if failures else ("For", list(trials))
    named = "; ".join(f"{name} {trial.number}" for name, trial in shown[:EXAMPLES])
    more = f"; {len(shown) - EXAMPLES} more" if len(shown) > EXAMPLES else ""
    return f"{word} {named}{more}."


def _reasons(trials: Sequence[tuple[str, Trial]]) -> str:
    """How often which reason is known why it does not hold, the most frequent first."""
    counts = Counter(trial.reason for _, trial in trials if trial.reason)
    known = "; ".join(f"{reason} {number}" for reason, number in counts.most_common())
    return f" Why not: {known}." if known else ""
