"""The paper's conclusions beside what the shown batches say of them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from web import units
from web.batches import PAPER, BatchGroup, batch_groups, gain, is_balanced, largest, name_of
from web.comparison import leaders_of
from web.figures.base import Head, Table
from web.shown import Shown

COO, SCALAR, VECTOR, SMART, CSRI, ELL = PAPER
ON_CSR = (SCALAR, VECTOR, SMART, CSRI)
WITHOUT_PREPROCESSING = (SCALAR, VECTOR, SMART)

SHORT_ROW = 4.0
"""Nonzeros a row up to which csr/scalar is good (§4.2)."""

LEAST_GAIN = 10.0
"""Of every kernel of the paper over one product after the other (§4.2)."""

EXCEPTIONS = 3
"""Most batches that are named."""

Says = Literal["agrees", "in part", "disagrees", "no data"]


@dataclass(frozen=True, slots=True)
class Conclusion:
    """A statement of the paper and what the batches of one device in one cache state say of it.

    says     of all batches that it is about: they agree, some do, none does, or there is none
    numbers  what that is taken from, in words
    """

    statement: str
    says: Says
    numbers: str
    device: str = ""
    cache: str = ""


@dataclass(frozen=True, slots=True)
class _Trial:
    """Whether a statement holds for a batch, and the number that says so; None: the batch is not what it is about."""

    holds: bool
    number: str


@dataclass(frozen=True, slots=True)
class _Statement:
    text: str
    about: str
    judge: Callable[[BatchGroup, Shown], _Trial | None]


def conclusions(shown: Shown) -> list[Conclusion]:
    """Every statement of the paper on each device and cache state, judged by batches of the chosen size.

    Without one, by the largest batch of each matrix and mixture in which the kernels in question have a time. A kernel
    is the best where it is the fastest or `same` with the fastest; only kernels of the paper compete.
    """
    groups = [group for group in batch_groups(shown) if group.timed]
    places = dict.fromkeys((group.device, group.cache) for group in groups)
    if not places:
        return [Conclusion(statement.text, "no data", "") for statement in STATEMENTS]
    return [
        _judged(statement, [group for group in groups if (group.device, group.cache) == place], shown, *place)
        for place in places
        for statement in STATEMENTS
    ]


def table(shown: Shown) -> Table:
    """A row a statement, device and cache state."""
    texts = ("the paper", "here", "numbers", "device", "cache")
    rows = tuple((c.statement, c.says, c.numbers, c.device, c.cache) for c in conclusions(shown) if c.device)
    return Table(tuple(Head(text, numeric=False) for text in texts), rows)


def _judged(statement: _Statement, groups: Sequence[BatchGroup], shown: Shown, device: str, cache: str) -> Conclusion:
    judged = [group for group in groups if statement.judge(group, shown) is not None]
    trials = [(g, trial) for g in largest(judged, shown.batch) if (trial := statement.judge(g, shown)) is not None]
    if not trials:
        return Conclusion(statement.text, "no data", f"No {statement.about} here has the times.", device, cache)
    held = sum(trial.holds for _, trial in trials)
    says: Says = "agrees" if held == len(trials) else "in part" if held else "disagrees"
    numbers = f"Holds for {held} of {len(trials)}: {_examples(trials, shown)}."
    return Conclusion(statement.text, says, numbers, device, cache)


def _examples(trials: Sequence[tuple[BatchGroup, _Trial]], shown: Shown) -> str:
    """What does not hold first: it is what a reader looks for."""
    ordered = sorted(trials, key=lambda entry: entry[1].holds)
    named = [f"{name_of(group, shown)} {trial.number}" for group, trial in ordered[:EXCEPTIONS]]
    more = f"; {len(trials) - EXCEPTIONS} more" if len(trials) > EXCEPTIONS else ""
    return "; ".join(named) + more


def _leads(group: BatchGroup, kernel: str, among: Iterable[str]) -> _Trial | None:
    """Whether a kernel is the best of some, and by how much, or how far behind."""
    own, rivals = group.of(kernel), group.among([name for name in among if name != kernel])
    if own is None or not rivals:
        return None
    ranked = sorted((own, *rivals), key=lambda m: m.median_s or 0.0)
    return _Trial(own in leaders_of(ranked), f"{units.ratio(gain(rivals[0], own))} {rivals[0].kernel}")


def _coo_is_best_mixed(group: BatchGroup, shown: Shown) -> _Trial | None:  # noqa: ARG001
    return _leads(group, COO, PAPER) if group.compose == "mixed" else None


def _ell_is_best_balanced(group: BatchGroup, shown: Shown) -> _Trial | None:
    return _leads(group, ELL, PAPER) if _balanced(group, shown) else None


def _scalar_up_to_four(group: BatchGroup, shown: Shown) -> _Trial | None:
    """Best up to SHORT_ROW, and not beyond."""
    found = _leads(group, SCALAR, ON_CSR) if _balanced(group, shown) else None
    ave = shown.matrix(group.matrix_id).ave
    if found is None or ave is None:
        return None
    return _Trial(found.holds == (ave <= SHORT_ROW), f"({units.number(ave, 2)} a row) {found.number}")


def _csri_for_dense_rows(group: BatchGroup, shown: Shown) -> _Trial | None:
    """Where σ exceeds the mean: most rows are short beside the longest ones."""
    known = shown.matrix(group.matrix_id)
    few = group.compose == "copies" and known.ave is not None and known.sigma is not None and known.sigma > known.ave
    return _leads(group, CSRI, ON_CSR) if few else None


def _smart_without_preprocessing(group: BatchGroup, shown: Shown) -> _Trial | None:  # noqa: ARG001
    return _leads(group, SMART, WITHOUT_PREPROCESSING)


def _ten_times_a_loop(group: BatchGroup, shown: Shown) -> _Trial | None:  # noqa: ARG001
    paper = group.among(PAPER)
    slowest = gain(group.loop, paper[-1]) if group.loop and paper else None
    if slowest is None or group.loop is None:
        return None
    fastest = f"{paper[0].kernel} {units.ratio(gain(group.loop, paper[0]))}"
    return _Trial(slowest >= LEAST_GAIN, f"{paper[-1].kernel} {units.ratio(slowest)}, {fastest} {group.loop.kernel}")


def _balanced(group: BatchGroup, shown: Shown) -> bool:
    return group.compose == "copies" and bool(is_balanced(shown.matrix(group.matrix_id)))


STATEMENTS = (
    _Statement("COO is the best kernel for heterogeneous batches.", "mixed batch", _coo_is_best_mixed),
    _Statement("ELL is the best kernel for balanced matrices.", "balanced matrix", _ell_is_best_balanced),
    _Statement(
        "Of the CSR kernels, CSR-scalar is the best only up to about 4 nonzeros a row.",
        "balanced matrix",
        _scalar_up_to_four,
    ),
    _Statement(
        "Of the CSR kernels, CSR-I is the best where few rows are dense (here: σ above the mean).",
        "matrix with few dense rows",
        _csri_for_dense_rows,
    ),
    _Statement(
        "Of the kernels on CSR without preprocessing, CSR-smart is the best.", "batch", _smart_without_preprocessing
    ),
    _Statement(
        "Every batched kernel is at least 10 times as fast as one product after the other.",
        "batch",
        _ten_times_a_loop,
    ),
)
"""As §4.2 of the paper has them, on a P100."""
