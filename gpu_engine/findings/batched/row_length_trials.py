"""Checks of the statements on Figure 4, left, of the batched SpMV paper: throughput by nonzeros per row."""

from collections.abc import Callable

from gpu_engine.findings.batched.groups import BatchGroup
from gpu_engine.findings.batched.paper import is_engineered
from gpu_engine.findings.batched.trials import Condition, Judge, alike, balanced, ratio_of
from gpu_engine.findings.conclusions import Trial
from gpu_engine.findings.data import StudyData
from gpu_engine.text import units

SHORT_ROW = 4.0
"""Nonzeros per row above which the throughput of csr/scalar drops (§4.2, Figure 4)."""


def equal_rows(group: BatchGroup, data: StudyData) -> bool:
    """Return whether the batch is one of Figure 4, left: all rows of the matrix are equally long."""
    return is_engineered(group, data) and balanced(group, data)


def short_rows(group: BatchGroup, data: StudyData) -> bool:
    """Return whether the batch is one of Figure 4, left, with at most SHORT_ROW nonzeros per row."""
    return equal_rows(group, data) and _ave(group, data) <= SHORT_ROW


def long_rows(group: BatchGroup, data: StudyData) -> bool:
    """Return whether the batch is one of Figure 4, left, with more than SHORT_ROW nonzeros per row."""
    return equal_rows(group, data) and _ave(group, data) > SHORT_ROW


def drops_with_length(kernel: str) -> Judge:
    """Return the check whether the throughput on long rows is below that on the longest short ones (Figure 4, left)."""
    return _by_length(kernel, long_rows, short_rows, lambda ratio: ratio < 1)


def grows_with_length(kernel: str) -> Judge:
    """Return the check whether the throughput exceeds that on the next shorter rows (Figure 4, left)."""
    return _by_length(kernel, equal_rows, equal_rows, lambda ratio: ratio > 1)


def _by_length(kernel: str, covers: Condition, of_rivals: Condition, holds: Callable[[float], bool]) -> Judge:
    """Return the check of a throughput over that on the batch with the next shorter rows among the rivals."""

    def judge(group: BatchGroup, data: StudyData) -> Trial | None:
        if not covers(group, data):
            return None
        length = _ave(group, data)
        rivals = [each for each in alike(group, data) if of_rivals(each, data) and _ave(each, data) < length]
        shorter = max(rivals, key=lambda each: _ave(each, data), default=None)
        ratio = ratio_of(group.of(kernel), shorter.of(kernel)) if shorter else None
        if shorter is None or ratio is None or group.ranking.busy or shorter.ranking.busy:
            return None
        before = units.number(_ave(shorter, data), 2)
        return Trial(holds(ratio), f"({units.number(length, 2)} per row) {units.ratio(ratio)} that at {before}")

    return judge


def _ave(group: BatchGroup, data: StudyData) -> float:
    """Return the mean row length of the matrix of a uniform batch; 0 if unknown."""
    return data.matrix(group.matrix_id).ave or 0.0
