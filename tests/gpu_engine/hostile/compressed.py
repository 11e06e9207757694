"""Compressed files that cost far more than they weigh; each is refused as too large."""

import bz2
import struct
import zlib
from collections.abc import Callable

from tests.gpu_engine.matrix_files import MARKET

MIB = 2**20


def _gzip_bomb() -> bytes:
    """2 GB of comment lines in 2 MB: the same compressed megabyte over and over."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(MARKET.splitlines(keepends=True)[0]) + packer.flush(zlib.Z_FULL_FLUSH)
    block = zlib.compressobj(9, zlib.DEFLATED, -15)
    megabyte = block.compress((b"%" + b"x" * 62 + b"\n") * 2**14) + block.flush(zlib.Z_FULL_FLUSH)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\3" + start + megabyte * 2048 + struct.pack("<BHHII", 3, 0, 0, 0, 0)


LARGE: dict[str, Callable[[], bytes]] = {
    "gzip of 2 GB": _gzip_bomb,
    "bzip2 of 200 MB": lambda: bz2.compress(MARKET + b"\n" * 200 * MIB),
    "bzip2 of 100,000 empty streams": lambda: bz2.compress(MARKET) + bz2.compress(b"") * 100_000,
}
