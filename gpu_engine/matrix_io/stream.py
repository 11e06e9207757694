"""Bytes of an untrusted binary file in order: a size that it names is believed once so many bytes have arrived."""

from collections.abc import Iterator

from gpu_engine.errors import MatrixFileError


class ByteStream:
    """A forward reader; `position` counts the bytes handed out or skipped.

    what  the word for the file in messages
    """

    def __init__(self, blocks: Iterator[bytes], what: str) -> None:
        self._blocks, self._what = blocks, what
        self._block, self._at = b"", 0
        self.position = 0

    def take(self, size: int) -> bytes:
        """Exactly so many bytes; raises MatrixFileError where the file ends before."""
        return b"".join(self.blocks(size))

    def skip(self, size: int) -> None:
        """Leaves out so many bytes; raises MatrixFileError where the file ends before."""
        for _ in self.blocks(size):
            pass

    def blocks(self, size: int) -> Iterator[bytes]:
        """So many bytes in pieces; raises MatrixFileError where the file ends before."""
        while size > 0:
            piece = self.some(size)
            size -= len(piece)
            yield piece

    def some(self, size: int) -> bytes:
        """From one to so many bytes; raises MatrixFileError where the file ends before."""
        if self.final_storage():
            raise MatrixFileError(f"The {self._what} ends too early; send the whole file.")
        piece = self._block[self._at : self._at + size]
        self._at += len(piece)
        self.position += len(piece)
        return piece

    def final_storage(self) -> bool:
        """Whether every byte has been handed out."""
        while self._at == len(self._block):
            block = next(self._blocks, None)
            if block is None:
                return True
            self._block, self._at = block, 0
        return False

    def drain(self) -> None:
        """Reads to the end, so that the checksums behind the content are verified."""
        self._block, self._at = b"", 0
        for _ in self._blocks:
            pass
