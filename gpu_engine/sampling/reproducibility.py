"""Whether a kernel gives the same bits again: in runs one after the other, and with a second build of its layout."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine.formats.base import Launch
from gpu_engine.measure.stopwatch import Stopwatch
from gpu_engine.sampling.experiment import Fields
from gpu_engine.verify import POISON

REPLAYS, REPLAYS_MIN = 50, 3
"""Runs that are compared with the first one; of a slow kernel as many as REPLAYS_S allows, but no fewer than these."""

REPLAYS_S = 0.05
"""Seconds of a kernel for all of them."""

SECOND_BYTES, SECOND_S = 2**28, 0.25
"""A layout whose conversion took more bytes at its peak, or more seconds, is not built twice."""


def compared(stopwatch: Stopwatch, x: Any, y: Any, launch: Launch, second: Callable[[], Launch] | None) -> Fields:
    """`replays`, `bitwise_reproducible` and `reproducible_rebuild` of a kernel, found where y lies; leaves nothing on the device.

    y       what the first run made of x: float64 [n_rows]
    second  builds the layout once more and binds the kernel to it; None where that takes too much. Of a kernel whose
            runs differ it would show nothing, and is not asked
    """
    again = stopwatch.xp.empty_like(y)

    def differs(run: Launch) -> Any:
        again.fill(POISON)
        run(x, again)
        return (again.view(np.int64) != y.view(np.int64)).any()

    found, seconds = stopwatch.time_once(lambda: differs(launch))
    replays = min(REPLAYS, max(REPLAYS_MIN, int(REPLAYS_S / max(seconds, 1e-9))))
    for _ in range(1, replays):
        # Nothing waits for the device before all runs are launched.
        found = found | differs(launch)
    same = not bool(found)
    built = second() if same and second is not None else None
    return {
        "replays": replays,
        "bitwise_reproducible": same,
        "reproducible_rebuild": None if built is None else not bool(differs(built)),
    }


def is_built_twice(fields: Fields) -> bool:
    """Whether a second build of a layout is small and quick enough, by what the record says of the first."""
    peak_bytes, seconds = fields["convert_peak_bytes"], fields["convert_s"]
    return bool(peak_bytes <= SECOND_BYTES and seconds <= SECOND_S)
