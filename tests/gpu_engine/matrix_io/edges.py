"""Edge lists and what they mean: no standard and no reader of SciPy's, so docs/api.md is their document."""

import csv
import random
import re
from collections.abc import Iterator
from typing import Any, Literal

from gpu_engine.matrix_io import ReadOptions
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


KONECT = re.compile(
    r"% *(sym|asym|bip)( +(unweighted|positive|posweighted|signed|weighted|multi[a-z]*|dynamic))?[ \t]*", re.ASCII
)


def _konect(content: bytes) -> str:
    """What the first line says of a file of KONECT."""
    first = content.lstrip().split(b"\n")
    match = (
        KONECT.fullmatch(first[0].removesuffix(b"\r").decode("latin-1").replace("\t", " ")) if len(first) > 1 else None
    )
    return match[1] if match else ""


def _sizes(numbers: list[int], edges: list[tuple[int, int, float]], same: bool) -> tuple[int, int] | None:
    """Rows and columns by numbers before the edges; (0, 0): they count edges alone."""
    counted = [k for k in (len(edges), 2 * len(edges), len(edges) / 2) if k == int(k)]
    source, target = (max((edge[side] for edge in edges), default=-1) for side in (0, 1))
    if len(numbers) == 1:
        n = numbers[0]
        return (n, n) if max(source, target) <= n else (0, 0) if n in counted else None
    a, b = numbers[:2]
    if len(numbers) > 2 and numbers[2] in counted and source <= a and target <= b:
        return a, b
    if b in counted and max(source, target) <= a:
        return a, a
    if len(numbers) == 2 and a in counted and max(source, target) <= b:
        return b, b
    return (a, b) if len(numbers) == 2 and not same and source <= a and target <= b else None


def _numbered(words: list[str], columns: int) -> tuple[int, int, float]:
    need(len(words) == columns, "columns")
    need(all(re.fullmatch("[0-9]+", word) and int(word) < 2**63 for word in words[:2]), "ids")
    if columns == 4:
        value(words[3])
    return int(words[0]), int(words[1]), value(words[2]) if columns > 2 else 1.0


def read(content: bytes, options: ReadOptions) -> Meaning:
    """The graph of a list, its ids replaced by their ranks; raises UnreadableError."""
    need(not re.match(rb"\s*%[^\n]*matrixmarket", content, re.IGNORECASE), "no edge list")
    konect = _konect(content)
    lines = [line for line in lines_of(content) if line.strip(b" \t") and line.lstrip(b" \t")[:1] not in (b"#", b"%")]
    need(lines, "no edges")
    numbered = re.compile(rb"[ \t]*\d+([ \t]*,[ \t]*|[ \t]+)\d+([ \t,].*)?", re.DOTALL)
    alone = re.compile(rb"[ \t]*\d+[ \t]*")
    refusable = LONG_LINE if any(len(line) >= LIMITS.line_bytes for line in lines) else ""
    counts = []
    if alone.fullmatch(lines[0]):
        counts = [lines.pop(0)] + ([lines.pop(0)] if lines[1:] and alone.fullmatch(lines[1]) else [])
        need(lines and numbered.fullmatch(lines[0]), "no edges")
    elif not any(numbered.fullmatch(line) for line in lines[:2]):
        need(options.header != "sizes", "no sizes")
        return _graph(_named_edges(lines), options, refusable, konect, None)
    named = None if counts else NAMES.fullmatch(lines[0])
    if named:
        names = lines.pop(0)
        need(lines, "no edges")
    most = 4 if konect else 3
    width = [len(_words(line, b"," in line)) for line in lines[:2]]
    whole = re.fullmatch(rb"[ \t]*\d{1,19}(([ \t]*,[ \t]*|[ \t]+)\d{1,19})*[ \t]*", lines[0])
    if whole and not named and not counts and len(width) > 1 and width[1] != width[0] and 2 <= width[1] <= most:
        counts = [lines.pop(0)]
    comma = b"," in lines[0]
    columns = len(_words(lines[0], comma))
    need(2 <= columns <= most, "columns")
    if named:
        need(len(re.split(rb"[ \t]*,[ \t]*|[ \t]+", names.strip(b" \t"))) == columns, "names")
    edges = [_numbered(_words(line, comma), columns) for line in lines]
    numbers = [int(token) for line in counts for token in re.findall(rb"\d+", line)]
    sizes = None
    if counts:
        sizes = _sizes(numbers, edges, False)
        need(sizes and options.header == "sizes", "sizes are no edge")
    elif whole and not named:
        numbers = [int(token) for token in re.findall(rb"\d+", lines[0])]
        sizes = _sizes(numbers, edges[1:], len(numbers) == columns)
        need(sizes is None or options.header != "ask", "sizes or an edge")
        need(
            sizes is not None or options.header != "ask" or not _nearly(numbers, edges[1:]),
            "sizes that are a little off",
        )
        need(sizes or options.header != "sizes", "no sizes")
        edges = edges[1:] if options.header == "sizes" else edges
        need(edges, "no edges")
        sizes = sizes if options.header == "sizes" else None
    else:
        need(options.header != "sizes", "no sizes")
    if not konect:
        ends = sorted(1 + max(edge[side] for edge in edges) for side in (0, 1))
        open_sides = options.directed and options.ids == "ask" and not sizes and ends[1] >= 2 * ends[0]
        need(not open_sides, "a graph or rows and columns")
        times = columns == 3 and all(1e8 <= edge[2] < 1e13 and edge[2] % 1 == 0 for edge in edges)
        need(options.weights != "auto" or not times, "weights or times")
    return _graph(edges, options, refusable, konect, sizes)


def _nearly(numbers: list[int], edges: list[tuple[int, int, float]]) -> bool:
    """Whether the numbers would be sizes, but for a count that is off by one or a tenth."""
    if len(edges) < 4 or len(numbers) not in (2, 3):
        return False
    source, target = (max(edge[side] for edge in edges) for side in (0, 1))
    rows, cols = numbers[:2] if len(numbers) == 3 else (numbers[0], numbers[0])
    off = (10 * abs(numbers[-1] - n) <= max(10, n) for n in (len(edges), 2 * len(edges)))
    return source <= rows and target <= cols and any(off)


def _graph(
    edges: list[tuple[Any, Any, float]],
    options: ReadOptions,
    refusable: str,
    konect: str,
    sizes: tuple[int, int] | None,
) -> Meaning:
    """The matrix of edges, its ids replaced by their ranks; raises UnreadableError."""
    directed = konect != "sym" if options.directed is None else options.directed
    need(options.directed is not None or konect, "direction")
    apart = options.ids == "apart" or (options.ids == "ask" and konect == "bip")
    need(directed or not apart, "a direction")
    ends = [{edge[side] for edge in edges} for side in (0, 1)]
    if not apart:
        ends = [ends[0] | ends[1]] * 2
    places = [{number: rank for rank, number in enumerate(sorted(side))} for side in ends]
    shape = len(places[0]), len(places[1])
    if sizes and sizes != (0, 0):
        begin = min(1, *(min(edge[:2]) for edge in edges))
        need(directed or sizes[0] == sizes[1], "a direction")
        places = [{number: number - begin for number in side} for side in ends]
        shape = sizes
        need(all(edge[side] - begin < shape[side] for edge in edges for side in (0, 1)), "beyond the sizes")
        if max(shape) > max(LIMITS.dimension_free, LIMITS.dimension_per_entry * len(edges)):
            refusable = refusable or TOO_WIDE
    entries: dict[tuple[int, int], float] = {}
    for source, target, given in edges:
        weight = given if options.weights != "ignore" else 1.0
        place = places[0][source], places[1][target]
        if not directed:
            place = max(place), min(place)
        old = entries.get(place)
        need(old is None or options.duplicates != "refuse", "repeated edge")
        entries[place] = weight if old is None or options.duplicates == "last" else old + weight
    need(all(abs(weight) < float("inf") for weight in entries.values()), "not finite")
    if not directed:
        entries |= {(col, row): weight for (row, col), weight in entries.items()}
    return Meaning(*shape, entries, refusable)


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
    sides = [known, known]
    if rng.random() < 0.15:
        # As KONECT writes a list, with times.
        lines = [f"% {rng.choice(['sym', 'asym', 'bip'])} {rng.choice(['unweighted', 'positive', 'weighted'])}"]
        lines += rng.choice([[], ["% 8 9 9"]])
        columns = rng.choice([2, 3, 4])
    elif rng.random() < 0.2:
        # Rows and columns as of triplets.
        sides = [list(range(rng.randint(0, 1), 40)), list(range(rng.randint(0, 1), rng.choice([4, 12])))]
    n_edges = rng.randint(1, 8)
    if rng.random() < 0.25:
        n = rng.choice([largest, largest + 1, 40, 41])
        counts = [str(n), str(rng.choice([n, n, 12])), str(rng.choice([n_edges, n_edges, 2 * n_edges, n_edges + 1]))]
        lines += rng.choice(
            [
                [gap.join(counts)],
                [gap.join([counts[0], counts[2]])],
                [counts[0]],
                [counts[2]],
                [counts[0], counts[2]],
                [gap.join([*counts, "0"])],
                [gap.join(counts[1:])],
            ]
        )
    for _ in range(n_edges):
        time = rng.choice(["1082008561", "1.08e9", "0", "x"]) if rng.random() < 0.3 else "1200000000"
        words = [str(rng.choice(sides[0])), str(rng.choice(sides[1])), decimal_token(rng), time]
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


HEADERS: tuple[Literal["ask", "sizes", "edge"], ...] = ("ask", "sizes", "edge", "edge", "edge", "edge", "edge", "edge")
IDS: tuple[Literal["ask", "apart", "shared"], ...] = ("ask", "apart", "shared", "shared", "shared", "shared", "shared")


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
            directed=rng.choice([True, True, True, True, False, False, False, None]),
            weights=rng.choice(["auto", "auto", "values", "values", "ignore"]),
            duplicates=rng.choice(["sum", "sum", "last", "refuse"]),
            header=rng.choice(HEADERS),
            ids=rng.choice(IDS),
        )
        content = written(rng)
        name = f"{'directed' if options.directed else 'undirected'}, duplicates {options.duplicates}"
        yield judged(name, content, options)
        yield judged(f"{name}, changed", mutate(rng, content), options)
