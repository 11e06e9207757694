"""Sentences of a job on its custom kernels: the verdict on each against the baseline, the best of cuSPARSE on a GPU."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import geometric_mean

from gpu_engine.custom_kernels.sources import PREFIX
from gpu_engine.findings.finding import Finding
from gpu_engine.text import units
from gpu_engine.verdicts.verdict import Verdict, compare, verdict_text
from web.studies.answers.wording import wins


def custom_sentences(findings: Sequence[Finding]) -> tuple[str, ...]:
    """Return a sentence per custom kernel; noisy comparison groups do not count."""
    groups = [finding for finding in findings if not finding.busy]
    kernels = dict.fromkeys(
        row.measurement.kernel for f in groups for row in f.rows if row.measurement.kernel.startswith(PREFIX)
    )
    return tuple(_sentence(kernel, groups) for kernel in kernels)


def _sentence(kernel: str, findings: Sequence[Finding]) -> str:
    verdicts = list(_verdicts(kernel, findings))
    if not verdicts:
        return f"{kernel} has no time. The table of all numbers has the reason."
    rivals = dict.fromkeys(rival for rival, _ in verdicts)
    over = next(iter(rivals)) if len(rivals) == 1 else "the baselines"
    gain = units.speedup(geometric_mean(verdict.ratio for _, verdict in verdicts if verdict.ratio))
    if len(verdicts) == 1:
        return f"{kernel}: speedup {gain} over {over}, {verdict_text(verdicts[0][1].kind)}."
    return f"{kernel}: mean speedup {gain} over {over}, {wins(Counter(v.kind for _, v in verdicts), 'matrices')}."


def _verdicts(kernel: str, findings: Sequence[Finding]) -> Iterator[tuple[str, Verdict]]:
    """Yield the baseline and the verdict of each comparison group with times of both."""
    for finding in findings:
        timed = {row.measurement.kernel: row.measurement for row in finding.rows if row.measurement.median_s}
        rival = timed.get(finding.baseline)
        if rival is not None and kernel in timed and rival.kernel != kernel:
            yield rival.kernel, compare(rival, timed[kernel])
