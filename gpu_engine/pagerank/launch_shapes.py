"""Launch shapes: threads and blocks of the kernels with one thread per page, by segments and layout.

They hold for complete PageRank runs and for single reduced-precision SpMVs.
"""

import re

Segments = tuple[int, int]
"""(segments per value, segments read); WHOLE for values that are not in segments."""

WHOLE: Segments = (0, 0)

LONG = 16
"""Mean number of links per page from which rows of CSR are long for one thread."""

CSR_THREADS = 256
"""Threads per block in CSR, one per page.

The blocks process page after page. They are few enough that the data of their next loads are still in the cache.
"""

CSR_BLOCKS: dict[Segments, tuple[int, int]] = {
    WHOLE: (6, 3),
    (2, 1): (6, 3),
    (2, 2): (6, 2),
    (4, 1): (6, 3),
    (4, 2): (6, 2),
    (4, 3): (6, 2),
    (4, 4): (6, 1),
}
"""Blocks per multiprocessor in CSR, for short and for long rows: each segment that is read is a stream in the cache."""

ELL_THREADS: dict[Segments, int] = {
    WHOLE: 128,
    (2, 1): 128,
    (2, 2): 128,
    (4, 1): 128,
    (4, 2): 128,
    (4, 3): 128,
    (4, 4): 128,
}
"""Threads per block in ELLPACK, one per page."""

_SEGMENTS = re.compile(r"(?:Head<)?(\d), (\d)")


def segments_of_values(types: str) -> Segments:
    """Return the segments of the values of a kernel with these template arguments.

    types  those of `types_of`, or those of a reduced-precision SpMV: segments, segments read per value, and so on
    """
    match = _SEGMENTS.match(types)
    return (int(match[1]), int(match[2])) if match and match[2] != "0" else WHOLE
