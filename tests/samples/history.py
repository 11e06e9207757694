"""Histories, made up: jobs of one case a day apart, whose times tests name in microseconds."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpu_engine.findings.history.records import HistoryPoint
from gpu_engine.records import Measurement
from tests.samples.formats import timed

BEGUN, DAY_S = 1_761_955_200.0, 86_400.0
"""2025-11-01 00:00 in UTC; the first job is of that moment."""

FLAT = (20.0, 20.02, 19.98, 20.01, 19.99, 20.0)
"""Six jobs in which nothing changed."""

OLD, NEW = {"driver": "580.1", "source": "e0ab0ce32150768c"}, {"driver": "590.2", "source": "e0ab0ce32150768c"}
"""Environments before and after an update of the driver."""


def scaled(times: Sequence[float], factor: float) -> tuple[float, ...]:
    """The same times, each so many times as long."""
    return tuple(time * factor for time in times)


def measured(us: float, environment: Mapping[str, str] = OLD, kernel: str = "split/tile", **fields: Any) -> Measurement:
    """A case on a GPU with an interval of ± 0.2 % and rounds close together; both floors take half as long."""
    time_s = us * 1e-6
    spread = {"ci_low_s": time_s * 0.998, "ci_high_s": time_s * 1.002, "min_s": time_s * 0.997}
    own: dict[str, Any] = {**spread, "q1_s": time_s * 0.999, "q3_s": time_s * 1.001, "rounds": 15, "clock_hz": 1.98e9}
    own |= {"roofline_s": time_s / 2, "gather_probe_s": time_s / 2, **fields}
    device = own.pop("device", "cuda:0")
    return timed(kernel, time_s, device=device, environment=dict(environment), **own)


def taken(
    times: Sequence[float], environments: Sequence[Mapping[str, str]] = (), kernel: str = "split/tile", **fields: Any
) -> list[HistoryPoint]:
    """These times in jobs j0, j1 … of one a day; environments: of each, OLD where there are none."""
    own = environments or [OLD] * len(times)
    return [
        HistoryPoint(f"j{number}", BEGUN + number * DAY_S, measured(time, environment, kernel, **fields))
        for number, (time, environment) in enumerate(zip(times, own, strict=True))
    ]
