"""Edge lists and what they mean: no standard and no reader of SciPy's, so docs/api.md is their document."""

import csv
import random
import re
from collections.abc import Iterator
from typing import Any

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


HEADINGS = ["source", "target", "from", "to", "src", "dst", "tail", "head", "u", "v", "node1", "node2", "id1", "id2"]


def _cells(line: bytes, first: str) -> list[str]:
    """The columns of a line of names, where this is the first line of the file."""
    try:
        text = line.decode().strip(" \t")
        if "," in first and '"' in text:
            return [cell.strip(" \t") for cell in next(csv.reader([text], skipinitialspace=True, strict=True))]
    except (UnicodeDecodeError, csv.Error):
        raise UnreadableError("no text") from None
    mark = "," if "," in first else "\t" if "\t" in first else ""
    return [cell.strip(" \t") for cell in (text.split(mark) if mark else re.split("[ \t]+", text))]


def _named_edges(lines: list[bytes]) -> list[tuple[str, str, float]]:
    """The edges of a list of names; raises UnreadableError."""
    first = lines[0].decode("utf-8", "replace").strip(" \t")
    heading, *rows = (_cells(line, first) for line in lines)
    need(rows and len(heading) in (2, 3), "columns")
    no_number = len(heading) == 3 and not re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?", heading[2], re.ASCII)
    has_heading = no_number or all(cell.lower() in HEADINGS for cell in heading[:2])
    if not has_heading:
        rows.insert(0, heading)
    need(all(len(row) == len(heading) for row in rows), "columns")
    for row in rows:
        need(all(cell and cell.isprintable() and not re.fullmatch("[+-]?[0-9]+", cell) for cell in row[:2]), "names")
    # Of the first two lines: what tells names from numbers.
    told = rows[: 1 if has_heading else 2]
    need(all(cell[0].isalpha() or cell[0] == "_" for row in told for cell in row[:2]), "names")
    return [(row[0], row[1], value(row[2]) if len(row) == 3 else 1.0) for row in rows]


def read(content: bytes, options: ReadOptions) -> Meaning:
    """The graph of a list, its ids replaced by their ranks; raises UnreadableError."""
    need(not content.lstrip().lower().startswith(b"%%matrixmarket"), "no edge list")
    lines = [line for line in lines_of(content) if line.strip(b" \t") and line.lstrip(b" \t")[:1] not in (b"#", b"%")]
    need(lines, "no edges")
    numbered = re.compile(rb"[ \t]*\d+([ \t]*,[ \t]*|[ \t]+)\d+([ \t,].*)?", re.DOTALL)
    refusable = LONG_LINE if any(len(line) >= LIMITS.line_bytes for line in lines) else ""
    if not any(numbered.fullmatch(line) for line in lines[:2]):
        return _graph(_named_edges(lines), options, refusable)
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
        edges.append((int(words[0]), int(words[1]), weight))
    return _graph(edges, options, refusable)


def _graph(edges: list[tuple[Any, Any, float]], options: ReadOptions, refusable: str) -> Meaning:
    """The matrix of edges, its ids replaced by their ranks; raises UnreadableError."""
    ids = {number: rank for rank, number in enumerate(sorted({end for edge in edges for end in edge[:2]}))}
    entries: dict[tuple[int, int], float] = {}
    for source, target, given in edges:
        weight = given if options.weights == "auto" else 1.0
        place = ids[source], ids[target]
        if not options.directed:
            place = max(place), min(place)
        old = entries.get(place)
        need(old is None or options.duplicates != "refuse", "repeated edge")
        entries[place] = weight if old is None or options.duplicates == "last" else old + weight
    need(all(abs(weight) < float("inf") for weight in entries.values()), "not finite")
    if not options.directed:
        entries |= {(col, row): weight for (row, col), weight in entries.items()}
    return Meaning(len(ids), len(ids), entries, refusable)


def written(rng: random.Random) -> bytes:
    """A list of random ids, columns, separators and comments."""
    gap, end, columns = rng.choice([" ", "\t", ",", " , "]), rng.choice(["\n", "\n", "\r\n"]), rng.choice([2, 3, 3])
    largest = rng.choice([5, 5, 1000, 2**31, 2**62, 2**63 - 1])
    known: list[Any] = [rng.randint(0, largest) for _ in range(5)] + [largest]
    if rng.random() < 0.4:
        known = ["alice", "Bob_7", "_x", "Ünal", "e5", *(['"an, ode"'] if "," in gap else ["an.ode"])]
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
