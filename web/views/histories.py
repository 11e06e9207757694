"""`/history`: cases over time with change points and environment changes."""

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
from web.components import Chart, Choice, Choices, Link, LinkSwitch
from web.contexts import HistoryPage
from web.device_labels import short
from web.figures.case_history import CASE_HISTORY, info, summary
from web.histories import HistoryView, history_view, other_caches
from web.results import device_names
from web.selection import Selection
from web.studies import PAGES

RECORDED = "Reference results have one measurement per case and no history. Results of your own jobs have a history."


def page(session: Session, selection: Selection) -> HistoryPage:
    """Return the page of a selection; raises like `history_view`."""
    view = history_view(session, selection)
    number = sum(len(history.timeline) for history in view.histories)
    figure = info(view.drawn_histories, view.histories)
    query = view.selection.query
    return HistoryPage(
        title=f"{view.matrix or 'Cases'}: history",
        topics=_topics(session, view),
        matrix=Link(view.matrix, f"/matrices/{view.subject.matrix_id}") if view.matrix else None,
        sentences=(RECORDED,) if view.recorded else sentences(view.histories),
        labels=tuple(history.label for history in view.histories),
        selects=_selects(session, view),
        hidden=(("cache", view.cache),),
        caches=LinkSwitch(
            "Cache", tuple(Link(each, f"/history?{s.query}", each == view.cache) for each, s in other_caches(view))
        ),
        kernels=tuple(Choice(kernel, kernel, kernel in selection.kernel) for kernel in view.kernels),
        chart=Chart(
            f"{CASE_HISTORY.name}-chart", f"/api/v1/figures/{CASE_HISTORY.name}?{query}", str(number), summary(figure)
        ),
        points=tables.change_points(view.histories),
        environment_changes=tables.underneath(view.histories),
        measurements=tables.measurements(view.drawn_histories, {each.key for each in view.busy}),
        note=_note(view),
        data=f"/api/v1/history?{_data(view)}",
    )


def _topics(session: Session, view: HistoryView) -> str:
    """Return the topics of the running jobs that measure these cases."""
    subject = view.subject
    running = queue.list_jobs(session, JobState.RUNNING, subject.study, subject.matrix_id).items
    return ",".join(f"job:{job.id}" for job in running if job.device == subject.device)


def _selects(session: Session, view: HistoryView) -> tuple[Choices, ...]:
    """Return the fields for study, matrix, and device; each offers the results of the fields before it."""
    subject, names = view.subject, device_names(session)
    known = find_sources(session, subject.study, matrices=tuple(filter(None, [subject.matrix_id])))
    here = tuple(dict.fromkeys(filter(None, (subject.device, *(job.device for job in known.jobs)))))
    of_study = find_sources(session, subject.study, devices=known.devices)
    ids = tuple(dict.fromkeys(filter(None, (subject.matrix_id, *(m for job in of_study.jobs for m in job.matrix_ids)))))
    matrices = matrix_features(session, ids)
    devices = tuple(Choice(d, short(names.get(d, d)), d == subject.device) for d in here)
    return (
        Choices("study", "study", "Study", tuple(Choice(p.name, p.link, p.name == subject.study) for p in PAGES)),
        Choices("matrix", "matrix", "Matrix", tuple(Choice(i, matrices[i].name, i == subject.matrix_id) for i in ids)),
        Choices("device", "device", "Device", devices),
    )


def _note(view: HistoryView) -> str:
    """Return a note if the table of measurements is incomplete."""
    number = sum(len(history.timeline) for history in view.drawn_histories)
    if number > tables.ROWS_MAX:
        return (
            f"Newest {count(tables.ROWS_MAX)} of {count(number)} measurements. The JSON has {count(NEWEST)} per case."
        )
    return ""


def _data(view: HistoryView) -> str:
    subject = view.subject
    pairs = [("study", subject.study), ("matrix", subject.matrix_id), ("device", subject.device), ("cache", view.cache)]
    return urlencode([*pairs, *(("kernel", kernel) for kernel in view.selection.kernel)])
