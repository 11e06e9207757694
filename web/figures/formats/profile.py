"""Performance profiles: which kernel is never far from the fastest, whatever the matrix?

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
from web.figures import marks
from web.figures.base import blank, caption, escape
from web.figures.emphasis import LABELS_PX, NAMED_MAX, direct_labels
from web.figures.formats.groups import NO_QUIET, Groups, Place, by_place, left_out, place_in_words, quiet
from web.figures.panels import Panels, panels
from web.palette import position, style

PANEL_PX = 320
FACTOR_MAX = 4.0
TICKS = (1.0, 1.5, 2.0, 3.0, FACTOR_MAX)
FACTORS = (1.0, 1.1, 1.25, 1.5, 2.0, FACTOR_MAX)
"""Factors of the table."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A kernel over the matrices where it has a record, as the answer counts them: those whose times are plausible.

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


@dataclass(frozen=True, slots=True)
class Panel:
    """The kernels of one device and cache state, the largest area first; behind them what was not tried everywhere.

    lines     those that are drawn; named: those of them in their colours, under their names
    matrices  how many there are, with plausible times or not
    """

    place: Place
    profiles: tuple[Profile, ...]
    lines: tuple[Profile, ...]
    named: tuple[Profile, ...]
    matrices: int


def info(data: StudyData) -> Panels[Panel]:
    """The profiles per device and cache.

    data.kernels   have lines; empty: of each format the one with the largest area. All kernels are compared in either
                   case.
    data.baseline  has its name in any case
    """
    return Panels(tuple(_panel(place, groups, data) for place, groups in by_place(data.measurements).items()))


def draw(info: Panels[Panel]) -> go.Figure:
    """Share of matrices over the factor to the fastest, a step line a kernel, a panel per device and cache."""
    full = [panel for panel in info.panels if panel.profiles]
    if not full:
        return blank(NO_QUIET)
    figure = panels([place_in_words(panel.place) for panel in full], [PANEL_PX] * len(full), showlegend=False)
    for row, panel in enumerate(full, start=1):
        # What has a name lies above what has none.
        for profile in sorted(panel.lines, key=panel.named.__contains__):
            figure.add_trace(_line(profile, profile in panel.named), row=row, col=1)
        direct_labels(figure, row, [(p.kernel, p.share(FACTOR_MAX), style(p.format).color) for p in panel.named])
    figure.update_layout(margin_r=LABELS_PX)
    # The step at 1 lies on the axis; a little room left of it lets it be seen.
    figure.update_xaxes(type="log", range=[-0.005, math.log10(FACTOR_MAX)])
    figure.update_xaxes(tickvals=TICKS, ticktext=[f"{factor:g}" for factor in TICKS])
    figure.update_yaxes(range=[-0.01, 1.02], tickformat=".0%", title_text="matrices")
    figure.update_xaxes(title_text="time over that of the fastest kernel", title_standoff=4, row=len(full), col=1)
    return figure


def table(info: Panels[Panel]) -> Table:
    """Every compared kernel with its share at some factors, the largest area first."""
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
    return Table((*heads, *(Head(f"within {factor:g}") for factor in FACTORS), Head("has a time")), tuple(rows))


def summary(info: Panels[Panel]) -> str:
    """Over how many matrices the profiles are, and which kernel stays nearest to the fastest."""
    if not any(panel.profiles for panel in info.panels):
        return NO_QUIET
    more = "What failed or was skipped never is. In colour are the baseline and those nearest to the fastest, "
    more += f"{NAMED_MAX} in all; the others are grey."
    if any(len(line.factors) < len(panel.profiles[0].factors) for panel in info.panels for line in panel.lines):
        more += " What was not tried on all of them has fewer in the table."
    return caption(
        "On how many matrices a kernel is within a factor of the fastest.", map(_nearest, info.panels), (more,)
    )


def _nearest(panel: Panel) -> str:
    where = place_in_words(panel.place)
    if not panel.profiles:
        return f"On {where} no matrix has times that are plausible."
    best, compared = panel.profiles[0], len(panel.profiles[0].factors)
    over = left_out(compared, panel.matrices - compared)
    shares = f"within a factor of 1.1 on {percent(best.share(1.1))} of them, of 2 on {percent(best.share(2.0))}"
    return f"{best.kernel} stays nearest on {where}, over {over}: {shares}."


def profiles(groups: Groups) -> tuple[Profile, ...]:
    """The kernels over the matrices whose times are plausible, the largest area first, what lacks some of them last."""
    formats = {m.kernel: m.format for group in groups.values() for m in group}
    factors: dict[str, list[float]] = {}
    for group in quiet(groups).values():
        for m in group:
            factors.setdefault(m.kernel, []).append(_factor(group[0], m))
    most = max(map(len, factors.values()), default=0)
    every = (Profile(kernel, formats[kernel], tuple(sorted(own))) for kernel, own in factors.items())
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
    steps = [1.0, *(own for own in profile.factors if 1.0 < own <= FACTOR_MAX), FACTOR_MAX]
    shares = [profile.share(step) for step in steps]
    return go.Scatter(
        name=escape(profile.kernel),
        x=steps,
        y=shares,
        mode="lines",
        line={"shape": "hv", **line},
        hovertext=[
            marks.hover(profile.kernel, f" within {step:.2f} × on {percent(share)}")
            for step, share in zip(steps, shares, strict=True)
        ],
        hoverinfo="text",
        meta={"role": "profile" if named else "line", "format": profile.format},
    )
