"""Explanation of a speedup above the number of devices, from the phases and from the same run without overlap."""

from gpu_engine.findings.data import MatrixFeatures
from gpu_engine.findings.scaling.cases import COMPUTE, SpeedUp, phases_of, speed_up
from gpu_engine.findings.scaling.groups import WorkGroup
from gpu_engine.findings.scaling.series import Series
from gpu_engine.records import Measurement
from gpu_engine.text import units

VALUE_BYTES = 8
"""Bytes of an element of x, in fp64."""

EXCESS = 1.02
"""Least speedup over the number of devices that needs an explanation."""


def is_superlinear(gain: SpeedUp | None, devices: int) -> bool:
    """Return whether a speedup exceeds the number of devices by more than a rounding error."""
    return gain is not None and devices > 1 and gain.kind == "faster" and gain.value > EXCESS * devices


def superlinear_text(
    group: WorkGroup, series: Series, m: Measurement, base: Measurement | None, matrix: MatrixFeatures
) -> str:
    """Return in one to three sentences why a speedup over `base` exceeds the number of devices; empty if it does not.

    series  series of `m`
    """
    devices, gain = m.details.devices or 1, speed_up(base, m)
    if base is None or not is_superlinear(gain, devices):
        return ""
    begin = f"The speedup exceeds {devices}{units.THIN}×"
    twin = _without_overlap(group, series, m)
    without = speed_up(base, twin) if twin else None
    if without and without.value <= devices and matrix.n_cols:
        whole = VALUE_BYTES * matrix.n_cols
        return (
            f"{begin}, because the overlap splits the columns. Each device first reads {units.size(whole / devices)} "
            f"of x instead of {units.size(whole)}. More of it stays in L2. "
            f"Without overlap: {units.ratio(without.value)}. One device was not measured with split columns."
        )
    one, several = (phases_of(each).get(COMPUTE) for each in (base, m))
    if one and several and one > devices * several:
        return (
            f"{begin}: the phase {COMPUTE} alone has {units.ratio(one / several)}. Possible reason: L2 can hold a "
            "larger share of one part than of the whole matrix."
        )
    return f"{begin}, and the records do not show why."


def _without_overlap(group: WorkGroup, series: Series, m: Measurement) -> Measurement | None:
    """Return the measurement that differs from one with overlap in the overlap only; None without one."""
    options = dict(series.options)
    if options.get("overlap") != "on":
        return None
    without = options | {"overlap": "off"}
    twins = (other for other in group.series if other.kernel == series.kernel and dict(other.options) == without)
    return next((match for other in twins if (match := other.on(m.details.devices or 0))), None)
