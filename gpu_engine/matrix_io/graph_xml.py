"""Reads graphs in untrusted XML files: a bounded parser, and the conversion of nodes and edges to a matrix.

Entity expansion is impossible, because declarations within a file are rejected; tokens and depth are bounded.
"""

from array import array
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from xml.parsers import expat

import numpy as np

from gpu_engine.csr_matrix import INDEX_LIMIT
from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io.assemble import Chunk, assemble
from gpu_engine.matrix_io.base import MIB, Complete, ReadLimits, ReadResult, check_shape
from gpu_engine.matrix_io.decimals import exact, nearest
from gpu_engine.matrix_io.decompress import content_blocks
from gpu_engine.text import units

PIECE_BYTES = 64 * 1024
TOKEN_BYTES_MAX = MIB
"""Maximum bytes of a tag with its attributes, or of a comment."""

DEPTH_MAX = 64
HEAD_BYTES = 4096
TEXT_CHARACTERS_MAX = 4096
ORDER = "Rows and columns are the nodes in the order of the file; a row is a source, a column a target."


class Handler(Protocol):
    """Interface of a format: handles elements and returns the matrix; `parents` are the enclosing elements."""

    def __init__(self, edges: "Edges") -> None: ...

    def start(self, name: str, attributes: Mapping[str, str], parents: list[str]) -> None:
        """Handle the begin of an element; raises ValueError with a sentence for an invalid element."""
        ...

    def end(self, name: str, text: str) -> None:
        """Handle the end of an element, with its text."""
        ...

    def result(self) -> ReadResult:
        """Return the matrix; raises MatrixFileError."""
        ...


@dataclass
class Edges:
    """Collected nodes and edges of a graph; `weighted` counts the edges with a weight."""

    limits: ReadLimits
    _numbers: dict[str, int] = field(default_factory=dict)
    _declared: list[int] = field(default_factory=list)
    _sources: Any = field(default_factory=lambda: array("i"))
    _targets: Any = field(default_factory=lambda: array("i"))
    _weights: Any = field(default_factory=lambda: array("d"))
    _both: bytearray = field(default_factory=bytearray)
    _count: int = 0
    weighted: int = 0

    def add_node(self, attributes: Mapping[str, str]) -> None:
        """Add a node by its attribute id; raises ValueError if the id is missing or not unique."""
        number = self._number(_needed(attributes, "node", "id"))
        if number < len(self._declared) and self._declared[number] >= 0:
            raise ValueError(f"The id {quote(attributes['id'])} stands for two nodes; ids are unique.")
        self._declared += [-1] * (number + 1 - len(self._declared))
        self._declared[number] = self._count
        self._count += 1

    def add_edge(self, attributes: Mapping[str, str], both: bool, weight: float | None) -> None:
        """Add an edge, in both directions if `both`; a weight of None counts as 1."""
        self._sources.append(self._number(_needed(attributes, "edge", "source")))
        self._targets.append(self._number(_needed(attributes, "edge", "target")))
        self._both.append(both)
        self._weights.append(1.0 if weight is None else weight)
        self.weighted += weight is not None
        if len(self._both) > self.limits.nnz_max:
            raise TooLargeError(f"The file has more than {units.count(self.limits.nnz_max)} edges.")

    def __len__(self) -> int:
        return len(self._both)

    def _number(self, name: str) -> int:
        if len(self._numbers) > min(self.limits.dimension_free, INDEX_LIMIT):
            raise TooLargeError(
                f"The file has more than {units.count(self.limits.dimension_free)} nodes; "
                "send the graph as Matrix Market text."
            )
        return self._numbers.setdefault(name, len(self._numbers))

    def result(self, *notes: str) -> ReadResult:
        """Return the matrix; raises MatrixFileError for an edge of a node that is not declared."""
        order = np.full(len(self._numbers), -1, np.int32)
        order[: len(self._declared)] = self._declared
        if (missing := np.flatnonzero(order < 0)).size:
            name = next(name for name, number in self._numbers.items() if number == missing[0])
            raise MatrixFileError(
                f"An edge names {quote(name)}, which is not a node of the file; export the graph again."
            )
        n = len(self._numbers)
        check_shape(n, n, len(self), self.limits)
        rows = order[np.frombuffer(self._sources, np.int32)] if len(self) else np.zeros(0, np.int32)
        cols = order[np.frombuffer(self._targets, np.int32)] if len(self) else np.zeros(0, np.int32)
        values = np.array(self._weights, np.float64) if self.weighted else np.ones(1)
        both = np.frombuffer(bytes(self._both), np.bool_)
        mirrored = bool(both.size) and bool(both.all())
        if not mirrored and both.any():
            again = both & (rows != cols)
            values = np.concatenate([values, values[again]]) if self.weighted else values
            rows, cols = np.concatenate([rows, cols[again]]), np.concatenate([cols, rows[again]])
        if rows.size + (int(np.count_nonzero(rows != cols)) if mirrored else 0) > self.limits.nnz_max:
            raise TooLargeError(
                f"The graph has more than {units.count(self.limits.nnz_max)} edges, both directions counted."
            )
        matrix, duplicates = assemble(n, n, [Chunk(rows, cols, values)], 1.0 if mirrored else 0.0)
        notes = (ORDER, *notes)
        if both.any():
            which = (
                "An" if mirrored else f"{units.count(int(np.count_nonzero(both)))} of the edges have no direction; an"
            )
            notes = (*notes, f"{which} edge without a direction stands for both.")
        if duplicates:
            notes = (*notes, f"{duplicates} edges repeat an earlier one; they were added up.")
        return ReadResult(matrix, notes, duplicates)


def _needed(attributes: Mapping[str, str], element: str, name: str) -> str:
    if name not in attributes:
        raise ValueError(f"An element {element} has no attribute {name}; export the graph again.")
    return attributes[name]


def weight_of(text: str, is_whole: bool = False) -> float:
    """Return the number of a weight, an integer if its type says so; raises ValueError with a sentence."""
    token = text.strip(" \t\r\n")
    try:
        return exact(token) if is_whole else nearest(token)
    except ValueError as error:
        raise ValueError(f"The weight {quote(token)} {error}.") from None


class XmlReader(Complete):
    """Base class of readers of XML graphs; root: name of the root element; graph: its handler."""

    root = b""
    graph: type[Handler]

    def recognizes(self, head: bytes) -> bool:
        """Return whether the content is XML, in any encoding, with the root element of the format."""
        text = head[:HEAD_BYTES].lstrip(b"\xef\xbb\xbf\xff\xfe\0 \t\r\n").replace(b"\0", b"")
        return text.startswith(b"<") and (b"<" + self.root in text or b":" + self.root in text)

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises MatrixFileError or TooLargeError."""
        graph = self.graph(Edges(limits))
        with closing(content_blocks(path, limits)) as blocks:
            _Parser(graph).feed(
                block[begin : begin + PIECE_BYTES] for block in blocks for begin in range(0, len(block), PIECE_BYTES)
            )
        return graph.result()


class _Parser:
    """Expat parser with its callbacks."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._parents: list[str] = []
        self._text: list[str] = []
        self._characters = 0
        self._expat = expat.ParserCreate(namespace_separator=" ")
        self._expat.buffer_text = True
        self._expat.StartElementHandler = self._start
        self._expat.EndElementHandler = self._end
        self._expat.CharacterDataHandler = self._add_text
        self._expat.StartDoctypeDeclHandler = self._doctype
        self._expat.SkippedEntityHandler = self._entity

    def feed(self, pieces: Iterator[bytes]) -> None:
        """Parse all blocks; raises MatrixFileError or TooLargeError."""
        total = 0
        try:
            for piece in pieces:
                total += len(piece)
                self._expat.Parse(piece, False)
                if total - self._expat.CurrentByteIndex > TOKEN_BYTES_MAX + PIECE_BYTES:
                    raise TooLargeError(f"A tag of the file is longer than {units.size(TOKEN_BYTES_MAX)}.")
            self._expat.Parse(b"", True)
        except expat.ExpatError as error:
            raise MatrixFileError("The XML is damaged or cut here; export the graph again.", error.lineno) from error
        except (LookupError, UnicodeError) as error:
            raise MatrixFileError("The XML names an encoding that is not read; save it as UTF-8.", 1) from error
        except ValueError as error:
            # Expat itself says so of encodings of several bytes.
            if not self._parents:
                raise MatrixFileError("The XML names an encoding that is not read; save it as UTF-8.", 1) from error
            raise MatrixFileError(str(error), self._expat.CurrentLineNumber) from error

    def _start(self, qualified: str, attributes: dict[str, str]) -> None:
        space, _, name = qualified.rpartition(" ")
        if len(self._parents) >= DEPTH_MAX:
            raise TooLargeError(f"The XML has elements within elements more than {DEPTH_MAX} deep.")
        # Editors keep their own elements, of namespaces of their own, beside those of the format.
        name = name if not space or "graphml" in space or "gexf" in space else ""
        self._parents.append(name)
        self._text, self._characters = [], 0
        if name:
            self._handler.start(name, attributes, self._parents[:-1])

    def _end(self, _: str) -> None:
        name = self._parents[-1]
        if name:
            self._handler.end(name, "".join(self._text))
        self._text = []
        self._parents.pop()

    def _add_text(self, text: str) -> None:
        # Descriptions may be of any length; numbers are short.
        if self._characters <= TEXT_CHARACTERS_MAX:
            self._text.append(text[:TEXT_CHARACTERS_MAX])
        self._characters += len(text)

    def _doctype(self, _name: str, _system: str | None, _public: str | None, has_declarations: int) -> None:
        if has_declarations:
            raise MatrixFileError(
                "The XML declares entities or attributes of its own (<!DOCTYPE … [ … ]>), which are not read. "
                "Remove them.",
                self._expat.CurrentLineNumber,
            )

    def _entity(self, name: str, _is_parameter: int) -> None:
        raise MatrixFileError(
            f"The XML refers to the entity {quote(name)}, which it does not declare.", self._expat.CurrentLineNumber
        )
