"""Sentences of the answer of scaling: whether more devices pay, and on which matrices."""

from collections import Counter
from collections.abc import Sequence

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.ranking import NAMED, join
from gpu_engine.findings.scaling.answer import Machine, Scaled
from gpu_engine.findings.scaling.cases import COLD, ITERATE, RESIDENT, STAYING, WORKS
from gpu_engine.text import units
from gpu_engine.text.words import amount, capital
from gpu_engine.verdicts.verdict import verdict_text

QUESTION = "Do more devices pay?"


def sentence(first: Machine) -> str:
    """Return yes or no with the ranges of speedups, and the numbers of matrices if they are not the same ones.

    SpMVs without exchange and iterations with exchange are two answers.
    """
    if first.virtual:
        return f"{QUESTION} Simulated ones cannot tell, because CPU threads stand in for GPUs."
    without, exchanging = first.of(RESIDENT), first.of(ITERATE)
    if without and exchanging:
        both = f"SpMVs without exchange {_range(without)}, iterations with exchange {_range(exchanging)}"
        return f"{QUESTION} {_yes((*without, *exchanging))}: {both} with {amount(first.devices, 'device')}."
    staying, cold = first.of(_staying(first)), first.of(COLD)
    number = f"with {amount(first.devices, 'device')}"
    if not staying or not cold:
        what = _if_staying(first) if staying else "from the host"
        return f"{QUESTION} {_yes(staying or cold)} {what}: {_range(staying or cold)} {number}."
    also = "and" if _yes(cold) == _yes(staying) else "but"
    of_staying, of_cold = _on(staying, cold)
    begin = f"{QUESTION} {_yes(staying)} {_if_staying(first)}: {_range(staying)}{of_staying or f' {number}'}"
    return f"{begin}, {also} {_range(cold)} from the host{of_cold}."


def under(first: Machine, data: StudyData) -> tuple[str, ...]:
    """Return the workloads that the sentence leaves out, where fewer devices are faster, and what balance brings."""
    texts = [
        f"{capital(WORKS[work])}: {_range(scaled)}, {_count(scaled)}."
        for work in first.works
        if (scaled := first.of(work)) and work not in _in_sentence(first)
    ]
    texts += _fewer(first, data)
    if first.balance_gain and not first.virtual:
        gain = units.ratio(first.balance_gain)
        texts.append(f"From the host: speedup {gain} over equal rows sent by one thread, the baseline of the paper.")
    return tuple(texts)


def _in_sentence(first: Machine) -> tuple[str, ...]:
    """Return the workloads of the sentence."""
    if first.virtual:
        return ()
    return (RESIDENT, ITERATE) if {RESIDENT, ITERATE} <= {*first.works} else (_staying(first), COLD)


def _fewer(first: Machine, data: StudyData) -> list[str]:
    """Return a sentence per matrix and number of devices on the workloads that fewer devices run faster."""
    works: dict[tuple[int, str], list[str]] = {}
    for each in first.scaled if not first.virtual else ():
        if number := each.fewer:
            works.setdefault((number, each.group.matrix_id), []).append(WORKS[each.group.work])
    return [
        f"{amount(number, 'device')} are faster than {first.devices} on {data.matrix(matrix_id).name}: {join(of)}."
        for (number, matrix_id), of in works.items()
    ]


def _if_staying(first: Machine) -> str:
    """Return the condition of the answer if the matrix stays on the devices."""
    return "if the matrix stays on them, without exchange" if _staying(first) == RESIDENT else "if the matrix stays"


def ranges(machine: Machine) -> str:
    """Return the range of speedups of each workload."""
    return ", ".join(f"{WORKS[work]} {_range(machine.of(work))}" for work in machine.works)


def matrices_of_works(first: Machine, data: StudyData) -> tuple[str, ...]:
    """Return the matrices of both workloads of the sentence; empty if they are the same ones."""
    works = (_staying(first), COLD)
    if not all(first.of(work) for work in works) or len({_ids(first.of(work)) for work in works}) == 1:
        return ()
    named = ((work, [data.matrix(each.group.matrix_id).name for each in first.of(work)]) for work in works)
    return tuple(f"{capital(WORKS[work])}: measured on {join(names, NAMED)}." for work, names in named)


def _staying(first: Machine) -> str:
    """Return the workload of the answer whose matrix stays on the devices; empty without one."""
    return next((work for work in STAYING if first.of(work)), "")


def _yes(scaled: Sequence[Scaled]) -> str:
    """Return `Yes` if more devices are faster on all matrices, `On some matrices`, or `No`."""
    faster = [each.speedup.kind == "faster" for each in scaled]
    return "Yes" if all(faster) else "On some matrices" if any(faster) else "No"


def _range(scaled: Sequence[Scaled]) -> str:
    """Return the smallest and the largest speedup: `3.00–3.80 ×`."""
    values = sorted(each.speedup.value for each in scaled)
    low, high = units.ratio_beside_verdict(values[0]), units.judged_ratio(values[-1])
    return high if high.startswith(low) else f"{low}{units.RANGE}{high}"


def _count(scaled: Sequence[Scaled]) -> str:
    """Return on how many matrices more devices are faster; if on none, the most frequent verdict instead."""
    verdicts = Counter(each.speedup.kind for each in scaled)
    kind = "faster" if verdicts["faster"] else verdicts.most_common(1)[0][0]
    of = "" if verdicts[kind] == len(scaled) else f"{verdicts[kind]} of "
    every = "all " if not of and len(scaled) > 1 else ""
    return f"{verdict_text(kind)} on {of}{every}{amount(len(scaled), 'matrix', 'matrices')}"


def _ids(scaled: Sequence[Scaled]) -> frozenset[str]:
    return frozenset(each.group.matrix_id for each in scaled)


def _on(staying: Sequence[Scaled], cold: Sequence[Scaled]) -> tuple[str, str]:
    """Return the numbers of matrices of two workloads: ` (10 matrices)`, ` (6 others)`; empty for the same ones."""
    first, second = _ids(staying), _ids(cold)
    if first == second:
        return "", ""
    others = amount(len(second), "other") if not first & second else amount(len(second), "matrix", "matrices")
    return f" ({amount(len(first), 'matrix', 'matrices')})", f" ({others})"
