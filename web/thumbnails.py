"""Thumbnails: small PNG pictures of the nonzeros of matrices, for lists."""

import struct
import zlib
from collections.abc import Sequence

import numpy as np

SIDE = 36
COLOR = (0x31, 0x82, 0xBD)
"""Color that is visible on light and dark pages; the opacity shows the density."""

FAINTEST = 70
"""Opacity (0 … 255) of a cell with one nonzero."""


def thumbnail(counts: Sequence[Sequence[int]], side: int = SIDE) -> bytes:
    """Return a PNG of at most side × side pixels, transparent where empty; counts: nonzeros per cell [row][column]."""
    cells = np.asarray(counts, np.int64)
    if cells.ndim != 2 or cells.size == 0:
        cells = np.zeros((1, 1), np.int64)
    steps = [-(-length // side) for length in cells.shape]
    for axis, step in enumerate(steps):
        cells = np.add.reduceat(cells, np.arange(0, cells.shape[axis], step), axis=axis)
    scaled = np.log1p(cells) / max(float(np.log1p(cells.max())), 1.0)
    alpha = np.where(cells > 0, FAINTEST + (255 - FAINTEST) * scaled, 0).astype(np.uint8)
    pixels = np.empty((*cells.shape, 4), np.uint8)
    pixels[..., :3], pixels[..., 3] = COLOR, alpha
    rows = b"".join(b"\0" + row.tobytes() for row in pixels)
    # 8 bits per channel, color type 6: RGBA.
    head = struct.pack(">IIBBBBB", cells.shape[1], cells.shape[0], 8, 6, 0, 0, 0)
    chunks = (_chunk(b"IHDR", head), _chunk(b"IDAT", zlib.compress(rows)), _chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
