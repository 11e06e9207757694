"""DIMACS graphs and what they mean: `p sp` of the ninth challenge, `p edge` of the second, and docs/api.md."""

import random
import re
from collections.abc import Iterator

from tests.gpu_engine.matrix_io.case import (
    LIMITS,
    LONG_LINE,
    TOO_WIDE,
    Case,
    Meaning,
    UnreadableError,
    decimal_token,
    mutate,
    value,
)
from tests.gpu_engine.matrix_io.market import lines_of, need, words_of


def read(content: bytes) -> Meaning:
    """The matrix of a graph; raises UnreadableError."""
    lines = [line for line in lines_of(content) if line.strip(b" \t")]
    lines = [line for line in lines if line.strip(b" \t") != b"c" and not re.match(rb"[ \t]*c[ \t\r]", line)]
    need(lines, "empty")
    head = words_of(lines.pop(0))
    need(len(head) == 4 and head[0] == "p" and head[1] in ("sp", "edge", "edges", "col"), "p")
    need(all(re.fullmatch("[0-9]{1,18}", word) for word in head[2:]), "p")
    n, m, is_sp = int(head[2]), int(head[3]), head[1] == "sp"
    need(len(lines) == m or (not is_sp and m in (2 * len(lines), len(lines) / 2)), "number of lines")
    entries: dict[tuple[int, int], float] = {}
    for line in lines:
        words = words_of(line)
        need(words[0] == ("a" if is_sp else "e") and len(words) == (4 if is_sp else 3), "columns")
        need(all(re.fullmatch("[0-9]+", word) and 1 <= int(word) <= n for word in words[1:3]), "nodes")
        ends = int(words[1]) - 1, int(words[2]) - 1
        place = ends if is_sp else (max(ends), min(ends))
        entries[place] = entries.get(place, -0.0) + (value(words[3]) if is_sp else 1.0)
    need(all(abs(number) < float("inf") for number in entries.values()), "not finite")
    if not is_sp:
        entries |= {(col, row): number for (row, col), number in entries.items()}
    wide = n > max(LIMITS.dimension_free, LIMITS.dimension_per_entry * m)
    long = any(len(line) >= LIMITS.line_bytes for line in lines)
    return Meaning(n, n, entries, TOO_WIDE if wide else LONG_LINE if long else "")


def written(rng: random.Random) -> bytes:
    """A graph of random nodes, spacing, comments and line ends."""
    is_sp, n, n_lines = rng.random() < 0.6, rng.randint(1, 6), rng.randint(0, 8)
    gap, end = rng.choice([" ", "  ", "\t"]), rng.choice(["\n", "\n", "\r\n"])
    lines = list(rng.choice([[], ["c a comment"], ["c", "", "c " + "x" * 9000]]))
    m = n_lines if is_sp else rng.choice([n_lines, n_lines, 2 * n_lines])
    lines.append(gap.join(["p", "sp" if is_sp else rng.choice(["edge", "col", "edges"]), str(n), str(m)]))
    for _ in range(n_lines):
        words = ["a" if is_sp else "e", str(rng.randint(1, n)), str(rng.randint(1, n)), decimal_token(rng)]
        lines.append(gap.join(words if is_sp else words[:3]) + rng.choice(["", "", " "]))
        lines += rng.choice([[], [], [], ["", "c between"]])
    return (end.join(lines) + rng.choice([end, end, ""])).encode()


def judged(name: str, content: bytes) -> Case:
    try:
        meaning: Meaning | None = read(content)
    except UnreadableError:
        meaning = None
    return Case("DIMACS", name, content, meaning)


def generate(rng: random.Random) -> Iterator[Case]:
    """Graphs of both kinds, and the same with a few bytes changed."""
    while True:
        content = written(rng)
        yield judged("graph", content)
        yield judged("graph, changed", mutate(rng, content))
