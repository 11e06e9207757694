"""Text of untrusted files, handed out in whole lines."""

from collections.abc import Iterator

from gpu_engine.errors import MatrixFileError, TooLargeError
from gpu_engine.matrix_io.base import ReadLimits


class Lines:
    """The lines of a text file, first one by one, then the rest in blocks that end at a line's end.

    `number` is the 1-based number of the last line that was handed out.
    """

    def __init__(self, blocks: Iterator[bytes], limits: ReadLimits) -> None:
        self._blocks = blocks
        self._line_bytes = limits.line_bytes
        self._buffer = b""
        self._position = 0
        self._ended = False
        self.number = 0
        self.final_newline = True

    def next_line(self) -> bytes | None:
        """The next line without its end, or None after the last; a missing last newline is supplied."""
        while (end := self._buffer.find(b"\n", self._position)) < 0 and not self._ended:
            self._refill()
        if end < 0:
            return None
        line, self._position = self._buffer[self._position : end], end + 1
        self.number += 1
        self._check_length(len(line), self.number)
        return line.removesuffix(b"\r")

    def blocks(self) -> Iterator[bytes]:
        """The rest: blocks of whole lines, each ending with a newline; the caller counts their lines in `number`."""
        while self._position < len(self._buffer) or not self._ended:
            end = self._buffer.rfind(b"\n", self._position) + 1
            if end > self._position:
                block, self._position = self._buffer[self._position : end], end
                yield block
            else:
                self._refill()

    def _refill(self) -> None:
        """Appends the next block to the unfinished line in the buffer."""
        tail = self._buffer[self._position :]
        self._check_length(len(tail), self.number + 1)
        block = next(self._blocks, None)
        if block is None:
            self._ended, self.final_newline, block = True, not tail, b"\n" if tail else b""
        if (nul := block.find(b"\0")) >= 0:
            line = self.number + 1 + block.count(b"\n", 0, nul)
            raise MatrixFileError("A NUL byte: this is not a text file. Export it as Matrix Market text.", line)
        self._buffer, self._position = tail + block, 0

    def _check_length(self, length: int, number: int) -> None:
        if length > self._line_bytes:
            raise TooLargeError(f"Line {number} is longer than {self._line_bytes} bytes, the limit of a line.")
