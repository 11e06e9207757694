"""`/formats`: the comparison of kernels."""

from sqlalchemy.orm import Session

from gpu_engine.records import CACHES
from web.comparison import BASELINES
from web.contexts import Chart, Choice, FormatsPage, Link
from web.measured import Measured, measured
from web.selection import NAMES, Selection
from web.views.lines import findings, formats_url, summary

CHOICES_MAX = 12
"""Most matrices offered beside each other; the others have their own pages."""


def page(session: Session, asked: Selection) -> FormatsPage:
    """The page of a selection; raises NotFoundError for an unknown job."""
    shown = measured(session, asked)
    baseline = asked.baseline[0] if asked.baseline else ""
    found = findings(shown, shown.measurements, baseline)
    running = [f"job:{job.id}" for job in shown.jobs if job.finished_at is None]
    return FormatsPage(
        title="Formats compared",
        topics=",".join(running),
        findings=found,
        chart=chart(shown.selection.with_(baseline=()), len(shown.measurements), summary(found)),
        devices=_switch(asked, "device", shown.devices, shown.selection.device),
        caches=_switch(asked, "cache", CACHES, shown.selection.cache),
        matrices=(choices := _matrices(shown)),
        more_matrices=len({*shown.matrices, *shown.selection.matrix}) - len(choices),
        baselines=_baselines(shown, found[0].comparison.baseline if found else ""),
        kept=tuple((name, v) for name in NAMES if name not in ("matrix", "baseline") for v in getattr(asked, name)),
        downloads=(Link("CSV", f"/formats.csv?{asked.query}"), Link("JSON", f"/formats.json?{asked.query}")),
        jobs=tuple(Link(job.id[:8], f"/jobs/{job.id}") for job in shown.jobs),
    )


def chart(selection: Selection, version: int, caption: str) -> Chart:
    """The bars of a selection."""
    return Chart("formats-chart", f"/api/v1/figures/formats?{selection.query}", str(version), caption)


def _switch(asked: Selection, name: str, options: tuple[str, ...], current: tuple[str, ...]) -> tuple[Link, ...]:
    """One address per option; a device's own matrices are chosen anew."""
    reset = {"matrix": ()} if name == "device" else {}
    return tuple(
        Link(option, formats_url(asked.with_(**{name: option}, **reset)), option in current) for option in options
    )


def _matrices(shown: Measured) -> tuple[Choice, ...]:
    """The matrices shown and the newest others: a list that stays readable with hundreds measured."""
    chosen = shown.selection.matrix
    others = [m for m in shown.matrices if m not in chosen]
    left_out = set(others[max(0, CHOICES_MAX - len(chosen)) :])
    offered = dict.fromkeys((*shown.matrices, *chosen))
    return tuple(Choice(m, shown.names[m], m in chosen) for m in offered if m not in left_out)


def _baselines(shown: Measured, current: str) -> tuple[Choice, ...]:
    timed = {m.kernel for m in shown.measurements if m.median_s}
    ordered = [name for name in BASELINES if name in timed] + sorted(timed.difference(BASELINES))
    return tuple(Choice(kernel, kernel, kernel == current) for kernel in ordered)
