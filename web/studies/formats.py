"""The page of the `formats` study: kernels compared."""

from collections.abc import Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats import findings
from gpu_engine.findings.formats.groups import BASELINES
from gpu_engine.findings.ranking import overview
from gpu_engine.records import CACHES
from gpu_engine.studies.formats import FormatsStudy
from web.figures.base import Figure
from web.figures.formats import bars, conversion, profile, rate, ratio, roofline, side_by_side
from web.figures.formats.groups import by_place, formats_of
from web.parts import Choice
from web.results import Results
from web.studies.base import Features, Select, StudyPage, Switch

FIGURES = (
    Figure(
        "side-by-side",
        "All formats side by side",
        side_by_side.draw,
        side_by_side.summary,
        side_by_side.table,
        info=side_by_side.info,
        matrices_min=2,
    ),
    Figure(
        "performance-profile",
        "How far from the fastest",
        profile.draw,
        profile.summary,
        profile.table,
        info=profile.info,
        matrices_min=2,
    ),
    Figure("formats", "GFLOP/s by kernel beside the floors", bars.draw, bars.summary, info=bars.info),
    Figure("roofline", "How near the roof", roofline.draw, roofline.summary, roofline.table, info=roofline.info),
    Figure(
        "conversion",
        "What a format costs",
        conversion.draw,
        conversion.summary,
        conversion.table,
        info=conversion.info,
    ),
    Figure(
        "ratio",
        "One format against another",
        ratio.draw,
        ratio.summary,
        ratio.table,
        info=ratio.info,
        matrices_min=2,
    ),
    Figure("rate", "Rate by size", rate.draw, rate.summary, rate.table, info=rate.info, matrices_min=2),
)
"""What a solver writer asks first comes first."""


def _overview(data: StudyData) -> Sequence[str]:
    return overview(findings(data))


def _baselines(results: Results) -> Sequence[Choice]:
    current = next((finding.baseline for finding in findings(results.data)), "")
    timed = {m.kernel for m in results.measurements if m.median_s}
    ordered = [name for name in BASELINES if name in timed] + sorted(timed.difference(BASELINES))
    return [Choice(kernel, kernel, kernel == current) for kernel in ordered]


def _pair(place: int, unset: str) -> Select:
    """A field for one of the two formats of a pair; hidden for a lone matrix."""

    def choices(results: Results) -> Sequence[Choice]:
        pair = results.data.pair
        places = [groups for groups in by_place(results.measurements).values() if len(groups) > 1]
        known = tuple(dict.fromkeys((*pair, *(name for groups in places for name in formats_of(groups)))))
        if len(known) < 2:
            return ()
        chosen = (*pair, "", "")[place]
        return (Choice("", unset), *(Choice(name, name, name == chosen) for name in known))

    return Select(("pair-first", "pair-second")[place], "pair", ("Ratio of", "over")[place], choices)


FORMATS = StudyPage(
    study=FormatsStudy(),
    link="Formats",
    title="Storage formats compared",
    lead="The fastest format and kernel of each matrix, how near it comes to the floor, and what converting to it "
    "costs.",
    invitation="Open a matrix and press Measure, or choose another device, cache state or matrix.",
    recorded_as="compare the formats",
    findings=findings,
    figures=FIGURES,
    job_figures=("formats",),
    overview=_overview,
    switches=(Switch("cache", "Cache", lambda _: CACHES, lambda results: results.selection.cache),),
    selects=(
        Select("baseline", "baseline", "Baseline", _baselines),
        _pair(0, "default pairs"),
        _pair(1, "every other"),
    ),
    features=Features(heading="Structure", picture="spy"),
    home_findings=4,
)
