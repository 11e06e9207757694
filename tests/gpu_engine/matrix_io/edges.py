"""Edge lists and what they mean: no standard and no reader of SciPy's, so docs/api.md is their document."""

import random
import re
from collections.abc import Iterator

from gpu_engine.matrix_io import ReadOptions
from tests.gpu_engine.matrix_io.case import (
    LIMITS,
    LONG_LINE,
    Case,
    Meaning,
    UnreadableError,
    decimal_token,
    mutate,
    value,
)
from tests.gpu_engine.matrix_io.market import lines_of, need

NAMES = re.compile(rb"[ \t]*[A-Za-z_\"].*", re.DOTALL)


def _words(line: bytes, comma: bool) -> list[str]:
    line = line.strip(b" \t")
    parts = [part.strip(b" \t") for part in line.split(b",")] if comma else re.split(rb"[ \t]+", line)
    return [part.decode("latin-1") for part in parts]


def read(content: bytes, options: ReadOptions) -> Meaning:
    """The graph of a list, its ids replaced by their ranks; raises UnreadableError."""
    need(not content.lstrip().lower().startswith(b"%%matrixmarket"), "no edge list")
    lines = [line for line in lines_of(content) if line.strip(b" \t") and line.lstrip(b" \t")[:1] not in (b"#", b"%")]
    need(lines, "no edges")
    named = NAMES.fullmatch(lines[0])
    if named:
        names = lines.pop(0)
        need(lines, "no edges")
    comma = b"," in lines[0]
    columns = len(_words(lines[0], comma))
    need(columns in (2, 3), "columns")
    if named:
        need(len(re.split(rb"[ \t]*,[ \t]*|[ \t]+", names.strip(b" \t"))) == columns, "names")
    edges = []
    for line in lines:
        words = _words(line, comma)
        need(len(words) == columns, "columns")
        need(all(re.fullmatch("[0-9]+", word) and int(word) < 2**63 for word in words[:2]), "ids")
        weight = value(words[2]) if columns == 3 else 1.0
        edges.append((int(words[0]), int(words[1]), weight if options.weights == "auto" else 1.0))
    ids = {number: rank for rank, number in enumerate(sorted({end for edge in edges for end in edge[:2]}))}
    entries: dict[tuple[int, int], float] = {}
    for source, target, weight in edges:
        place = ids[source], ids[target]
        if not options.directed:
            place = max(place), min(place)
        old = entries.get(place)
        need(old is None or options.duplicates != "refuse", "repeated edge")
        entries[place] = weight if old is None or options.duplicates == "last" else old + weight
    need(all(abs(weight) < float("inf") for weight in entries.values()), "not finite")
    if not options.directed:
        entries |= {(col, row): weight for (row, col), weight in entries.items()}
    refusable = LONG_LINE if any(len(line) >= LIMITS.line_bytes for line in lines) else ""
    return Meaning(len(ids), len(ids), entries, refusable)


def written(rng: random.Random) -> bytes:
    """A list of random ids, columns, separators and comments."""
    gap, end, columns = rng.choice([" ", "\t", ",", " , "]), rng.choice(["\n", "\n", "\r\n"]), rng.choice([2, 3, 3])
    largest = rng.choice([5, 5, 1000, 2**31, 2**62, 2**63 - 1])
    known = [rng.randint(0, largest) for _ in range(5)] + [largest]
    lines = rng.choice(
        [[], ["# a comment"], ["% one", "", "#" * 9000], [gap.join(["source", "target", "weight"][:columns])]]
    )
    lines = list(lines)
    for _ in range(rng.randint(1, 8)):
        words = [str(rng.choice(known)), str(rng.choice(known)), decimal_token(rng)]
        lines.append(gap.join(words[:columns]) + rng.choice(["", "", " "]))
        lines += rng.choice([[], [], [], ["", "# between"]])
    return (end.join(lines) + rng.choice([end, end, ""])).encode()


ODD = {
    "comments of 500 kB": b"# " + b"x" * 500_000 + b"\n1 2\n",
    "CR at the end": b"1 2\n2 3\r",
    "an underflow": b"1 2 1e-400\n",
    "an underflow of digits": b"1 2 0." + b"0" * 340 + b"1\n",
    "a zero of many digits": b"1 2 0." + b"0" * 340 + b"\n",
    "2^64": b"1 2 18446744073709551616\n",
    "a non-breaking space": b"1 2\xa03\n",
    "NUL": b"1 2\n1 \x003\n",
}


def judged(name: str, content: bytes, options: ReadOptions) -> Case:
    try:
        meaning: Meaning | None = read(content, options)
    except UnreadableError:
        meaning = None
    return Case("edge list", name, content, meaning, options)


def generate(rng: random.Random) -> Iterator[Case]:
    """Lists read in every way, and the same with a few bytes changed."""
    for name, content in ODD.items():
        yield judged(name, content, ReadOptions(directed=True))
    while True:
        options = ReadOptions(
            directed=rng.random() < 0.5,
            weights=rng.choice(["auto", "auto", "ignore"]),
            duplicates=rng.choice(["sum", "last", "refuse"]),
        )
        content = written(rng)
        name = f"{'directed' if options.directed else 'undirected'}, duplicates {options.duplicates}"
        yield judged(name, content, options)
        yield judged(f"{name}, changed", mutate(rng, content), options)
