"""Forecast of conversion times from those of measured matrices of a similar size."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import geometric_mean

from gpu_engine.findings.formats.for_n import KernelCost
from gpu_engine.findings.formats.groups import once_s
from gpu_engine.records import Measurement

NEAREST = 5
"""Number of matrices whose conversion times make a forecast, those with the most similar number of nonzeros."""

LEAST = 3
"""Least number of matrices for a forecast."""

FARTHEST = 30.0
"""Largest factor between the numbers of nonzeros of two matrices of a similar size."""


@dataclass(frozen=True, slots=True)
class ConversionForecast:
    """Seconds of a conversion: the mean, and the range over the similar matrices, scaled to the number of nonzeros."""

    mean_s: float
    low_s: float
    high_s: float


def conversion_forecasts(
    measurements: Iterable[Measurement], sizes: Mapping[str, int], nnz: int
) -> dict[str, ConversionForecast]:
    """Return the forecast of each kernel that enough matrices of a similar size have measured on one device.

    sizes  matrix id → number of nonzeros
    """
    known: dict[str, dict[str, float]] = defaultdict(dict)
    for m in measurements:
        size, once = sizes.get(m.matrix_id, 0), once_s(m)
        if once is not None and size and nnz and _distance(size, nnz) <= math.log(FARTHEST):
            known[m.kernel][m.matrix_id] = once
    forecasts = {kernel: _forecast(times, sizes, nnz) for kernel, times in known.items() if len(times) >= LEAST}
    return {kernel: forecast for kernel, forecast in forecasts.items() if forecast}


def predicted_costs(predicted_s: Mapping[str, float], forecasts: Mapping[str, ConversionForecast]) -> list[KernelCost]:
    """Return the costs of the kernels with a predicted time and a forecast of their conversion."""
    return [
        KernelCost(kernel, time_s, convert_s=forecasts[kernel].mean_s)
        for kernel, time_s in predicted_s.items()
        if kernel in forecasts
    ]


def _forecast(times: Mapping[str, float], sizes: Mapping[str, int], nnz: int) -> ConversionForecast | None:
    nearest = sorted(times, key=lambda matrix: _distance(sizes[matrix], nnz))[:NEAREST]
    scaled = [times[matrix] * nnz / sizes[matrix] for matrix in nearest]
    if not all(scaled):
        return None if any(scaled) else ConversionForecast(0.0, 0.0, 0.0)
    return ConversionForecast(geometric_mean(scaled), min(scaled), max(scaled))


def _distance(size: int, nnz: int) -> float:
    return abs(math.log(size / nnz))
