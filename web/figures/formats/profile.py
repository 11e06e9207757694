"""Performance profiles: on which share of the matrices a kernel is within a factor of the fastest.

Dolan, Moré: Benchmarking optimization software with performance profiles, Mathematical Programming 91 (2002), §2.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.groups import baseline_of
from gpu_engine.records import Measurement
from gpu_engine.text.tables import Head, Table
from gpu_engine.text.units import percent
from gpu_engine.verdicts.verdict import compare
from web.figures import markers
from web.figures.base import blank, caption, escape
from web.figures.formats.groups import NO_QUIET, Groups, Place, by_place, left_out, place_in_words, quiet
from web.figures.highlighting import LABELS_PX, NAMED_MAX, direct_labels
from web.figures.panels import Panels, panels
from web.palette import position, style

PANEL_PX = 320
FACTOR_MAX = 4.0
TICKS = (1.0, 1.5, 2.0, 3.0, FACTOR_MAX)
FACTORS = (1.0, 1.1, 1.25, 1.5, 2.0, FACTOR_MAX)
"""Factors of the table."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A kernel over the matrices where it has a record and the timings are usable, as in the overall ranking.

    factors  slowdown per matrix against its fastest kernel, ascending: 1 if the verdict is equal, inf if the kernel
             failed or was skipped
    """

    kernel: str
    format: str
    factors: tuple[float, ...]

    def share(self, factor: float) -> float:
        """Return the share of the matrices on which the slowdown is at most `factor`."""
        return sum(slowdown <= factor for slowdown in self.factors) / len(self.factors)

    @property
    def timed(self) -> float:
        """Return the share of the matrices on which the kernel has a time."""
        return sum(math.isfinite(slowdown) for slowdown in self.factors) / len(self.factors)

    @property
    def area(self) -> float:
        """Return the area under the profile from 1 to FACTOR_MAX: large if the kernel is always near the fastest."""
        return sum(FACTOR_MAX - slowdown for slowdown in self.factors if slowdown < FACTOR_MAX) / len(self.factors)


@dataclass(frozen=True, slots=True)
class Panel:
    """The kernels of one device and cache state, the largest area first; kernels measured on fewer matrices come last.

    lines     the profiles that are drawn; named: the ones in color with their names
    matrices  the number of all matrices, noisy ones included
    """

    place: Place
    profiles: tuple[Profile, ...]
    lines: tuple[Profile, ...]
    named: tuple[Profile, ...]
    matrices: int


def info(data: StudyData) -> Panels[Panel]:
    """Return the profiles per device and cache state.

    data.kernels   kernels with a line; empty: the one with the largest area of each format. All kernels are compared.
    data.baseline  always has its name
    """
    return Panels(tuple(_panel(place, groups, data) for place, groups in by_place(data.measurements).items()))


def draw(info: Panels[Panel]) -> go.Figure:
    """Return the share of matrices over the slowdown, a step line per kernel, a panel per device and cache state."""
    full = [panel for panel in info.panels if panel.profiles]
    if not full:
        return blank(NO_QUIET)
    figure = panels([place_in_words(panel.place) for panel in full], [PANEL_PX] * len(full), showlegend=False)
    for row, panel in enumerate(full, start=1):
        # Named lines lie above the others.
        for profile in sorted(panel.lines, key=panel.named.__contains__):
            figure.add_trace(_line(profile, profile in panel.named), row=row, col=1)
        direct_labels(figure, row, [(p.kernel, p.share(FACTOR_MAX), style(p.format)) for p in panel.named])
    figure.update_layout(margin_r=LABELS_PX)
    # The step at 1 lies on the axis; a little room left of it lets it be seen.
    figure.update_xaxes(type="log", range=[-0.005, math.log10(FACTOR_MAX)])
    figure.update_xaxes(tickvals=TICKS, ticktext=[f"{factor:g}" for factor in TICKS])
    figure.update_yaxes(range=[-0.01, 1.02], tickformat=".0%", title_text="matrices")
    figure.update_xaxes(title_text="slowdown against the fastest kernel", title_standoff=4, row=len(full), col=1)
    return figure


def table(info: Panels[Panel]) -> Table:
    """Return every kernel with its share at some factors, the largest area first."""
    heads = (*(Head(text, numeric=False) for text in ("kernel", "device", "cache")), Head("matrices"))
    rows = [
        (
            profile.kernel,
            *panel.place,
            str(len(profile.factors)),
            *(percent(profile.share(factor)) for factor in FACTORS),
            percent(profile.timed),
        )
        for panel in info.panels
        for profile in panel.profiles
    ]
    return Table((*heads, *(Head("within", f"{factor:g}\u202f×") for factor in FACTORS), Head("timed")), tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """Return what a profile is, and the kernel with the largest area."""
    if not any(panel.profiles for panel in info.panels):
        return NO_QUIET
    more = "Failed or skipped kernels never count. "
    more += f"Up to {NAMED_MAX} kernels are in color: the baseline and those with the best profiles."
    if any(len(line.factors) < len(panel.profiles[0].factors) for panel in info.panels for line in panel.lines):
        more += " Some kernels were measured on fewer matrices; the table has their number."
    return caption(
        "Share of matrices on which a kernel is within a factor of the fastest.",
        map(_best_profile, info.panels),
        (more,),
    )


def _best_profile(panel: Panel) -> str:
    where = place_in_words(panel.place)
    if not panel.profiles:
        return f"On {where}, no matrix has usable timings."
    best, compared = panel.profiles[0], len(panel.profiles[0].factors)
    over = left_out(compared, panel.matrices - compared)
    near, far = percent(best.share(1.1)), percent(best.share(2.0))
    share = f"within 1.1\u202f× of the fastest on {near} of {over}"
    return f"On {where}, {best.kernel} is {share}. Within 2\u202f×: {far}."


def profiles(groups: Groups) -> tuple[Profile, ...]:
    """Return the kernels over the matrices with usable timings, the largest area first, incomplete ones last."""
    formats = {m.kernel: m.format for group in groups.values() for m in group}
    factors: dict[str, list[float]] = {}
    for group in quiet(groups).values():
        for m in group:
            factors.setdefault(m.kernel, []).append(_factor(group[0], m))
    most = max(map(len, factors.values()), default=0)
    every = (Profile(kernel, formats[kernel], tuple(sorted(slowdowns))) for kernel, slowdowns in factors.items())
    return tuple(sorted(every, key=lambda profile: (len(profile.factors) < most, -profile.area, profile.kernel)))


def _factor(fastest: Measurement, m: Measurement) -> float:
    if not m.median_s or not fastest.median_s:
        return math.inf
    return 1.0 if compare(fastest, m).kind == "same" else m.median_s / fastest.median_s


def _panel(place: Place, groups: Groups, data: StudyData) -> Panel:
    every = profiles(groups)
    baseline = baseline_of([m for group in groups.values() for m in group if m.median_s], data.baseline)
    against = [profile for profile in every if baseline and profile.kernel == baseline.kernel]
    lines = tuple(dict.fromkeys((*_lines(every, data.kernels), *against)))
    nearest = sorted(lines, key=lambda profile: (profile not in against, -profile.area))
    return Panel(place, every, lines, tuple(nearest[:NAMED_MAX]), len(groups))


def _lines(every: Sequence[Profile], kernels: Sequence[str]) -> tuple[Profile, ...]:
    if kernels:
        return tuple(profile for profile in every if profile.kernel in kernels)
    best: dict[str, Profile] = {}
    for profile in every:
        best.setdefault(profile.format, profile)
    return tuple(sorted(best.values(), key=lambda profile: position(profile.format)))


def _line(profile: Profile, named: bool) -> go.Scatter:
    look = style(profile.format)
    line = {"color": look.color, "dash": look.dash, "width": 2} if named else {"width": 1}
    steps = [1.0, *(slowdown for slowdown in profile.factors if 1.0 < slowdown <= FACTOR_MAX), FACTOR_MAX]
    shares = [profile.share(step) for step in steps]
    return go.Scatter(
        name=escape(profile.kernel),
        x=steps,
        y=shares,
        mode="lines",
        line={"shape": "hv", **line},
        hovertext=[
            markers.hover(profile.kernel, f" within {step:.2f}\u202f× on {percent(share)} of matrices")
            for step, share in zip(steps, shares, strict=True)
        ],
        hoverinfo="text",
        meta={"role": "profile" if named else "line", "format": profile.format},
    )
