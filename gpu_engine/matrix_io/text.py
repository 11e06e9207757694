"""Lines: reads untrusted text files in whole lines."""

import re
from collections.abc import Iterator

from gpu_engine.errors import MatrixFileError, TooLargeError
from gpu_engine.matrix_io.base import ReadLimits


def _begin(comments: str) -> bytes:
    """Return a regular expression for the begin of a comment."""
    return rb"[ \t]*+[%s]" % comments.encode() if comments else rb"(?!)"


def comment_lines(comments: str) -> re.Pattern[bytes]:
    """Return a pattern of complete comments and blank lines; a comment begins with one of the characters."""
    return re.compile(rb"(?>(?>%s[^\n]*+|[ \t]*+\r?+)\n)*+" % _begin(comments))


class Lines:
    """The lines of a text file, first one by one, then the rest in blocks of whole lines.

    comments  characters that begin a comment; only comments may exceed the limit of a line
    `number` is the 1-based number of the last line that was returned or skipped.
    """

    def __init__(self, blocks: Iterator[bytes], limits: ReadLimits, comments: str = "") -> None:
        self._blocks = blocks
        self._limits = limits
        self._comment = re.compile(_begin(comments))
        self._comments = comment_lines(comments)
        self._buffer = b""
        self._position = 0
        self._ended = False
        self.number = 0
        self.final_newline = True

    def skip_comments(self) -> None:
        """Skip comments and blank lines; raises TooLargeError if they exceed the limit."""
        total = 0
        while True:
            passed = self._comments.match(self._buffer, self._position)
            end = passed.end() if passed else self._position
            self.number += self._buffer.count(b"\n", self._position, end)
            total, self._position = total + end - self._position, end
            if self._buffer.find(b"\n", end) >= 0 or self._ended:
                return
            total += self._shorten()
            self._refill()
            if total > self._limits.comment_bytes:
                raise TooLargeError(
                    f"Line {self.number + 1}: the comments are longer than {self._limits.comment_bytes} bytes."
                )

    def next_line(self) -> bytes | None:
        """Return the next line without its line end, or None after the last line."""
        while (end := self._buffer.find(b"\n", self._position)) < 0 and not self._ended:
            self._refill()
        if end < 0:
            return None
        line, self._position = self._buffer[self._position : end], end + 1
        self.number += 1
        self._check_length(len(line), self.number)
        return line.removesuffix(b"\r")

    def blocks(self) -> Iterator[bytes]:
        """Yield the rest in blocks of whole lines, each with a newline; the caller counts their lines in `number`."""
        while self._position < len(self._buffer) or not self._ended:
            end = self._buffer.rfind(b"\n", self._position) + 1
            if end > self._position:
                block, self._position = self._buffer[self._position : end], end
                yield block
            else:
                self._shorten()
                self._refill()

    def _shorten(self) -> int:
        """Shorten an unfinished comment to its ends, so that it may have any length; return the dropped bytes."""
        comment = self._comment.match(self._buffer, self._position)
        if comment is None:
            return 0
        dropped = len(self._buffer) - comment.end()
        end = b"\r" if self._buffer.endswith(b"\r") else b""
        self._buffer, self._position = comment[0] + end, 0
        return dropped

    def _refill(self) -> None:
        """Append the next block to the unfinished line in the buffer."""
        tail = self._buffer[self._position :]
        self._check_length(len(tail), self.number + 1)
        block = next(self._blocks, None)
        if block is None:
            self._ended, self.final_newline, block = True, not tail, b"\n" if tail else b""
            if tail.endswith(b"\r"):
                raise MatrixFileError(
                    "The last line ends with CR alone; send the whole file, with LF or CRLF line ends.",
                    self.number + 1,
                )
        if (nul := block.find(b"\0")) >= 0:
            line = self.number + 1 + block.count(b"\n", 0, nul)
            raise MatrixFileError("A NUL byte: this is not a text file. Export it as Matrix Market text.", line)
        self._buffer, self._position = tail + block, 0

    def _check_length(self, length: int, number: int) -> None:
        if length > self._limits.line_bytes:
            raise TooLargeError(f"Line {number} is longer than {self._limits.line_bytes} bytes, the limit of a line.")
