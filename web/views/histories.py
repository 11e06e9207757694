"""`/history`: the same cases over time, their change points, and what changed underneath."""

from urllib.parse import urlencode

from sqlalchemy.orm import Session

from gpu_engine.findings.history import tables
from gpu_engine.findings.history.sentences import sentences
from gpu_engine.text.units import count
from server.histories import NEWEST
from server.jobs import queue
from server.models import JobState
from server.result_sources import find_sources
from server.results import matrix_features
from web.contexts import HistoryPage
from web.figures.case_history import CASE_HISTORY, info, summary
from web.histories import Shown, other_caches, shown
from web.parts import Chart, Choice, Choices, Link, LinkSwitch
from web.results import device_names
from web.selection import Selection
from web.studies import PAGES

RECORDED = (
    "These results were recorded elsewhere: they are one measurement of each case, which has no history. "
    "What jobs measure here gets one."
)


def page(session: Session, selection: Selection) -> HistoryPage:
    """The page of a selection; raises as `shown` does."""
    seen = shown(session, selection)
    number = sum(len(history.taken) for history in seen.histories)
    figure = info(seen.drawn, seen.histories)
    query = seen.selection.query
    return HistoryPage(
        title=f"{seen.matrix or 'Cases'} over time",
        topics=_topics(session, seen),
        matrix=Link(seen.matrix, f"/matrices/{seen.place.matrix_id}") if seen.matrix else None,
        sentences=(RECORDED,) if seen.recorded else sentences(seen.histories),
        labels=tuple(history.label for history in seen.histories),
        selects=_selects(session, seen),
        hidden=(("cache", seen.cache),),
        caches=LinkSwitch(
            "Cache", tuple(Link(each, f"/history?{s.query}", each == seen.cache) for each, s in other_caches(seen))
        ),
        kernels=tuple(Choice(kernel, kernel, kernel in selection.kernel) for kernel in seen.kernels),
        chart=Chart(
            f"{CASE_HISTORY.name}-chart", f"/api/v1/figures/{CASE_HISTORY.name}?{query}", str(number), summary(figure)
        ),
        points=tables.change_points(seen.histories),
        underneath=tables.underneath(seen.histories),
        measurements=tables.measurements(seen.drawn, {each.key for each in seen.busy}),
        note=_note(seen),
        data=f"/api/v1/history?{_data(seen)}",
    )


def _topics(session: Session, seen: Shown) -> str:
    """The jobs that measure here now."""
    place = seen.place
    running = queue.list_jobs(session, JobState.RUNNING, place.study, place.matrix_id).items
    return ",".join(f"job:{job.id}" for job in running if job.device == place.device)


def _selects(session: Session, seen: Shown) -> tuple[Choices, ...]:
    """The study, the matrix and the device, each with what the chosen ones before it have results of."""
    place, names = seen.place, device_names(session)
    known = find_sources(session, place.study, matrices=tuple(filter(None, [place.matrix_id])))
    here = tuple(dict.fromkeys(filter(None, (place.device, *(job.device for job in known.jobs)))))
    of_study = find_sources(session, place.study, devices=known.devices)
    ids = tuple(dict.fromkeys(filter(None, (place.matrix_id, *(m for job in of_study.jobs for m in job.matrix_ids)))))
    matrices = matrix_features(session, ids)
    return (
        Choices("study", "study", "Study", tuple(Choice(p.name, p.link, p.name == place.study) for p in PAGES)),
        Choices("matrix", "matrix", "Matrix", tuple(Choice(i, matrices[i].name, i == place.matrix_id) for i in ids)),
        Choices("device", "device", "Device", tuple(Choice(d, names.get(d, d), d == place.device) for d in here)),
    )


def _note(seen: Shown) -> str:
    """What the table of measurements leaves out; empty where that is nothing."""
    number = sum(len(history.taken) for history in seen.drawn)
    if number > tables.ROWS_MAX:
        return (
            f"The newest {count(tables.ROWS_MAX)} of {count(number)} measurements; the JSON has {count(NEWEST)} a case."
        )
    return ""


def _data(seen: Shown) -> str:
    place = seen.place
    pairs = [("study", place.study), ("matrix", place.matrix_id), ("device", place.device), ("cache", seen.cache)]
    return urlencode([*pairs, *(("kernel", kernel) for kernel in seen.selection.kernel)])
