"""Performance profiles: which kernel is never far from the fastest, whatever the matrix?

Dolan, Moré: Benchmarking optimization software with performance profiles, Mathematical Programming 91 (2002), §2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.records import Measurement
from gpu_engine.verdict import compare
from web.figures.base import Head, Table, blank, escape
from web.figures.formats.groups import Groups, by_place, in_words
from web.figures.panels import Legend, panels
from web.palette import position, style
from web.shown import Shown
from web.units import percent

PANEL_PX = 320
FACTOR_MAX = 4.0
FACTORS = (1.0, 1.1, 1.25, 1.5, 2.0, FACTOR_MAX)
"""Factors of the table, and the ticks of the axis."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A kernel over the matrices on which every compared kernel has a record.

    factors  per matrix its time over that of the fastest kernel, ascending: 1 where the verdict calls them the same,
             inf where it failed or was skipped
    """

    kernel: str
    format: str
    factors: tuple[float, ...]

    def share(self, factor: float) -> float:
        """Share of the matrices on which it is within that factor of the fastest."""
        return sum(own <= factor for own in self.factors) / len(self.factors)

    @property
    def timed(self) -> float:
        """Share of the matrices on which it has a time."""
        return sum(math.isfinite(own) for own in self.factors) / len(self.factors)

    @property
    def area(self) -> float:
        """Area under the profile from 1 to FACTOR_MAX: large for a kernel that is near the fastest everywhere."""
        return sum(FACTOR_MAX - own for own in self.factors if own < FACTOR_MAX) / len(self.factors)


def draw(shown: Shown) -> go.Figure:
    """Share of matrices over the factor to the fastest, a step line a kernel, a panel per device and cache.

    shown.kernels  drawn; empty: of each format the one with the largest area. All kernels are compared in either case.
    """
    found = {place: profiles(groups) for place, groups in by_place(shown.measurements).items()}
    found = {place: group for place, group in found.items() if group}
    if not found:
        return blank("No matrix here has a record of every kernel.")
    drawn = [_drawn(group, shown.kernels) for group in found.values()]
    entries = {profile.kernel for group in drawn for profile in group}
    figure = panels([in_words(place) for place in found], [PANEL_PX] * len(found), len(entries))
    legend = Legend()
    for row, group in enumerate(drawn, start=1):
        for profile in group:
            figure.add_trace(_line(profile, legend), row=row, col=1)
    # The step at 1 lies on the axis; a little room left of it lets it be seen.
    figure.update_xaxes(type="log", range=[-0.005, math.log10(FACTOR_MAX)])
    figure.update_xaxes(tickvals=FACTORS, ticktext=[f"{factor:g}" for factor in FACTORS])
    figure.update_yaxes(range=[-0.01, 1.02], tickformat=".0%", title_text="matrices")
    figure.update_xaxes(title_text="time over that of the fastest kernel", title_standoff=4, row=len(found), col=1)
    return figure


def table(shown: Shown) -> Table:
    """Every compared kernel with its share at some factors, the largest area first."""
    heads = (*(Head(text, numeric=False) for text in ("kernel", "device", "cache")), Head("matrices"))
    rows = [
        (
            profile.kernel,
            *place,
            str(len(profile.factors)),
            *(percent(profile.share(factor)) for factor in FACTORS),
            percent(profile.timed),
        )
        for place, groups in by_place(shown.measurements).items()
        for profile in profiles(groups)
    ]
    return Table((*heads, *(Head(f"within {factor:g}") for factor in FACTORS), Head("has a time")), tuple(rows))


def summary(shown: Shown) -> str:
    """Over how many matrices the profiles are, and which kernel stays nearest to the fastest."""
    said = "On how many matrices a kernel is within a factor of the fastest; what failed or was skipped never is."
    for place, groups in by_place(shown.measurements).items():
        found = profiles(groups)
        if not found:
            said += f" On {in_words(place)} no matrix has a record of every kernel."
            continue
        compared = len(found[0].factors)
        left = f" ({len(groups) - compared} more lack a record of some kernel)" if compared < len(groups) else ""
        best = found[0]
        said += f" {best.kernel} stays nearest on {in_words(place)}, over {compared} matrices{left}:"
        said += f" within a factor of 1.1 on {percent(best.share(1.1))} of them, of 2 on {percent(best.share(2.0))}."
    return said


def profiles(groups: Groups) -> list[Profile]:
    """The kernels of one device and cache state over the matrices where each has a record, the largest area first."""
    kernels = {m.kernel: m.format for group in groups.values() for m in group}
    complete = [group for group in groups.values() if {m.kernel for m in group} == kernels.keys()]
    complete = [group for group in complete if group[0].median_s]
    factors: dict[str, list[float]] = {kernel: [] for kernel in kernels}
    for group in complete:
        for m in group:
            factors[m.kernel].append(_factor(group[0], m))
    found = [Profile(kernel, kernels[kernel], tuple(sorted(own))) for kernel, own in factors.items() if own]
    return sorted(found, key=lambda profile: (-profile.area, profile.kernel))


def _factor(fastest: Measurement, m: Measurement) -> float:
    if not m.median_s or not fastest.median_s:
        return math.inf
    return 1.0 if compare(fastest, m).kind == "same" else m.median_s / fastest.median_s


def _drawn(found: Sequence[Profile], kernels: Sequence[str]) -> list[Profile]:
    if kernels:
        return [profile for profile in found if profile.kernel in kernels]
    best: dict[str, Profile] = {}
    for profile in found:
        best.setdefault(profile.format, profile)
    return sorted(best.values(), key=lambda profile: position(profile.format))


def _line(profile: Profile, legend: Legend) -> go.Scatter:
    look = style(profile.format)
    steps = [1.0, *(own for own in profile.factors if 1.0 < own <= FACTOR_MAX), FACTOR_MAX]
    return go.Scatter(
        **legend.entry(escape(profile.kernel)),
        x=steps,
        y=[profile.share(step) for step in steps],
        mode="lines",
        line={"shape": "hv", "color": look.color, "dash": look.dash, "width": 2},
        hovertext=[
            f"<b>{escape(profile.kernel)}</b> within {step:.2f} × on {percent(profile.share(step))}" for step in steps
        ],
        hoverinfo="text",
        meta={"role": "profile", "format": profile.format},
    )
