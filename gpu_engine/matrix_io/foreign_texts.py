"""Recognizes unsupported text files of other programs by their first lines, and tells what to export instead."""

import re
from collections.abc import Callable
from itertools import islice

from gpu_engine.matrix_io.foreign_files import EDGES, MARKET, SAVE_NPZ

HEAD_BYTES = 65536
LINES = 1000
"""Number of lines at the begin of a file whose columns are counted."""

Patterns = tuple[tuple[bytes, str], ...]
METIS = f"This is a graph of METIS (or Chaco, hMETIS), whose lines list neighbors. {EDGES}"
ADJACENCY = (
    f"This is an adjacency list: a line holds a node and its neighbors. In NetworkX, use write_edgelist. {EDGES}"
)
NETWORKX = (
    "This is a list of NetworkX with attributes in braces. Write it with networkx.write_edgelist(G, file, data=False), "
    "or with write_weighted_edgelist."
)
CSV = "Keep two or three columns, source, target and weight, separated by commas, tabs or blanks."

FIRST: Patterns = (
    (rb"p[ \t]+[A-Za-z]+[ \t]+\d", f"This is a DIMACS file of another kind than sp, edge and col. {EDGES}"),
    (
        rb"(?:c(?:[ \t][^\n]*)?\r?\n\s*)+p[ \t]+[A-Za-z]+[ \t]+\d",
        f"This is a DIMACS file of another kind than sp, edge and col. {EDGES}",
    ),
    (rb"\*(?:vertices|network|arcs|edges|matrix|partition)\b", f"This is a Pajek file (.net). {MARKET}"),
    (rb"\*(?:node|tie)[ \t]+(?:data|properties)", f"This is a VNA file. {EDGES}"),
    (rb"dl[ \t,\r\n]", f"This is a UCINET file (.dl). {EDGES}"),
    (
        rb"(?:(?:#|creator|version|comment)[^\n]*\n\s*)*graph\s*\[",
        f"This is a GML graph. Export it as GraphML. {EDGES}",
    ),
    (
        rb"(?:(?://|/\*|#)[^\n]*\n\s*)*(?:strict\s+)?(?:di)?graph\b[^\n{\[]*\{",
        f"This is a DOT file of Graphviz. Convert it with gv2gml or NetworkX. {EDGES}",
    ),
    (rb"nodedef\s*>", f"This is a GDF file of GUESS. {EDGES}"),
    (rb"\(tlp\b", f"This is a Tulip graph. {EDGES}"),
    (rb"LEDA\.GRAPH", f"This is a LEDA graph. {EDGES}"),
    (rb">>(?:graph6|sparse6|digraph6)<<", f"This is a graph6 or sparse6 file. {EDGES}"),
    (rb"(?:Weighted)?Adjacency(?:Graph|Hypergraph)\s", f"This is an adjacency graph of Ligra (PBBS). {EDGES}"),
    (rb"(?:Weighted)?EdgeArray\s", f"This is an edge array of PBBS. Remove its first line. {EDGES}"),
    (rb"[{\[](?:\s*[\[{\"\]}\d-]|\s*\Z)", f"This is a JSON file. {EDGES}"),
    (rb"%YAML|---[ \t]*\r?\n", f"This is a YAML file. {EDGES}"),
    (rb"version https://git-lfs", "This is a pointer of Git LFS, not the file itself. Fetch it with git lfs pull."),
    (
        rb"# Created by Octave|(?:# name: [^\n]*\n)?# type: ",
        f"This is a text of Octave. In Octave, use save -v7. {MARKET}",
    ),
    (
        rb"(?:[A-Z_]+[ \t]*:[^\n]*\n\s*)*(?:EDGE_WEIGHT_TYPE|EDGE_DATA_FORMAT|NODE_COORD_TYPE|TYPE[ \t]*:[ \t]*"
        rb"(?:TSP|ATSP|HCP|SOP|CVRP|TOUR))",
        f"This is a TSPLIB file. {EDGES}",
    ),
    (
        rb"(?:\*[^\n]*\n)*NAME\b[^\n]*\n(?:[* \t][^\n]*\n|OBJSENSE[^\n]*\n)*+ROWS[ \t]*\r?\n",
        f"This is a linear program (MPS). {MARKET}",
    ),
    (
        rb"(?:\\[^\n]*\n\s*)*(?:max|min)(?:imi[sz]e|imum)?\b[^\n]*(?:\n[^\n]*){0,400}?"
        rb"\n\s*(?:subject to|st|s\.t\.|such that)\b",
        f"This is a linear program (LP). {MARKET}",
    ),
    (
        rb"(?:Mat|Vec) Object:|row 0: *\(",
        f"This is a matrix of PETSc as text. Write it with PetscViewerBinaryOpen. {MARKET}",
    ),
    (rb"Epetra::|Tpetra::|Number of (?:Global|My) |Processor\s+Row Index", f"This is a print of Trilinos. {MARKET}"),
    (
        rb"<(?:Compressed|COO|List of|Dictionary|DIAgonal|Block)|<\d+x\d+ sparse|\(\d+, \d+\)\t",
        f"This is a print of SciPy. {SAVE_NPZ}",
    ),
    (rb"\(\d+,\d+\)[ \t]+\S", f"This is a print of MATLAB or Octave. In MATLAB, use save with '-v7'. {MARKET}"),
    (rb"\(?[\"']?[\w.]+[\"']?[ \t]*->[ \t]*[\"']?\w", f"The lines join nodes by arrows. {EDGES}"),
    (rb"[(\[]\s*[\"']?\w+[\"']?\s*,\s*[\"']?\w+[\"']?\s*[,)\]]", f"The lines are tuples of Python. {EDGES}"),
    (rb"SparseArray\[", f'This is a text of Mathematica. Export it as "MTX". {MARKET}'),
    (
        rb"\d+(?:x|\xc3\x97)\d+ Sparse",
        f"This is a print of Julia. Write the matrix with MatrixMarket.mmwrite. {MARKET}",
    ),
    (
        rb"(?:\d+(?:[ \t]+[A-Za-z\"][^\n]*)?\r?\n)+#[ \t]*\r?\n",
        f"This is a graph in Trivial Graph Format. Keep the lines behind '#'. {EDGES}",
    ),
    (rb"33D32945", f"This is a Steiner tree problem (STP). {EDGES}"),
    (rb"# vtk DataFile|\$MeshFormat|OFF\s|ply\s|solid\s", f"This is a mesh, not a matrix. {MARKET}"),
    (rb"#BVGraph", f"This is a description of a graph of WebGraph, not the graph. {EDGES}"),
    (
        rb"[+-]?\d+(?:\.\d+)?(?:[ \t]+\d+:[-+.\deE]+)+[ \t]*(?:#[^\n]*)?\r?(?:\n|\Z)",
        f"This is a LIBSVM (SVMlight) file. In Python, load_svmlight_file reads it. {SAVE_NPZ}",
    ),
    (
        rb"[\"']?\w+[\"']?[ \t]*([;|]|::)[ \t]*[\"']?\w+[\"']?[ \t]*(?:\1[^\n]*)?\r?(?:\n|\Z)",
        f"The columns are separated by semicolons, bars or colons. {CSV}",
    ),
    (
        rb"(?i:\"?(?:source|src|from|id)\"?)[ \t]*[,\t][ \t]*"
        rb"(?i:\"?(?:target|dst|dest|to|label)\"?)[ \t]*[,\t][^,\t\n]+[,\t]",
        f"This is a table (as of Gephi) with more than three columns. {CSV}",
    ),
)
"""Begin of a file, after a byte order mark and blanks → kind of the file, and what to do."""

BEHIND_COMMENTS: Patterns = (
    (rb"[^\s#%][^\n]*[ \t]\{[^{}\n]*\}[ \t]*\r?(?:\n|\Z)", NETWORKX),
    (rb"\S+[ \t]+\d+[ \t]*\r?\n\S+[ \t]+\{[^{}\n]*\}", f"This is a multiline adjacency list of NetworkX. {NETWORKX}"),
)
"""Pattern of the first line that is not a comment → kind of the file."""

_FIRST = tuple(
    (re.compile(pattern, re.IGNORECASE if pattern[:2] in (rb"dl", rb"\*", rb"(?") else 0), words)
    for pattern, words in FIRST
)
_BEHIND = tuple((re.compile(pattern), words) for pattern, words in BEHIND_COMMENTS)
NETWORKX_COMMENTS = re.compile(rb"#[^\n]*\n# GMT [^\n]*\n#")
"""First line that NetworkX writes only before adjacency lists."""

WHOLE = re.compile(rb"\d{1,18}")
NUMBER = re.compile(rb"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eEdD][+-]?\d+)?|[+-]?(?:nan|inf)", re.IGNORECASE)
COMMENTS = re.compile(rb"(?>(?>[ \t]*+[#%][^\n]*+|[ \t]*+\r?+)\n)*+")


def explain_text(head: bytes) -> str:
    """Return the kind of an unsupported text by its head, and what to do; "" for other texts."""
    text = head.removeprefix(b"\xef\xbb\xbf")
    start = text[:HEAD_BYTES].lstrip()
    if words := next((words for pattern, words in _FIRST if pattern.match(start)), ""):
        return words
    if _is_lgl(start):
        return f"This is a graph of LGL, whose lines list neighbors below a node. {EDGES}"
    passed = COMMENTS.match(text)
    behind = text[passed.end() if passed else 0 :]
    if words := next((words for pattern, words in _BEHIND if pattern.match(behind[:HEAD_BYTES].lstrip(b" \t"))), ""):
        return words
    if NETWORKX_COMMENTS.match(start):
        return ADJACENCY
    lines = _number_lines(behind, is_whole=len(head) < HEAD_BYTES)
    return next((words for is_it, words in SHAPES if lines and is_it(lines)), "")


def _number_lines(text: bytes, is_whole: bool) -> list[list[bytes]]:
    """Return the tokens of the first lines that are not comments; empty if a token is not a number."""
    rows = []
    lines = text.split(b"\n", LINES)
    # The last one is what is left, or a line that may be cut.
    if len(lines) > LINES or not is_whole or not lines[-1]:
        lines.pop()
    for line in islice(lines, LINES):
        tokens = re.split(rb"[ \t]*,[ \t]*|[ \t]+", line.strip())
        if tokens[0][:1] in (b"#", b"%") and tokens[0]:
            continue
        if tokens != [b""] and not all(NUMBER.fullmatch(token) for token in tokens):
            return []
        rows.append([token for token in tokens if token])
    return rows


def _is_lgl(text: bytes) -> bool:
    """Return whether lines `# node` head lines of neighbors; the nodes are known from their other mentions."""
    if not re.match(rb"#[ \t]+\S+[ \t]*\r?\n", text):
        return False
    heads, members = [], set()
    for line in text.split(b"\n")[:-1]:
        tokens = line.split()
        if tokens[:1] == [b"#"]:
            if len(tokens) != 2:
                return False
            heads.append(tokens[1])
        elif len(tokens) > 2 or (len(tokens) == 2 and not NUMBER.fullmatch(tokens[1])):
            return False
        elif tokens:
            members.add(tokens[0])
    others = set(heads)
    return len(heads) > 1 and len(others) == len(heads) and (bool(others & members) or all(map(WHOLE.fullmatch, heads)))


def _all_whole(lines: list[list[bytes]]) -> bool:
    return all(WHOLE.fullmatch(token) for line in lines for token in line)


def _is_metis(lines: list[list[bytes]]) -> bool:
    """Return whether `nodes edges` comes before a line of neighbors for each node, which are mutual."""
    if not _all_whole(lines) or not 2 <= len(lines[0]) <= 4:
        return False
    n, m, *_ = map(int, lines[0])
    rows = [list(map(int, line)) for line in lines[1:]]
    if len(rows) == n and max(map(len, rows), default=0) > 3 and all(0 not in row for row in rows):
        return True
    if any(not 1 <= end <= n for row in rows for end in row):
        return False
    widths = {len(row) for row in rows}
    if len(lines) >= LINES:
        return len(widths) > 2 and n >= len(rows)
    edges = {(node, end) for node, row in enumerate(rows, 1) for end in row}
    mutual = all((end, node) in edges for node, end in edges)
    return 0 < len(rows) == n and sum(map(len, rows)) == 2 * m and mutual and (m > 1 or widths != {2})


def _is_ij(lines: list[list[bytes]]) -> bool:
    """Return whether first and last row and column come before triplets between them, as hypre writes a part."""
    if len(lines) < 2 or len(lines[0]) != 4 or not _all_whole(lines[:1]):
        return False
    rows = [line for line in lines[1:] if line]
    low, high, left, right = map(int, lines[0])
    return (
        low <= high
        and left <= right
        and all(len(row) == 3 and WHOLE.fullmatch(row[0]) and low <= int(row[0]) <= high for row in rows)
    )


def _is_adjacency(lines: list[list[bytes]]) -> bool:
    """Return whether each line begins with another node, and the lines have various lengths."""
    rows = [line for line in lines if line]
    widths = {len(row) for row in rows}
    return _all_whole(rows) and len(widths) > 2 and max(widths) > 3 and len({row[0] for row in rows}) == len(rows) > 2


def _is_dense(lines: list[list[bytes]]) -> bool:
    """Return whether all lines have as many numbers, more than an edge has, or decimals where an edge has ids."""
    rows = [line for line in lines if line]
    width = len(rows[0]) if rows else 0
    if len({len(row) for row in rows}) != 1:
        return False
    decimals = any(not token.isdigit() and b"." in token for row in rows for token in row[:2])
    return width > 4 or (width > 1 and decimals and all(b"." in row[0] for row in rows))


SHAPES: tuple[tuple[Callable[[list[list[bytes]]], bool], str], ...] = (
    (_is_metis, METIS),
    (_is_ij, f"This is a part of a matrix of hypre (IJ). {MARKET}"),
    (_is_adjacency, ADJACENCY),
    (_is_dense, f"This is a dense matrix as text. In Python, read it with numpy.loadtxt. {SAVE_NPZ}"),
)
"""Function that recognizes a format of only numbers → kind of the file, and what to do."""
