"""Reader of edge lists such as SNAP's: lines `source target [weight]`; ids are integers or names, relabeled."""

import re
from contextlib import closing
from pathlib import Path

from gpu_engine.errors import MatrixFileError
from gpu_engine.matrix_io.base import ReadLimits, ReadResult
from gpu_engine.matrix_io.decompress import content_blocks, read_head
from gpu_engine.matrix_io.edge_matrix import Reading, build, notes
from gpu_engine.matrix_io.foreign_texts import explain_text
from gpu_engine.matrix_io.list_header import COMMENTS, PASSED, could_be_times, declared, extent
from gpu_engine.matrix_io.market_header import is_banner
from gpu_engine.matrix_io.named_edges import EdgeChunk, NamedEdges, are_names
from gpu_engine.matrix_io.numbered_edges import COUNT, NAMES, NO_SIZES, NumberedEdges
from gpu_engine.matrix_io.options import LIST, ReadOptions
from gpu_engine.matrix_io.text import Lines

EDGE = re.compile(rb"[ \t]*\d+(?:[ \t]*,[ \t]*|[ \t]+)\d+(?:[ \t,].*)?\r?")
CHOOSE = (
    "This looks like an edge list, but it is unknown whether a line 'u v' is the edge u → v or both directions. "
    "If it is a Matrix Market file, its first line is missing: "
    "'%%MatrixMarket matrix coordinate real general'."
)
SIDES = (
    "Sources have ids up to {source}, targets up to {target}: rows and columns may share their ids, as in a graph, or "
    "have separate ids, as in a matrix."
)


class EdgeList:
    """Reader of edge lists; rows are sources, columns are targets, in the order of sorted ids."""

    name = "edge list"

    def __init__(self, options: ReadOptions | None = None) -> None:
        self.options = options or ReadOptions()

    def recognizes(self, head: bytes) -> bool:
        """Return whether the first line after comments is an edge, or a heading before an edge."""
        if b"\0" in head or is_banner(head) or explain_text(head):
            return False
        first, second, third = _first_lines(head)
        if COUNT.fullmatch(first) and (EDGE.fullmatch(second) or (COUNT.fullmatch(second) and EDGE.fullmatch(third))):
            return True
        return bool(EDGE.fullmatch(first)) or _names_columns(first, second) or are_names(first, second)

    def leaves_open(self, head: bytes) -> tuple[str, ...]:  # noqa: ARG002
        """Return the options that apply to edge lists."""
        return LIST

    def with_options(self, options: ReadOptions) -> "EdgeList":
        """Return the reader with these options."""
        return EdgeList(options)

    def refusal(self, head: bytes) -> MatrixFileError | None:
        """Return the error of a list whose direction is unknown, else None."""
        if self.options.directed is not None or declared(head).directed is not None:
            return None
        return MatrixFileError(CHOOSE, hint="choose_direction")

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises TooLargeError, or MatrixFileError, also if the direction is unknown."""
        head = read_head(path, limits)
        if refusal := self.refusal(head):
            raise refusal
        declarations = declared(head)
        with closing(content_blocks(path, limits)) as blocks:
            lines = Lines(blocks, limits, COMMENTS)
            edges: NumberedEdges | NamedEdges = (
                NamedEdges(lines, self.options, limits)
                if _has_names(path, limits)
                else NumberedEdges(lines, self.options, limits, 4 if declarations.konect else 3)
            )
            chunks = list(edges.chunks())
        if isinstance(edges, NamedEdges) and self.options.header == "sizes":
            raise MatrixFileError(NO_SIZES)
        sizes = edges.take_sizes(chunks) if isinstance(edges, NumberedEdges) else None
        directed = declarations.directed if self.options.directed is None else self.options.directed
        apart = self.options.ids == "apart" or (self.options.ids == "ask" and declarations.konect == "bip")
        reading = Reading(self.options, bool(directed), apart, sizes, declarations)
        if isinstance(edges, NumberedEdges) and not declarations.konect:
            self._check_columns(chunks, reading, edges.columns)
        result, reach, is_disjoint = build(chunks, reading, limits, edges.relabelling_note)
        sentences = tuple(notes(result, reading, reach, is_disjoint, edges.columns, edges.final_newline))
        return ReadResult(result.matrix, sentences, result.duplicates)

    def _check_columns(self, chunks: list[EdgeChunk], reading: Reading, columns: int) -> None:
        """Raise the error that asks for options of numeric columns."""
        reach = extent(chunks)
        if reading.directed and self.options.ids == "ask" and not reading.sizes and reach.is_lopsided:
            raise MatrixFileError(SIDES.format(source=reach.source, target=reach.target), hint="choose_ids")
        if columns > 2 and self.options.weights == "auto" and could_be_times(chunks):
            raise MatrixFileError(
                "The third column may be weights or times, because all its numbers are large integers.",
                hint="choose_weights",
            )


def _first_lines(text: bytes) -> tuple[bytes, bytes, bytes]:
    """Return the first three lines that are not comments, without line ends."""
    lines_read = []
    for _ in range(3):
        passed = PASSED.match(text)
        line, _, text = text[passed.end() if passed else 0 :].partition(b"\n")
        lines_read.append(line)
    return lines_read[0], lines_read[1], lines_read[2]


def _has_names(path: Path, limits: ReadLimits) -> bool:
    """Return whether the ids of a file are names."""
    with closing(content_blocks(path, limits)) as blocks:
        lines = Lines(blocks, limits, COMMENTS)
        lines_read = []
        for _ in range(2):
            lines.skip_comments()
            lines_read.append(lines.next_line() or b"")
    return (
        not EDGE.fullmatch(lines_read[0])
        and not COUNT.fullmatch(lines_read[0])
        and not _names_columns(*lines_read)
        and are_names(*lines_read)
    )


def _names_columns(first: bytes, second: bytes) -> bool:
    """Return whether the first line is a heading and the second an edge with numeric ids."""
    named = NAMES.fullmatch(first) and EDGE.fullmatch(second)
    return bool(named) and _columns(first) == _columns(second)


def _columns(line: bytes) -> int:
    return len(re.split(rb"[ \t]*,[ \t]*|[ \t]+", line.strip()))
