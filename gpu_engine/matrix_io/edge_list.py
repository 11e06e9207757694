"""Edge lists as of SNAP: a line `source target`, or with a weight; ids are whole numbers, or names, and relabelled."""

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
    "This looks like an edge list, which does not say whether a line 'u v' is the edge u → v or stands for both "
    "directions. If it is meant as Matrix Market, its first line is missing: "
    "'%%MatrixMarket matrix coordinate real general'."
)
SIDES = (
    "Sources go to {source} and targets to {target}: rows and columns may share one set of ids, as in a graph, or have "
    "ids of their own, as in a matrix."
)


class EdgeList:
    """The reader of edge lists; rows are sources, columns targets, both the sorted ids."""

    name = "edge list"

    def __init__(self, options: ReadOptions | None = None) -> None:
        self.options = options or ReadOptions()

    def recognises(self, head: bytes) -> bool:
        """Whether the first line that is no comment is an edge, or names columns before one."""
        if b"\0" in head or is_banner(head) or explain_text(head):
            return False
        first, second, third = _first_lines(head)
        if COUNT.fullmatch(first) and (EDGE.fullmatch(second) or (COUNT.fullmatch(second) and EDGE.fullmatch(third))):
            return True
        return bool(EDGE.fullmatch(first)) or _names_columns(first, second) or are_names(first, second)

    def leaves_open(self, head: bytes) -> tuple[str, ...]:  # noqa: ARG002
        """What a line of an edge stands for."""
        return LIST

    def told(self, options: ReadOptions) -> "EdgeList":
        """The reader of lists that are read so."""
        return EdgeList(options)

    def refusal(self, head: bytes) -> MatrixFileError | None:
        """The error of a list without a direction."""
        if self.options.directed is not None or declared(head).directed is not None:
            return None
        return MatrixFileError(CHOOSE, hint="choose_direction")

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """The matrix of the file; raises TooLargeError, and MatrixFileError, also where no direction was chosen."""
        head = read_head(path, limits)
        if refusal := self.refusal(head):
            raise refusal
        said = declared(head)
        with closing(content_blocks(path, limits)) as blocks:
            lines = Lines(blocks, limits, COMMENTS)
            edges: NumberedEdges | NamedEdges = (
                NamedEdges(lines, self.options, limits)
                if _has_names(path, limits)
                else NumberedEdges(lines, self.options, limits, 4 if said.konect else 3)
            )
            found = list(edges.chunks())
        if isinstance(edges, NamedEdges) and self.options.header == "sizes":
            raise MatrixFileError(NO_SIZES)
        sizes = edges.take_sizes(found) if isinstance(edges, NumberedEdges) else None
        directed = said.directed if self.options.directed is None else self.options.directed
        apart = self.options.ids == "apart" or (self.options.ids == "ask" and said.konect == "bip")
        reading = Reading(self.options, bool(directed), apart, sizes, said)
        if isinstance(edges, NumberedEdges) and not said.konect:
            self._check_columns(found, reading, edges.columns)
        result, reach, is_disjoint = build(found, reading, limits, edges.relabelled)
        sentences = tuple(notes(result, reading, reach, is_disjoint, edges.columns, edges.final_newline))
        return ReadResult(result.matrix, sentences, result.duplicates)

    def _check_columns(self, found: list[EdgeChunk], reading: Reading, columns: int) -> None:
        """Raises the error that asks for what columns of numbers leave open."""
        reach = extent(found)
        if reading.directed and self.options.ids == "ask" and not reading.sizes and reach.is_lopsided:
            raise MatrixFileError(SIDES.format(source=reach.source, target=reach.target), hint="choose_ids")
        if columns > 2 and self.options.weights == "auto" and could_be_times(found):
            raise MatrixFileError(
                "The third column can be weights or times: all are large whole numbers.", hint="choose_weights"
            )


def _first_lines(text: bytes) -> tuple[bytes, bytes, bytes]:
    """The first three lines that are no comments, without their ends."""
    found = []
    for _ in range(3):
        passed = PASSED.match(text)
        line, _, text = text[passed.end() if passed else 0 :].partition(b"\n")
        found.append(line)
    return found[0], found[1], found[2]


def _has_names(path: Path, limits: ReadLimits) -> bool:
    """Whether the ids of the file are names."""
    with closing(content_blocks(path, limits)) as blocks:
        lines = Lines(blocks, limits, COMMENTS)
        found = []
        for _ in range(2):
            lines.skip_comments()
            found.append(lines.next_line() or b"")
    return (
        not EDGE.fullmatch(found[0])
        and not COUNT.fullmatch(found[0])
        and not _names_columns(*found)
        and are_names(*found)
    )


def _names_columns(first: bytes, second: bytes) -> bool:
    """Whether the first line names the columns of an edge between numbers."""
    named = NAMES.fullmatch(first) and EDGE.fullmatch(second)
    return bool(named) and _columns(first) == _columns(second)


def _columns(line: bytes) -> int:
    return len(re.split(rb"[ \t]*,[ \t]*|[ \t]+", line.strip()))
