"""The answer on a matrix: keep CSR or take another format for n SpMVs on a device, measured or predicted."""

from collections.abc import Sequence

from gpu_engine.findings.formats.decision import Decision
from gpu_engine.findings.formats.for_n import total_s
from gpu_engine.records import Measurement
from gpu_engine.rounds import shows_interval
from gpu_engine.text import units
from gpu_engine.text.words import amount
from server.models import JobRow, JobState, MatrixRow, MatrixState
from web.components import StatePill
from web.job_contexts import LiveJob
from web.matrix_contexts import AnswerCard
from web.views.matrix_devices import DeviceOption

MEASURED = StatePill("measured", "✓ measured")
LONG_S = 100.0
"""Seconds from which a time is in minutes or hours."""

BUSY, UNKNOWN = StatePill("busy", "⚠ too noisy"), StatePill("", "not measured")


def measured_card(decision: Decision, device: DeviceOption, when: str, busy: str) -> AnswerCard:
    """Return the answer from measurements; busy: why they are too noisy to choose, or empty."""
    if busy:
        sentence = f"On {device.phrase}, the timings are too noisy to choose a kernel."
        return AnswerCard(BUSY, when, sentence, (busy,))
    where, kernel = f"On {device.phrase}, for {spmvs(decision.n)}", decision.kernel
    total = time_text(total_s(kernel, decision.n))
    if decision.keeps_csr:
        sentence = f"{where}, keep CSR: {kernel.kernel} takes {total} in all."
        return AnswerCard(MEASURED, when, sentence, (*_beyond(decision), _memory(decision)), kernel.kernel)
    if decision.csr is None:
        sentence = f"{where}, take {kernel.kernel}: {total} in all."
        return AnswerCard(MEASURED, when, sentence, (*_beyond(decision), _memory(decision)), kernel.kernel)
    gain = units.ratio(decision.speedup)
    sentence = f"{where}, take {kernel.kernel}: speedup {gain} over {decision.csr.kernel}."
    return AnswerCard(MEASURED, when, sentence, (_gain(decision), _memory(decision)), kernel.kernel)


def live_card(job: JobRow, live: LiveJob, predicted: AnswerCard | None, left: str) -> AnswerCard:
    """Return the answer while a job measures the matrix; left: its remaining time as text, or empty."""
    word = "queued" if job.state == JobState.QUEUED else live.stage or "running"
    word = f"provisional · {word}" if job.interim else word
    when = " · ".join(filter(None, (left, "predicted so far" if predicted and not job.interim else "")))
    if job.interim or predicted is None:
        return AnswerCard(StatePill("running", f"● {word}"), when, live.sentence)
    return AnswerCard(StatePill("running", f"● {word}"), when, predicted.sentence, predicted.under, predicted.kernel)


def unknown_card(row: MatrixRow, device: DeviceOption, error: str) -> AnswerCard:
    """Return the card of a matrix without an answer: it is being read, could not be read, or was not measured."""
    if row.state == MatrixState.INGESTING:
        return AnswerCard(StatePill("running", "● reading"), "", f"Reading {row.name}. The answer follows in seconds.")
    if row.state == MatrixState.FAILED:
        return AnswerCard(StatePill("failed", "✕ failed"), "", f"{row.name} could not be read.", (error,))
    silent = () if device.is_here else (f"No worker offers {device.phrase} now.",)
    return AnswerCard(UNKNOWN, "", f"{row.name} is not measured on {device.phrase} yet.", silent)


def origin_text(device: DeviceOption, day: str, group: Sequence[Measurement]) -> str:
    """Return where, when, and with how many rounds kernels were measured."""
    rounds = [m.rounds for m in group if m.rounds]
    most = max(rounds, default=0)
    few = units.rounds_text(most, units.MISSING) if most else ""
    few += ", too few for an interval" if most and not shows_interval(most) else ""
    return ", ".join(filter(None, (device.label, day, few)))


def spmvs(n: int) -> str:
    """Return a number of SpMVs as text."""
    return amount(n, "SpMV")


def time_text(seconds: float) -> str:
    """Return the time for all SpMVs: `8.61 ms`, or `5 h 55 min`."""
    return units.seconds(seconds) if seconds < LONG_S else units.duration(seconds)


def interval_text(interval: tuple[float, float]) -> str:
    """Return the 95 % CI of a ratio: `1.14–1.22`, or `1.196–1.203` if two decimals do not separate its ends."""
    texts = ([f"{end:.{decimals}f}" for end in interval] for decimals in (2, 3))
    return "–".join(next((ends for ends in texts if ends[0] != ends[1]), [f"{end:.3f}" for end in interval]))


def _gain(decision: Decision) -> str:
    """Return the CI of the speedup, and the number of SpMVs after which the conversion is paid."""
    interval = f"95\u202f% CI {interval_text(decision.interval)}" if decision.interval else ""
    if not decision.has_conversions:
        return f"{interval}{', ' if interval else ''}without its conversion, which was not timed."
    pays, convert_s = decision.pays_after, decision.kernel.convert_s
    of_it = f", {units.seconds(convert_s)} of it for the conversion" if convert_s is not None else ""
    total = f"{interval}{', ' if interval else ''}{time_text(total_s(decision.kernel, decision.n))} in all{of_it}."
    return f"{total} Converting pays from {spmvs(pays)} on." if pays and pays > 1 else total


def _memory(decision: Decision) -> str:
    """Return the size of the layout beside that of CSR."""
    csr = decision.csr if not decision.keeps_csr else None
    return memory_text(decision.kernel.stored_bytes, csr.stored_bytes if csr else None)


def memory_text(stored: float | None, csr: float | None) -> str:
    """Return the size of a layout instead of that of CSR; csr: None without a comparison. Empty if it is unknown."""
    if not stored:
        return ""
    return f"Storage: {units.size(stored)}{f' instead of {units.size(csr)} for CSR' if csr else ''}."


def _beyond(decision: Decision) -> tuple[str, ...]:
    """Return whether another kernel pays, and from how many SpMVs on."""
    if decision.rival:
        return (f"The advantage of {decision.rival.kernel} is too small to be significant.",)
    if decision.next is None or not decision.has_conversions:
        return ("No other format is faster for more SpMVs.",) if decision.has_conversions else ()
    n, cost = decision.next
    gain = units.ratio(decision.kernel.spmv_s / cost.spmv_s)
    pays = f"{cost.kernel} pays from {spmvs(n)} on: speedup {gain} per SpMV"
    return (f"{pays}, after a conversion of {units.seconds(cost.convert_s)}.",)
