"""`/`: the question of a matrix, the last answers, and what was measured on which device."""

from collections.abc import Mapping

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from gpu_engine.advisor.gpus import gpu_named
from gpu_engine.findings.formats.for_n import SPMVS, SPMVS_MAX
from gpu_engine.text import units
from gpu_engine.text.words import amount
from server import devices, import_recordings
from server.collection.fetcher import Fetcher
from server.models import JobRow, MatrixRow, RecordedResultsRow, RecordingRow
from web import headline
from web.components import Choice, DeviceRowView, Link
from web.device_labels import CPU, THIS_CPU, short
from web.home_contexts import Coverage, CoverageRow, Headline, HomePage, Question
from web.recorded import ReferenceSummary, recorded_formats, reference_devices
from web.results import device_names
from web.selection import Selection, choice_error, clamped, study_url
from web.studies import PAGES
from web.studies.formats import FORMATS
from web.views import named_matrix
from web.views.home_answers import last_answers
from web.views.list_rows import device_rows

OPTIONS = ("name", "device", "n")
TABBED = tuple(page for page in PAGES if not any(page.name in other.subpages for other in PAGES))
"""Studies with a tab of their own."""


def parse_question(session: Session, options: Mapping[str, str]) -> Question:
    """Return the question in an address, with the nearest possible number; raises ParameterError for the device."""
    known = {choice.value: choice.text for choice in _devices(session, "")}
    n, note = clamped("n", options["n"], SPMVS_MAX, SPMVS, "SpMVs")
    device = options["device"] or next(iter(known), "")
    every = {*known, *device_names(session), *(row.id for row in devices.list_devices(session))}
    if device and device not in every and gpu_named(device) is None:
        raise choice_error("device", device, known)
    return Question(options["name"].strip(), device, n, note, options["n"] if note else "")


def device_ids(session: Session) -> tuple[str, ...]:
    """Return the devices that the form offers."""
    return tuple(choice.value for choice in _devices(session, ""))


def answer_url(session: Session, question: Question) -> str:
    """Return the address of the page with the answer; empty if no matrix has that name."""
    row = named_matrix.find(session, question.name) if question.name else None
    # The page of the matrix says itself that it takes another number.
    return f"/matrices/{row.id}{question.query(n=question.n_text)}" if row else ""


def page(session: Session, question: Question, fetcher: Fetcher) -> HomePage:
    """Return the home page."""
    rows = select(func.count()).select_from(MatrixRow)
    known = recorded_formats(session, question.device)
    missing = named_matrix.not_here(session, fetcher, question.name, question.query()) if question.name else None
    return HomePage(
        title="The fastest SpMV format for your matrix",
        topics="jobs,matrices",
        name=question.name,
        n=question.n,
        n_max=SPMVS_MAX,
        n_note=question.note,
        missing=missing,
        can_fetch=fetcher.is_on,
        devices=_devices(session, question.device),
        answers=last_answers(session, question),
        matrix_count=session.scalar(rows) or 0,
        importing=import_recordings.is_running(),
        headline=_headline(known) if known and known.comparison.points else None,
        coverage=_coverage(session),
    )


def _devices(session: Session, chosen: str) -> tuple[Choice, ...]:
    """Return the devices of the form, one per name: those with reference results, then those of this server."""
    names = device_names(session)
    known = {short(names[device]): device for device in reference_devices(session)}
    for info in devices.offered(session):
        known.setdefault(THIS_CPU if info.backend == "cpu" else f"{short(info.name)} (this server)", info.id)
    choices = [Choice(device, name, device == chosen) for name, device in known.items()]
    if chosen and not any(choice.chosen for choice in choices):
        choices.append(Choice(chosen, THIS_CPU if chosen == CPU else short(names.get(chosen, chosen)), True))
    return tuple(choices)


def _headline(known: ReferenceSummary) -> Headline:
    return Headline(
        headline.sentence(known.comparison, known.name),
        headline.details(known.comparison),
        headline.picture(known.comparison),
        headline.table(known.comparison),
        study_url(FORMATS.name, Selection(device=(known.device,))),
    )


def _coverage(session: Session) -> Coverage:
    """Return the number of matrices with reference results and of jobs by device and study, without empty columns."""
    matrices = (
        select(RecordingRow.device, RecordingRow.study, func.count(RecordedResultsRow.id))
        .join(RecordedResultsRow, RecordedResultsRow.recording_id == RecordingRow.id)
        .group_by(RecordingRow.device, RecordingRow.study)
    )
    jobs = (
        select(JobRow.device, JobRow.study, func.count())
        .where(JobRow.cases_done > 0)
        .group_by(JobRow.device, JobRow.study)
    )
    cells = {(device, study): units.count(count) for device, study, count in session.execute(matrices)}
    for device, study, count in session.execute(jobs):
        cells[device, study] = amount(count, "job")
    order = {device: place for place, device in enumerate(reference_devices(session))}
    rows = sorted(device_rows(session), key=lambda row: (row.state != "recorded", order.get(row.id, len(order))))
    pages = [page for page in TABBED if any(study == page.name for _, study in cells)]
    every = tuple(
        CoverageRow(*_named(row), tuple(_cell(row.id, page.name, cells.get((row.id, page.name), "")) for page in pages))
        for row in rows
    )
    return Coverage(tuple(page.link for page in pages), tuple(row for row in every if any(row.cells)))


def _named(row: DeviceRowView) -> tuple[str, str]:
    """Return the short name of a device and what kind of device it is."""
    if row.state == "recorded":
        return short(row.name), "reference results"
    return (THIS_CPU, short(row.name)) if row.id == CPU else (short(row.name), f"this server, {row.id}")


def _cell(device: str, study: str, text: str) -> Link | None:
    return Link(text, study_url(study, Selection(device=(device,)))) if text else None
