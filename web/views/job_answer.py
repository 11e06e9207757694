"""Answer of a job: the label of its state, one sentence, and what stands under it."""

from collections import Counter
from collections.abc import Sequence

from gpu_engine.findings.finding import Finding
from gpu_engine.findings.ranking import join
from gpu_engine.text import units
from server.models import JobRow, JobState
from web.components import StatePill
from web.figures.base import shorten

NOISY = "noisy"
"""Kind of a comparison group whose timings are too noisy."""

NAME_MAX = 40
"""Length of the name of a matrix in a sentence."""

NAMED = 3
"""Maximum number of kernels in the sentence on several matrices."""

WORDS_MAX = 25
"""Maximum number of words of the sentence; two findings that need more are counted instead."""


DONE = "done"
"""What pages call the state `succeeded`."""


def pill(
    row: JobRow,
    outcome: str,
    took_s: float | None = None,
    stage: str = "",
    position: int | None = None,
    busy: bool = False,
) -> StatePill:
    """Return the label of the state of a job.

    outcome   its state as lists show it
    took_s    seconds since its start; stage: what it does now; position: in the queue
    busy      whether all its timings are too noisy
    """
    took = units.duration(took_s) if took_s is not None else ""
    took_in, after = (f" in {took}", f" after {took}") if took else ("", "")
    match row.state:
        case JobState.QUEUED:
            return StatePill("", f"○ queued{f' · position {position}' if position is not None else ''}")
        case JobState.RUNNING:
            ends = "stops after this round" if row.stop_requested else stage
            return StatePill("predicted", f"● running · {ends}" if ends else "● running")
        case JobState.SUCCEEDED if outcome != row.state:
            return StatePill("busy", f"■ {outcome}{after}")
        case JobState.SUCCEEDED if busy:
            return StatePill("busy", f"⚠ {DONE}{took_in} · noisy")
        case JobState.SUCCEEDED:
            return StatePill("measured", f"✓ {DONE}{took_in}")
        case JobState.FAILED:
            return StatePill("failed", f"✕ failed{after}")
    return StatePill("", f"– {row.state}{after}")


def sentence_of(findings: Sequence[Finding], what: str) -> str:
    """Return who is fastest, in at most WORDS_MAX words; what: plural noun of the comparison groups."""
    timed = [finding for finding in findings if any(row.measurement.median_s for row in finding.rows)]
    if not timed:
        return "No case has a time."
    if len(timed) == 1:
        return f"{_claim(timed[0])}."
    if all(kind_of(finding) == NOISY for finding in timed):
        return f"The timings are too noisy to rank the kernels on any of {len(timed)} {what}."
    both = f"{'. '.join(map(_claim, timed))}."
    return both if len(timed) == 2 and len(both.split()) <= WORDS_MAX else _by_kernel(timed, what)


def _claim(finding: Finding) -> str:
    """Return what holds in one comparison group, without a period."""
    title = shorten(finding.title, NAME_MAX)
    if finding.busy or not finding.leaders:
        return f"The timings are too noisy to rank the kernels on {title}"
    leaders = join(finding.leaders, NAMED)
    if not finding.decided:
        return f"{leaders} may be fastest on {title}, not clearly"
    if len(finding.leaders) > 1:
        return f"{leaders} tie for fastest on {title}"
    ratio = next((row.ratio for row in finding.rows if row.label == leaders), None)
    over = f", {units.speedup(ratio)} over {finding.baseline}" if ratio and leaders != finding.baseline else ""
    return f"{leaders} is fastest on {title}{over}"


def _by_kernel(findings: Sequence[Finding], what: str) -> str:
    clear = Counter(f.leaders[0] for f in findings if f.decided and len(f.leaders) == 1 and not f.busy)
    if not clear:
        return f"No kernel is clearly fastest on any of {len(findings)} {what}."
    named = [f"{kernel} on {number}" for kernel, number in clear.most_common(NAMED)]
    more = [f"{len(clear) - NAMED} more kernels"] if len(clear) > NAMED else []
    return f"One kernel is clearly fastest on {clear.total()} of {len(findings)} {what}: {join([*named, *more])}."


def rest_of(findings: Sequence[Finding]) -> str:
    """Return the comparison groups without one fastest kernel, as a sentence; empty if every group has one."""
    kinds = Counter(kind_of(finding) for finding in findings)
    parts = [f"{kinds[kind]} {kind}" for kind in ("tied", "undecided", NOISY) if kinds[kind]]
    return f"Without one fastest kernel: {', '.join(parts)}." if len(findings) > 2 and parts else ""


def kind_of(finding: Finding) -> str:
    """Return `clear`, `tied`, `undecided`, or `noisy`."""
    if finding.busy or not finding.leaders:
        return NOISY
    return "undecided" if not finding.decided else "tied" if len(finding.leaders) > 1 else "clear"


def case_count(row: JobRow, timed: int, not_reached: int) -> str:
    """Return how many cases have times, as a sentence.

    not_reached  cases that were not reached before the job was stopped
    """
    if not_reached and not timed:
        return "The job was stopped before its first time."
    rest = f". The job was stopped before the other {not_reached}" if not_reached else ""
    return f"{timed} of {row.cases_total} cases have times{rest}."
