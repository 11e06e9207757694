"""Choice of the reader on the page of a paper, and the links that change it: device, cache state, and verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from gpu_engine.records import CACHES
from web.components import Link
from web.papers.components import Scoreboard, ScoreboardRow
from web.papers.statements import VERDICTS
from web.papers.summary import PaperSummary
from web.selection import choice_error

PARAMETERS = ("device", "cache", "verdict", "matrix")

VALUES: Mapping[str, str] = {word.replace(" ", "-"): word for word in VERDICTS}
"""Value of the parameter `verdict` → the verdict."""


@dataclass(frozen=True, slots=True)
class PaperChoice:
    """Parameters of the address of a paper page; empty: the default.

    path    address of the page without parameters
    matrix  matrix selected in the form
    """

    path: str
    device: str = ""
    cache: str = ""
    verdict: str = ""
    matrix: str = ""

    @property
    def word(self) -> str:
        """The chosen verdict as a word, or empty."""
        return VALUES.get(self.verdict, "")

    @property
    def href(self) -> str:
        """Address of the page with this choice."""
        options = {name: value for name in PARAMETERS if (value := getattr(self, name))}
        return f"{self.path}?{urlencode(options)}" if options else self.path

    def on(self, device: str) -> str:
        """Return the address of the same choice on another device, in its default cache state."""
        return replace(self, device=device, cache="").href

    def checked(self) -> "PaperChoice":
        """Return this choice; raises ParameterError for an unknown cache state or verdict."""
        if self.cache not in ("", *CACHES):
            raise choice_error("cache", self.cache, dict.fromkeys(CACHES, ""))
        if self.verdict not in ("", *VALUES):
            raise choice_error("verdict", self.verdict, VALUES)
        return self


def verdict_links(choice: PaperChoice, counts: Sequence[tuple[str, int]]) -> tuple[Link, ...]:
    """Return the links of the statements by verdict, first the one of all; without an address for a count of 0.

    counts  pairs of (verdict, number)
    """
    total = sum(number for _, number in counts)
    values = {word: value for value, word in VALUES.items()}
    every = Link(f"all {total}", replace(choice, verdict="").href, not choice.verdict)
    return (
        every,
        *(
            Link(f"{word} {number}", replace(choice, verdict=values[word]).href if number else "", word == choice.word)
            for word, number in counts
        ),
    )


def board_links(
    choice: PaperChoice, board: Scoreboard, summary: PaperSummary, ids: Mapping[str, str]
) -> tuple[tuple[Link, ...], ...]:
    """Return a link per count of the scoreboard, by row; without an address for 0, and if the row has no page.

    ids  name of a device → its id
    """
    return tuple(
        tuple(
            Link(
                str(count), target.href if target and count else "", row.place == summary.place and word == choice.word
            )
            for word, count in zip(board.verdicts, row.counts, strict=True)
            for target in [_target(choice, row, board, ids, word)]
        )
        for row in board.rows
    )


def _target(
    choice: PaperChoice, row: ScoreboardRow, board: Scoreboard, ids: Mapping[str, str], word: str
) -> PaperChoice | None:
    """Return the choice that shows the statements of a count; None if another row has the same address."""
    device, _, cache = row.place
    same = [each.place for each in board.rows if each.place[0] == device]
    alike = [place for place in same if place[2] == cache]
    if alike[0] != row.place or device not in ids:
        return None
    value = next(value for value, known in VALUES.items() if known == word)
    return replace(choice, device=ids[device], cache="" if same[0] == row.place else cache, verdict=value)
