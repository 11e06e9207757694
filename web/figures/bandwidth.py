"""Figure of a device: memory bandwidth by footprint, the number of bytes that are moved repeatedly."""

import plotly.graph_objects as go

from gpu_engine.records import DeviceProfile
from gpu_engine.text import units
from web.figures.base import Drawing, blank, escape, log_axis
from web.palette import OKABE_ITO

HEIGHT_PX = 300
SERIES = (("copy", 0, "solid", "circle"), ("read", 1, "dash", "square"))
"""(name, color, dash, marker)."""


def draw(profile: DeviceProfile) -> go.Figure:
    """Return copy and read bandwidth over the footprint, both log, with a line at the end of the last-level cache."""
    points = sorted(profile.bandwidth, key=lambda point: point.footprint_bytes)
    if not points:
        return blank("The bandwidth of this device has not been measured.")
    rates = [rate for point in points for rate in (point.copy, point.read)]
    factor, unit = (1e12, "TB/s") if max(rates) >= 1e12 else (1e9, "GB/s")
    low, high = min(rates) / factor, max(rates) / factor
    figure = go.Figure()
    for name, color, dash, marker in SERIES:
        rates_of_series = [getattr(point, name) for point in points]
        figure.add_scatter(
            x=[point.footprint_bytes for point in points],
            y=[rate / factor for rate in rates_of_series],
            name=name,
            mode="lines+markers",
            line={"color": OKABE_ITO[color], "dash": dash, "width": 2},
            marker={"color": OKABE_ITO[color], "symbol": marker, "size": 8},
            hovertext=[
                f"{name}: {units.rate(rate)} at {units.size(point.footprint_bytes)}"
                for rate, point in zip(rates_of_series, points, strict=True)
            ],
            hoverinfo="text",
            meta={"role": "profile"},
        )
    x = log_axis([profile.cache_bytes, *(point.footprint_bytes for point in points)])
    figure.update_xaxes(title_text="footprint, bytes", automargin=True, **x.settings)
    figure.update_yaxes(title_text=unit, automargin=True, **log_axis([low, high]).settings)
    if profile.cache_bytes:
        figure.add_scatter(
            x=[profile.cache_bytes] * 2,
            y=[low, high],
            name="last-level cache",
            mode="lines",
            line={"dash": "dot", "width": 2},
            hovertext=escape(f"last-level cache: {units.size(profile.cache_bytes)}"),
            hoverinfo="text",
            meta={"role": "roof"},
        )
    figure.update_layout(
        template="none",
        height=HEIGHT_PX,
        margin={"l": 8, "r": 8, "t": 12, "b": 8},
        legend={"orientation": "h", "y": -0.28, "yanchor": "top"},
    )
    return figure


def summary(profile: DeviceProfile) -> str:
    """Return the highest copy bandwidth and that of memory."""
    best = max(profile.bandwidth, key=lambda point: point.copy)
    return (
        f"Measured bandwidth by footprint. Copies reach {units.rate(best.copy)} at "
        f"{units.size(best.footprint_bytes)} and {units.rate(profile.memory.copy)} from memory. "
        "Rooflines are computed from these rates."
    )


BANDWIDTH = Drawing("bandwidth", "Bandwidth by footprint", draw)
