"""Checks of the ranks of a run: residual, sum, distance from fp64, and top pages; each with the limit that it keeps.

The residual alone decides whether ranks are verified (`is_right`). The limits of the other checks follow from it: an
iteration contracts by the damping factor δ, so ranks with a residual below ε are within ε/(1 − δ) of the exact ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpu_engine.findings.pagerank.runs import FP64, Run, RunGroup, power, tolerance
from gpu_engine.pagerank import PageRankParams
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.text import units

ALL_EQUAL = "not applicable: all their ranks are equal"
"""Value of the check of the top pages if their order says nothing."""


@dataclass(frozen=True, slots=True)
class Check:
    """A check of the ranks of a run.

    rule   what must hold, with its limit; value: what was measured
    """

    name: str
    holds: bool
    rule: str
    value: str


def checks(group: RunGroup, run: Run, n: int) -> tuple[Check, ...]:
    """Return the checks of a run on a graph of n pages, without those that its records or parameters do not allow."""
    return tuple(_checks(group, run, n))


def _checks(group: RunGroup, run: Run, n: int) -> Iterator[Check]:
    details, limit = run.measurement.details, tolerance(run, n)
    if details.residual is None:
        return
    yield Check("residual", details.residual < limit, f"Residual below {power(limit)}", power(details.residual))
    damping = float(run.measurement.axes.get("damping", PageRankParams().damping))
    if damping == 1:
        # Without damping an iteration does not contract, so the residual bounds nothing.
        return
    exact = limit / (1 - damping)
    dangling = run.measurement.axes.get("dangling", PageRankParams().dangling)
    if details.mass_error is not None and dangling == "teleport":
        rule = f"Sum of the ranks within {power(exact)} of 1"
        yield Check("mass", details.mass_error <= exact, rule, power(details.mass_error))
    if details.distance is not None and run.precision != FP64:
        rule = f"Distance from the fp64 ranks within {power(2 * exact)}"
        yield Check("distance", details.distance <= 2 * exact, rule, power(details.distance))
    slack = details.top_k_slack or 2 * exact
    full = next((r.measurement.details for r in group.converged if r.precision == FP64), None)
    if full is not None and run.precision != FP64 and (check := _top(details, full, slack)):
        yield check


def are_equal(ranks: Sequence[float], slack: float) -> bool:
    """Return whether all top ranks are equal, as on a regular grid, so that their order says nothing."""
    return len(ranks) > 1 and ranks[0] - ranks[-1] <= slack


def _top(details: PageRankDetails, full: PageRankDetails, slack: float) -> Check | None:
    """Return the check of the top pages against those of fp64; None if their ranks are too close to order them."""
    known = dict(zip(full.top_pages, full.top_ranks, strict=False))
    listed = list(zip(details.top_pages, details.top_ranks, full.top_pages, full.top_ranks, strict=False))
    if not listed or slack >= full.top_ranks[len(listed) - 1]:
        return None
    if are_equal(full.top_ranks, slack):
        return Check("top", True, f"Order of the top {len(listed)} pages", ALL_EQUAL)
    in_place = sum(page == expected for page, _, expected, _ in listed)
    # A page that fp64 does not list has at most the least of its ranks, up to the slack.
    holds = all(abs(known.get(page, rank) - of_place) <= slack for page, rank, _, of_place in listed)
    rule = f"Top {len(listed)} pages as in fp64, except equal ranks"
    tied = f", {units.count(len(listed) - in_place)} tied" if holds and in_place < len(listed) else ""
    return Check("top", holds, rule, f"{units.count(in_place)} of {len(listed)} in place{tied}")
