"""Summary of a paper on one device: how many statements agree, and every statement in one row."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from web.device_labels import short
from web.papers.base import Exhibit
from web.papers.components import ScoreboardRow
from web.papers.statements import NOT_CHECKED, VERDICTS, Verdict, cell_of, papers_verdicts

Place = tuple[str, str, str]
"""Device, setting, and cache state of verdicts."""

CHECKED = tuple(word for word in VERDICTS if word != NOT_CHECKED)

HERE = {"agrees": "agree", "mostly": "mostly agree", "seldom": "seldom agree", "disagrees": "disagree"}
"""Verdict → its verb after a number above 1."""


@dataclass(frozen=True, slots=True)
class StatementSummary:
    """A statement with its verdict on the chosen device.

    exhibit  label of its figure or table; anchor: id of that section
    why      one sentence with the cases that decide it; numbers: those of more cases, which the reader opens
    others   verdicts on the other devices, `–` without one
    """

    exhibit: str
    anchor: str
    statement: str
    verdict: str
    why: str
    numbers: str
    others: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PaperSummary:
    """All statements of a paper on one device.

    sentence  how many agree; counts: (verdict, number) of all statements, the unchecked ones last
    place     device, setting, and cache state of the verdicts; label: its name
    others    names of the other devices
    checked   statements with a verdict, in the order of the paper; unchecked: those without
    """

    sentence: str
    counts: tuple[tuple[str, int], ...]
    place: Place
    label: str
    others: tuple[str, ...]
    checked: tuple[StatementSummary, ...]
    unchecked: tuple[StatementSummary, ...]

    @property
    def is_checked(self) -> bool:
        """Whether any statement has a verdict."""
        return any(number for word, number in self.counts if word != NOT_CHECKED)

    def with_verdict(self, word: str) -> "PaperSummary":
        """Return the summary with the statements of one verdict only; of all verdicts if it is empty."""
        if not word:
            return self
        checked, unchecked = (
            tuple(row for row in rows if row.verdict == word) for rows in (self.checked, self.unchecked)
        )
        return replace(self, checked=checked, unchecked=unchecked)


def summary(
    all_verdicts: Sequence[Verdict],
    exhibits: Sequence[Exhibit],
    rows: Sequence[ScoreboardRow],
    chosen: str,
    cache: str = "",
) -> PaperSummary:
    """Return the summary for one device, from the place of its first row in the scoreboard.

    rows    rows of the scoreboard, the chosen device first
    chosen  name of the device
    cache   cache state of the verdicts; empty: that of the first row
    """
    papers = papers_verdicts(all_verdicts)
    places = [row.place for row in rows if any(row.counts[:-1])]
    first = next((place for place in places if place[0] == chosen and cache in ("", place[2])), None)
    others = [place for place in places if place != first]
    by_place = {place: {v.statement: v for v in papers if _place(v) == place and v.is_checked} for place in places}
    known = list(dict.fromkeys(v.statement for v in all_verdicts))
    checked = list[StatementSummary]()
    unchecked = list[StatementSummary]()
    for exhibit in exhibits:
        for statement in known:
            example = next(v for v in all_verdicts if v.statement == statement)
            if not exhibit.has(example.conclusion):
                continue
            verdict = by_place[first].get(statement) if first else None
            words = tuple(by_place[place][statement].word if statement in by_place[place] else "–" for place in others)
            row = _row(exhibit, verdict or _unchecked(papers, statement, chosen) or example, bool(verdict), words)
            (checked if verdict else unchecked).append(row)
    counts = Counter(row.verdict for row in (*checked, *unchecked))
    return PaperSummary(
        _sentence(counts, short(chosen) + (f" with a {first[2]} cache" if first and first != places[0] else "")),
        tuple((word, counts[word]) for word in VERDICTS),
        first or (chosen, "", ""),
        next((row.label for row in rows if row.place == first), chosen),
        tuple(row.label for row in rows if row.place in others),
        tuple(checked),
        tuple(unchecked),
    )


def _place(verdict: Verdict) -> Place:
    return verdict.device, verdict.setting, verdict.conclusion.cache


def _unchecked(papers: Sequence[Verdict], statement: tuple[str, str], device: str) -> Verdict | None:
    """Return the verdict of a device that has no numbers for a statement, because it has the reason."""
    return next((v for v in papers if v.statement == statement and v.device == device and not v.is_checked), None)


def _row(exhibit: Exhibit, verdict: Verdict, is_checked: bool, others: tuple[str, ...]) -> StatementSummary:
    cell = cell_of(verdict)
    word = cell.verdict if is_checked else NOT_CHECKED
    has_reason = is_checked or not verdict.is_checked
    why, numbers = (cell.why, cell.numbers) if has_reason else ("", "")
    return StatementSummary(exhibit.label, exhibit.id, verdict.conclusion.statement, word, why, numbers, others)


def _sentence(counts: Counter[str], device: str) -> str:
    """Return how many of the checked statements agree, in at most 25 words; device: its short name."""
    total = sum(counts[word] for word in CHECKED)
    if not total:
        return "No statement of this paper is checked yet."
    first, *rest = (f"{counts[word]} {HERE[word]}{'s' if counts[word] == 1 else ''}" for word in CHECKED)
    less = [text for word, text in zip(CHECKED[1:], rest, strict=True) if counts[word]]
    ending = f"; {', '.join(less)}" if less else ""
    return f"Of {total} checked statements, {first} on the {device}{ending}."
