"""ByteStream: sequential bytes of an untrusted file; a declared size is trusted only as its bytes arrive."""

from collections.abc import Iterator

from gpu_engine.errors import MatrixFileError


class ByteStream:
    """A forward reader; `position` counts the bytes that were read or skipped.

    what  name of the file in messages
    """

    def __init__(self, blocks: Iterator[bytes], what: str) -> None:
        self._blocks, self._what = blocks, what
        self._block, self._at = b"", 0
        self.position = 0

    def take(self, size: int) -> bytes:
        """Return exactly `count` bytes; raises MatrixFileError if the file ends before."""
        return b"".join(self.blocks(size))

    def skip(self, size: int) -> None:
        """Skip bytes; raises MatrixFileError if the file ends before."""
        for _ in self.blocks(size):
            pass

    def blocks(self, size: int) -> Iterator[bytes]:
        """Yield bytes in pieces; raises MatrixFileError if the file ends before."""
        while size > 0:
            piece = self.some(size)
            size -= len(piece)
            yield piece

    def some(self, size: int) -> bytes:
        """Return at least one byte and at most the given number; raises MatrixFileError if the file ends before."""
        if self.final_storage():
            raise MatrixFileError(f"The {self._what} ends too early; send the whole file.")
        piece = self._block[self._at : self._at + size]
        self._at += len(piece)
        self.position += len(piece)
        return piece

    def final_storage(self) -> bool:
        """Return whether all bytes have been read."""
        while self._at == len(self._block):
            block = next(self._blocks, None)
            if block is None:
                return True
            self._block, self._at = block, 0
        return False

    def drain(self) -> None:
        """Read to the end, so that the checksums after the content are verified."""
        self._block, self._at = b"", 0
        for _ in self._blocks:
            pass
