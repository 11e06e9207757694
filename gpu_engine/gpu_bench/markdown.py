"""Tables in Markdown."""

from collections.abc import Iterable, Iterator, Sequence


def table(title: str, head: str, rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table under its heading; `head` has ` | ` between its cells."""
    yield from (f"\n## {title}\n", f"| {head} |", "|" + " --- |" * (head.count(" | ") + 1))
    yield from (f"| {' | '.join(row)} |" for row in rows)
