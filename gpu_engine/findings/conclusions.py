"""Conclusions of papers checked against records: the parts that several studies share."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean
from typing import Generic, Literal, TypeVar

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.verdict_reasons import WORDS_MAX, reason_of_verdict
from gpu_engine.findings.verdict_reasons import Trial as Trial
from gpu_engine.text import units
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.words import capital

EXAMPLES = 3
"""Maximum number of cases named as examples."""

SOURCE = re.compile(r"§\d+(\.\d+)*|(Figure|Table) [\dIVX]+")
"""Pattern of a reference to a section, figure, or table of a paper."""

Says = Literal["agrees", "mostly", "seldom", "disagrees", "no data"]

Scope = Literal["paper", "all"]

SCOPES: Mapping[Scope, str] = {"paper": "the paper’s matrices", "all": "all matrices"}
"""Matrices on which a statement is checked → their name: those of the paper or stand-ins of them, or all."""

Group = TypeVar("Group")
"""Type of the cases on which a statement is checked."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Result of a paper's statement on the records of one device in one cache state.

    says     whether all, most, few, or none of its cases agree, or there is no case
    numbers  the numbers behind it, as text
    why      one sentence with the cases that decide the verdict; of a statement without data, what is missing
    source   place in the paper: `Figure 6`, `§5.4`
    scope    matrices on which it was checked
    cases    number of cases on which it was checked; 0 without any
    """

    statement: str
    says: Says
    numbers: str
    device: str = ""
    cache: str = ""
    source: str = ""
    scope: Scope = "paper"
    cases: int = 0
    why: str = ""


@dataclass(frozen=True, slots=True)
class Statement(Generic[Group]):
    """Statement of a paper with the function that checks it.

    about   singular noun for its cases
    judge   checks a case; returns None if the statement does not cover the case, or times are missing
    mostly  the statement is about most cases, so more than half of them are enough
    source  place in the paper, such as `Figure 6`; if empty, the first reference in the text
    """

    text: str
    about: str
    judge: Callable[[Group, StudyData], Trial | None]
    mostly: bool = False
    source: str = ""

    @property
    def place(self) -> str:
        """Figure, table, or section of the paper."""
        reference = SOURCE.search(self.text)
        return self.source or (reference.group() if reference else "")

    def unjudged(self) -> Conclusion:
        """Return the conclusion without any records."""
        return Conclusion(self.text, "no data", "", source=self.place)

    def conclusion(
        self, trials: Sequence[tuple[str, Trial]], device: str, cache: str, scope: Scope = "paper"
    ) -> Conclusion:
        """Return the conclusion from all trials of a scope, given as (name of the case, trial)."""
        if not trials:
            lacking = f"No {self.about} has the required timings."
            return Conclusion(self.text, "no data", lacking, device, cache, self.place, scope, why=lacking)
        holding = sum(trial.holds for _, trial in trials)
        most = 2 * holding > len(trials)
        enough = holding == len(trials) or (self.mostly and most)
        says: Says = "agrees" if enough else "mostly" if most else "seldom" if holding else "disagrees"
        numbers = f"Holds for {holding} of {len(trials)}{_mean(trials)}. {_examples(trials)}{_reasons(trials)}"
        why = reason_of_verdict(trials, self.mostly)
        return Conclusion(self.text, says, numbers, device, cache, self.place, scope, len(trials), why)

    def conclusions(
        self,
        cases: Iterable[tuple[str, Group]],
        data: StudyData,
        is_papers: Callable[[Group], bool],
        device: str,
        cache: str,
    ) -> list[Conclusion]:
        """Return the conclusion for the matrices of the paper, and a second one for all if there are others.

        cases      pairs of (name, case)
        is_papers  function that returns whether a case has the matrix of the paper or a stand-in of it
        """
        trials = [(name, trial, is_papers(case)) for name, case in cases if (trial := self.judge(case, data))]
        papers = [(name, trial) for name, trial, of_paper in trials if of_paper]
        both = [self.conclusion(papers, device, cache)]
        if len(trials) > len(papers):
            both.append(self.conclusion([(name, trial) for name, trial, _ in trials], device, cache, "all"))
        return both


def conclude(
    statements: Sequence[Statement[Group]],
    places: Mapping[tuple[str, str], Sequence[tuple[str, Group]]],
    data: StudyData,
    is_papers: Callable[[Group], bool],
) -> list[Conclusion]:
    """Return the conclusions of each statement on each device and cache state.

    places     (device, cache) → pairs of (name, case)
    is_papers  function that returns whether a case has the matrix of the paper or a stand-in of it
    """
    if not places:
        return [statement.unjudged() for statement in statements]
    return [
        conclusion
        for place, cases in places.items()
        for statement in statements
        for conclusion in statement.conclusions(cases, data, is_papers, *place)
    ]


def table_of(conclusions: Iterable[Conclusion]) -> Table:
    """Return a table with one row per statement, scope, device, and cache state."""
    texts = ("statement of the paper", "matrices", "result", "numbers", "device", "cache")
    rows = tuple((c.statement, SCOPES[c.scope], c.says, c.numbers, c.device, c.cache) for c in conclusions if c.device)
    return Table(tuple(Head(text, numeric=False) for text in texts), rows)


def _mean(trials: Sequence[tuple[str, Trial]]) -> str:
    factors = [trial.factor for _, trial in trials if trial.factor]
    if len(factors) < max(2, len(trials)):
        return ""
    return f", geometric mean {units.ratio(geometric_mean(factors))}"


def _examples(trials: Sequence[tuple[str, Trial]]) -> str:
    """Return the cases for which it does not hold; if there are none, those for which it does."""
    failures = [entry for entry in trials if not entry[1].holds]
    word, listed = ("Not for", failures) if failures else ("For", list(trials))
    texts = [_listed(word, listed, number) for number in range(min(EXAMPLES, len(listed)), 0, -1)]
    return next((text for text in texts if len(text.split()) <= WORDS_MAX), texts[-1])


def _listed(word: str, listed: Sequence[tuple[str, Trial]], number: int) -> str:
    """Return the first cases and how many follow: `Not for memplus 1.2 ×; 4 more.`"""
    named = "; ".join(f"{name} {trial.number}" for name, trial in listed[:number])
    more = f"; {len(listed) - number} more" if len(listed) > number else ""
    return f"{word} {named}{more}."


def _reasons(trials: Sequence[tuple[str, Trial]]) -> str:
    """Return the known reasons why it does not hold, each with its share of all cases, the most frequent first."""
    counts = Counter(trial.reason for _, trial in trials if trial.reason)
    known = [f"{reason} ({number} of {len(trials)})" for reason, number in counts.most_common()]
    texts = ("; ".join(known), ". ".join(map(capital, known)))
    return f" Reasons: {texts[len(texts[0].split()) >= WORDS_MAX]}." if known else ""
