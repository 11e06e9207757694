"""`/scaling`: one matrix shared by several devices, in words, figures and tables."""

from sqlalchemy.orm import Session

from web.comparison import overview
from web.contexts import ScalingPage
from web.figures.scaling import balance, conclusions, tables
from web.measured import SCALING_STUDY, Measured, measured
from web.parts import Choice, GroupFinding, WorkCases
from web.scaling import WorkGroup, by_work, in_words, numbers_of_devices, work_groups
from web.scaling_cases import COLD, WORKS, is_virtual
from web.scaling_verdicts import VIRTUAL_CAVEAT, sentences
from web.selection import PHASES_AS, Selection
from web.shown import Shown
from web.views import study
from web.views.lines import study_url

FORM = ("matrix", "devices")
"""What the form chooses; the address keeps the rest."""


def page(session: Session, asked: Selection) -> ScalingPage:
    """The page of a selection; raises NotFoundError for an unknown job."""
    seen = measured(session, SCALING_STUDY, asked)
    shown = seen.shown
    virtual = any(is_virtual(m) for m in shown.measurements)
    return ScalingPage(
        title="One matrix on several devices",
        topics=study.topics(seen),
        overview=_overview(shown),
        findings=scaling_findings(seen),
        caveat=VIRTUAL_CAVEAT if virtual else "",
        figures=study.figures("works", seen, shown),
        conclusions=conclusions.table(shown),
        balance=_balance(shown),
        cases=work_cases(shown),
        features=study.features(seen),
        devices=study.switch(SCALING_STUDY, asked, "device", seen.devices, seen.selection.device),
        phases=study.switch(SCALING_STUDY, asked, "phases", PHASES_AS, (shown.phases or PHASES_AS[0],)),
        matrices=study.matrices(seen),
        every=study.every(asked, seen),
        numbers=_numbers(seen, shown, virtual),
        kept=study.kept(asked, FORM),
        downloads=study.downloads(SCALING_STUDY, asked),
        jobs=study.sources(seen),
    )


def scaling_findings(seen: Measured) -> tuple[GroupFinding, ...]:
    """What is said of each work among these measurements, with the address that shows its matrix alone."""
    shown = seen.shown
    return tuple(
        GroupFinding(
            matrix_id=first.matrix_id,
            title=f"{shown.matrix(first.matrix_id).name}, {WORKS[first.work]}",
            sentences=sentences((first, *others), shown),
            href=study_url(
                SCALING_STUDY, seen.selection.with_(matrix=first.matrix_id, device=first.device, cache=first.cache)
            ),
        )
        for first, *others in by_work(work_groups(shown))
    )


def work_cases(shown: Shown) -> tuple[WorkCases, ...]:
    """The cases of each work that is shown, each in a table of its own."""
    found = [(work, heading, tables.cases(shown, work)) for work, heading in WORKS.items()]
    return tuple(WorkCases(work, heading, table) for work, heading, table in found if table.rows)


def _balance(shown: Shown) -> tuple[WorkCases, ...]:
    """All but the first work, whose table the figure has."""
    return tuple(WorkCases(work, WORKS[work], table) for work, table in balance.tables(shown)[1:])


def _overview(shown: Shown) -> tuple[str, ...]:
    """Where which strategy leads: of products from the host, for elsewhere none compete."""
    found: dict[str, list[WorkGroup]] = {}
    for group in work_groups(shown, (COLD,)):
        if group.leaders:
            found.setdefault(group.partitioning, []).append(group)
    return tuple(said for name, groups in found.items() for said in overview(groups, f"matrices cut as {name}"))


def _numbers(seen: Measured, shown: Shown, virtual: bool) -> tuple[Choice, ...]:
    known = numbers_of_devices(shown)
    offered = sorted({*known, *((shown.devices,) if shown.devices else ())})
    choices = (Choice(str(number), in_words(number, virtual), number == shown.devices) for number in offered)
    return (Choice("", "as many as there are", not shown.devices), *choices) if seen.measurements else ()
