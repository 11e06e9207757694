"""Bitwise reproducibility of a kernel: compares repeated runs, and a run on a rebuilt layout, with the first run."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpu_engine.formats.base import Launch
from gpu_engine.measure.stopwatch import Stopwatch
from gpu_engine.sampling.experiment import Fields
from gpu_engine.verify import POISON

REPLAYS, REPLAYS_MIN = 50, 3
"""Runs compared with the first one; a slow kernel gets as many as fit REPLAYS_S, but at least REPLAYS_MIN."""

REPLAYS_S = 0.05
"""Seconds for all compared runs of a kernel."""

SECOND_BYTES, SECOND_S = 2**28, 0.25
"""Limits for a second build of a layout: peak bytes and seconds of the first conversion."""


def compared(stopwatch: Stopwatch, x: Any, y: Any, launch: Launch, second: Callable[[], Launch] | None) -> Fields:
    """Return `replays`, `bitwise_reproducible` and `reproducible_rebuild` of a kernel.

    y       output of the first run on x: float64 [n_rows], on the device, where it is compared
    second  builds the layout again and binds the kernel to it; None if that is too expensive. Not called if the runs
            already differ, because it would show nothing
    """
    output = stopwatch.xp.empty_like(y)

    def differs(run: Launch) -> Any:
        output.fill(POISON)
        run(x, output)
        return (output.view(np.int64) != y.view(np.int64)).any()

    any_differs, seconds = stopwatch.time_once(lambda: differs(launch))
    replays = min(REPLAYS, max(REPLAYS_MIN, int(REPLAYS_S / max(seconds, 1e-9))))
    for _ in range(1, replays):
        # The flag stays on the device until all runs are launched, so that no run waits for the host.
        any_differs = any_differs | differs(launch)
    same = not bool(any_differs)
    built = second() if same and second is not None else None
    return {
        "replays": replays,
        "bitwise_reproducible": same,
        "reproducible_rebuild": None if built is None else not bool(differs(built)),
    }


def is_built_twice(fields: Fields) -> bool:
    """Return whether a layout is built a second time, given the bytes and seconds of its first conversion."""
    peak_bytes, seconds = fields["convert_peak_bytes"], fields["convert_s"]
    return bool(peak_bytes <= SECOND_BYTES and seconds <= SECOND_S)
