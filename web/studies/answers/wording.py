"""Words that the answers of all studies share: counts, verdicts, devices, addresses."""

from collections import Counter
from collections.abc import Mapping

from gpu_engine.findings.overall_ranking_text import SINGULAR
from gpu_engine.findings.pagerank.adaptive import Answer
from gpu_engine.verdicts.verdict import VerdictKind
from web.components import Link
from web.device_labels import RECORDED, short
from web.results import Results
from web.selection import Selection, study_url

RANGE = "–\u2060"
"""Dash between the ends of an interval; no line ends after it."""

YES: Mapping[Answer, str] = {"yes": "Yes", "partly": "On some graphs", "no": "No", "inconclusive": "Inconclusive"}


def wins(verdicts: Counter[VerdictKind], what: str) -> str:
    """Return `faster on 2 of 12 graphs, equal or inconclusive on 4, slower on 6`; the numbers sum to the total.

    what  plural noun of the cases; empty: their number was said before
    """
    total = sum(verdicts.values())
    faster, slower = verdicts["faster"], verdicts["slower"]
    between = total - faster - slower
    middle = f", equal or inconclusive on {between}" if between else ""
    noun = what if total != 1 else SINGULAR.get(what, what)
    of_total = f" of {total} {noun}" if noun else ""
    return f"faster on {faster}{of_total}{middle}, slower on {slower}"


def interval(ends: tuple[float, float] | None) -> str:
    """Return the ends of an interval of ratios: `0.98–1.01`; empty without an interval."""
    return RANGE.join(f"{end:.2f}" for end in ends) if ends else ""


def measured_on(device: str) -> str:
    """Return the device of an eyebrow: `H200, reference results`."""
    return f"{short(device)}{', reference results' if RECORDED in device else ''}"


def opened(results: Results, matrix_id: str) -> str:
    """Return the address of the page with the drawer of a matrix."""
    return study_url(results.study, results.requested.with_(open=matrix_id))


def is_open(results: Results, matrix_id: str) -> bool:
    """Return whether the drawer shows a matrix."""
    return matrix_id in results.requested.open


def alone(results: Results, device: str, matrix_id: str, text: str, view: str = "") -> Link:
    """Return a link to the page with one matrix on one device; view: part of the page that is open."""
    chosen = Selection(matrix=(matrix_id,), device=(results.device_id(device),)).with_(view=view or ())
    return Link(text, study_url(results.study, chosen))
