"""DIMACS graphs that are no graph: name → (file, words of the error)."""

DIMACS = b"c tiny road\nc\np sp 4 3\na 1 2 5\nc between\na 2 3 7.5\na 3 1 -2\n"

BAD: dict[str, tuple[bytes, str]] = {
    "more arcs promised": (DIMACS.replace(b"sp 4 3", b"sp 4 4"), "promises 4 arcs, but the file has 3"),
    "a node outside": (DIMACS.replace(b"a 1 2 5", b"a 1 5 5"), "The node 5 is outside 1 … 4"),
    "a node 0": (DIMACS.replace(b"a 1 2 5", b"a 0 2 5"), "The node 0 is outside 1 … 4"),
    "a line without its letter": (DIMACS.replace(b"a 1 2 5", b"1 2 5"), "Line 4: '1 2 5' does not begin with 'a'"),
    "an arc without its weight": (
        DIMACS.replace(b"a 1 2 5", b"a 1 2"),
        "Line 4: 'a 1 2' is not 'a source target weight'",
    ),
    "a weight that is no number": (
        DIMACS.replace(b"a 1 2 5", b"a 1 2 x"),
        "Line 4: The value 'x' is not a decimal number",
    ),
    "a weight that overflows": (DIMACS.replace(b"a 1 2 5", b"a 1 2 1e999"), "Line 4: The value '1e999' overflows"),
    "a comment of another format": (DIMACS.replace(b"a 1 2 5", b"# 1 2 5"), "Line 4: '# 1 2 5' does not begin"),
    "an edge among arcs": (DIMACS.replace(b"a 1 2 5", b"e 1 2 5"), "Line 4: 'e 1 2 5' does not begin"),
    "a problem line too long": (DIMACS.replace(b"p sp 4 3", b"p sp 4 3 1"), "Line 3: 'p sp 4 3 1' is not of the form"),
    "a weight of an edge": (b"p edge 3 2\ne 1 2 4\ne 2 3 4\n", "is not 'e node node'"),
}
