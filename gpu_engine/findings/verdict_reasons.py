"""Reason of a verdict on a statement: one sentence with the cases that decide it, and their numbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from statistics import geometric_mean

from gpu_engine.text import units

WORDS_MAX = 25
"""Maximum number of words of the sentence."""

IS_MOST, IS_HALF = ", enough for a statement about most cases", ", which is half of them"

ALL_BOTH = 2
"""Number of cases that are called `both`."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Result of a statement on one case: whether it holds, and the number behind it.

    factor  the number, if it is a ratio of times
    reason  why it does not hold, in a few words; empty if unknown
    accepts  numbers with which it would hold, such as `1.45 to 1.55`; empty if the statement names them
    """

    holds: bool
    number: str
    factor: float | None = None
    reason: str = ""
    accepts: str = ""


NamedTrial = tuple[str, Trial]
"""Pair of (name of the case, trial)."""


def reason_of_verdict(trials: Sequence[NamedTrial], is_about_most: bool = False) -> str:
    """Return why the verdict on a statement is what it is: `Holds for 5 of 9 (mean 0.98 ×); 4 exceptions …`.

    Means are geometric, of the cases that hold and of the exceptions apart: a mean over both hides which ones decide.

    is_about_most  the statement is about most cases, so more than half of them are enough
    """
    holding = [entry for entry in trials if entry[1].holds]
    failing = [entry for entry in trials if not entry[1].holds]
    if not holding or not failing:
        return _reason_of_all(trials)
    begin, aside = f"Holds for {len(holding)} of {len(trials)}", ""
    if 2 * len(holding) == len(trials):
        aside = IS_HALF
    elif is_about_most and 2 * len(holding) > len(trials):
        aside = IS_MOST
    name, trial = _farthest(failing, holding)
    several = f"{len(failing)} exceptions"
    first, means = (
        ("exception:", "exception:")
        if len(failing) == 1
        else (f"{several}, such as", f"{several}{_mean(failing)}, such as")
    )
    texts = (
        f"{begin}{_mean(holding)}{aside}; {means} {name} {trial.number}",
        f"{begin}{aside}; {first} {name} {trial.number}",
    )
    with_accepts = [f"{text}; {trial.accepts} would agree" for text in texts if trial.accepts]
    return _first_short(*with_accepts, *texts, f"{begin}; {first} {_bare(name)}", begin)


def reason_of_existence(holding: int, total: int, best: NamedTrial) -> str:
    """Return why the verdict on a statement about some cases is what it is; best: the case that is nearest to it."""
    name, trial = best
    if holding:
        return _first_short(f"Holds for {holding} of {total}, and one is enough; such as {name} {trial.number}")
    return _first_short(*_with_accepts(f"Holds for none of {total}; nearest: {name} {trial.number}", trial.accepts))


def _reason_of_all(trials: Sequence[NamedTrial]) -> str:
    """Return the reason if a statement holds for all cases or for none."""
    (name, trial), *others = trials
    accepts = "" if trial.holds else trial.accepts
    if not others:
        return _first_short(
            *_with_accepts(f"Measured: {name} {trial.number}", accepts),
            *_with_accepts(f"Measured: {trial.number}", accepts),
        )
    number = "both" if len(trials) == ALL_BOTH else f"all {len(trials)}"
    begin = f"Holds for {number if trial.holds else f'none of {len(trials)}'}"
    if means := _mean(trials):
        return _first_short(*_with_accepts(f"{begin}{means}", accepts))
    return _first_short(*_with_accepts(f"{begin}, such as {name} {trial.number}", accepts), begin)


def _farthest(failing: Sequence[NamedTrial], holding: Sequence[NamedTrial]) -> NamedTrial:
    """Return the exception that is farthest from the mean of the cases that hold; without factors, the first."""
    factors = [trial.factor for _, trial in holding if trial.factor]
    if not factors or not all(trial.factor for _, trial in failing):
        return failing[0]
    middle = log(geometric_mean(factors))
    return max(failing, key=lambda entry: abs(log(entry[1].factor or 1.0) - middle))


def _mean(trials: Sequence[NamedTrial]) -> str:
    """Return ` (mean 1.24 ×)` of several factors; empty for one case, or if one has no factor."""
    factors = [trial.factor for _, trial in trials if trial.factor]
    if len(factors) < max(2, len(trials)):
        return ""
    return f" (mean {units.speedup(geometric_mean(factors))})"


def _with_accepts(text: str, accepts: str) -> tuple[str, ...]:
    return (f"{text}; {accepts} would agree", text) if accepts else (text,)


def _bare(name: str) -> str:
    """Return the name of a case without the colon before its numbers."""
    return name.removesuffix(":")


def _first_short(*texts: str) -> str:
    """Return the first text of at most WORDS_MAX words, else the last one, as a sentence."""
    return f"{next((text for text in texts if len(text.split()) <= WORDS_MAX), texts[-1])}."
