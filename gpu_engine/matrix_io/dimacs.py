"""Reader of DIMACS graphs: `p sp` (shortest paths, with weights), and `p edge` or `p col` (coloring)."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np

from gpu_engine.errors import MatrixFileError, TooLargeError, quote
from gpu_engine.matrix_io import edge_tokenizer as tokenizer
from gpu_engine.matrix_io import tokenizer as market
from gpu_engine.matrix_io.assemble import Chunk, assemble
from gpu_engine.matrix_io.base import Complete, ReadLimits, ReadResult, check_shape
from gpu_engine.matrix_io.decimals import nearest
from gpu_engine.matrix_io.decompress import BLOCK_BYTES, content_blocks
from gpu_engine.matrix_io.explain import explain_value
from gpu_engine.matrix_io.text import Lines
from gpu_engine.text import units

HEAD = re.compile(rb"(?>(?>[ \t]*+(?:c(?:[ \t\r][^\n]*+)?+)?+\r?+\n)*+)[ \t]*+p[ \t]+(sp|edges?|col)[ \t]+\d")
SIZES = re.compile(rb"[ \t]*p[ \t]+(sp|edges?|col)[ \t]+(\d{1,18})[ \t]+(\d{1,18})[ \t]*")
BAD = {
    letter: re.compile(rb"^(?![ \t]*(?:%s[ \t]|c(?:[ \t\r\n]|$)|\r?$))" % letter, re.MULTILINE)
    for letter in (b"a", b"e")
}
COMMENT = re.compile(rb"^[ \t]*c(?=[ \t\r\n])", re.MULTILINE)
MARK = re.compile(rb"^([ \t]*)[ae](?=[ \t])", re.MULTILINE)
HASHES = re.compile(rb"^[ \t]*[#%]", re.MULTILINE)
EDGE_BYTES = 6


class Dimacs(Complete):
    """Reader of DIMACS graphs; rows are sources, columns are targets, nodes without edges are included."""

    name = "DIMACS"

    def recognizes(self, head: bytes) -> bool:
        """Return whether the first line after comments is `p sp`, `p edge`, or `p col`."""
        return bool(HEAD.match(head))

    def read(self, path: Path, limits: ReadLimits) -> ReadResult:
        """Return the matrix of the file; raises MatrixFileError or TooLargeError."""
        with closing(content_blocks(path, limits)) as blocks:
            lines = Lines(blocks, limits, "c")
            lines.skip_comments()
            line = lines.next_line() or b""
            sizes = SIZES.fullmatch(line)
            if sizes is None:
                raise MatrixFileError(
                    f"{_quoted(line)} is not of the form 'p sp nodes arcs' or 'p edge nodes edges'.", lines.number
                )
            n, m = int(sizes[2]), int(sizes[3])
            check_shape(n, n, m, limits, f"Line {lines.number}: the")
            has_weights = sizes[1] == b"sp"
            chunks = list(_chunks(lines, n, has_weights, limits))
        return _result(chunks, n, m, has_weights, lines)


def _result(chunks: list[Chunk], n: int, m: int, has_weights: bool, lines: Lines) -> ReadResult:
    count = sum(chunk.rows.size for chunk in chunks)
    what = "arcs" if has_weights else "edges"
    # Instances of coloring count an edge once or in both directions.
    if count != m and (has_weights or m not in (2 * count, count / 2)):
        raise MatrixFileError(
            f"The line 'p' promises {m} {what}, but the file has {count}. It is truncated, or that line is wrong.",
            lines.number,
        )
    matrix, duplicates = assemble(n, n, chunks, 0.0 if has_weights else 1.0)
    notes = [
        "A line is an arc from its row to its column, with its weight."
        if has_weights
        else "Each line stands for both directions; every edge counts 1."
    ]
    if duplicates:
        notes.append(f"{duplicates} {what} repeat an earlier one; they were added up.")
    if not lines.final_newline:
        notes.append("The last line has no newline; the file may have been cut there.")
    return ReadResult(matrix, tuple(notes), duplicates)


def _chunks(lines: Lines, n: int, has_weights: bool, limits: ReadLimits) -> Iterator[Chunk]:
    """Yield all edges of the file; undirected edges only in the lower triangle."""
    capacity = (BLOCK_BYTES + limits.line_bytes) // EDGE_BYTES + 1
    sources, targets, weights = np.empty(capacity, np.int64), np.empty(capacity, np.int64), np.empty(capacity)
    inexact = np.empty((capacity, 4), np.int64)
    layout = (3 if has_weights else 2, tokenizer.BLANK, limits.line_bytes)
    done = 0
    for block in lines.blocks():
        text = _bare(block, b"a" if has_weights else b"e", lines.number)
        status, at, n_lines, count, slow = tokenizer.parse_edges(
            np.frombuffer(text, np.uint8), layout, sources, targets, weights, inexact
        )
        for edge, first, end, line in inexact[:slow].tolist():
            weights[edge] = _weight(text[first:end], lines.number + 1 + line)
        if status != tokenizer.OK:
            number = lines.number + n_lines + 1
            if status == tokenizer.TOO_LONG:
                raise TooLargeError(f"Line {number} is longer than {limits.line_bytes} bytes, the limit of a line.")
            form = "'a source target weight'" if has_weights else "'e node node'"
            line = block[at:].partition(b"\n")[0]
            raise MatrixFileError(f"{_quoted(line)} is not {form}.", number)
        ends = np.concatenate([sources[:count], targets[:count]])
        if count and (ends.min() < 1 or ends.max() > n):
            wrong = int(ends[(ends < 1) | (ends > n)][0])
            raise MatrixFileError(f"The node {wrong} is outside 1 … {n}, the nodes of the line 'p'.")
        lines.number += n_lines
        done += count
        if done * (1 if has_weights else 2) > limits.nnz_max:
            raise TooLargeError(f"The file has more edges than {units.count(limits.nnz_max)} nonzeros hold.")
        rows, cols = (sources[:count] - 1).astype(np.int32), (targets[:count] - 1).astype(np.int32)
        if has_weights:
            yield Chunk(rows, cols, weights[:count].copy())
        else:
            yield Chunk(np.maximum(rows, cols), np.minimum(rows, cols), np.ones(1))


def _bare(block: bytes, letter: bytes, number: int) -> bytes:
    """Return the lines with a blank for their letter, and comments marked for the tokenizer, in the same length."""
    wrong = BAD[letter].search(block) or HASHES.search(block)
    if wrong and wrong.start() < len(block):
        line = block[wrong.start() : block.index(b"\n", wrong.start())]
        raise MatrixFileError(
            f"{_quoted(line)} does not begin with {letter.decode()!r} or 'c'.",
            number + 1 + block.count(b"\n", 0, wrong.start()),
        )
    text = COMMENT.sub(lambda match: match[0][:-1] + b"%", block)
    return MARK.sub(rb"\1 ", text)


def _weight(token: bytes, number: int) -> float:
    text = token.decode("ascii", "backslashreplace")
    if problem := explain_value(text, market.REAL):
        raise MatrixFileError(problem, number)
    try:
        return nearest(text)
    except ValueError as error:
        raise MatrixFileError(f"The value {quote(text)} {error}.", number) from None


def _quoted(line: bytes) -> str:
    return quote(line.decode("utf-8", "backslashreplace").strip("\r\n"))
