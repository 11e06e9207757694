"""`/formats`: the comparison of kernels, in words, figures and tables."""

from sqlalchemy.orm import Session

from gpu_engine.records import CACHES
from web.comparison import BASELINES, overview
from web.contexts import FormatsPage
from web.figures.formats.groups import by_place, formats_of
from web.measured import FORMATS_STUDY, Measured, measured
from web.parts import Choice, Choices
from web.selection import Selection
from web.shown import Shown
from web.views import study
from web.views.lines import findings

FORM = ("matrix", "baseline", "pair")
"""What the form chooses; the address keeps the rest."""


def page(session: Session, asked: Selection) -> FormatsPage:
    """The page of a selection; raises NotFoundError for an unknown job."""
    seen = measured(session, FORMATS_STUDY, asked)
    found = findings(seen, seen.measurements, seen.shown.baseline)
    figures = study.figures("measurements", seen, seen.shown)
    return FormatsPage(
        title="Formats compared",
        topics=study.topics(seen),
        overview=tuple(overview([finding.comparison for finding in found])),
        findings=found,
        figures=figures,
        few=study.few(figures) if found else "",
        structure=study.pictures(session, seen, "spy"),
        features=study.features(seen),
        devices=study.switch(FORMATS_STUDY, asked, "device", seen.devices, seen.selection.device),
        caches=study.switch(FORMATS_STUDY, asked, "cache", CACHES, seen.selection.cache),
        matrices=study.matrices(seen),
        every=study.every(asked, seen),
        baselines=_baselines(seen, found[0].comparison.baseline if found else ""),
        pair=_pair(seen.shown),
        kept=study.kept(asked, FORM),
        downloads=study.downloads(FORMATS_STUDY, asked),
        jobs=study.sources(seen),
    )


def _baselines(seen: Measured, current: str) -> tuple[Choice, ...]:
    timed = {m.kernel for m in seen.measurements if m.median_s}
    ordered = [name for name in BASELINES if name in timed] + sorted(timed.difference(BASELINES))
    return tuple(Choice(kernel, kernel, kernel == current) for kernel in ordered)


def _pair(shown: Shown) -> tuple[Choices, ...]:
    """Two fields of the same name: the first format and the one it is compared with; none for a lone matrix."""
    places = [groups for groups in by_place(shown.measurements).values() if len(groups) > 1]
    known = tuple(dict.fromkeys((*shown.pair, *(name for groups in places for name in formats_of(groups)))))
    if len(known) < 2:
        return ()
    chosen = (*shown.pair, "", "")
    fields = (("pair-first", "Ratio of", "default pairs"), ("pair-second", "over", "every other"))
    return tuple(
        Choices(name, label, (Choice("", unset), *(Choice(f, f, f == chosen[place]) for f in known)))
        for place, (name, label, unset) in enumerate(fields)
    )
