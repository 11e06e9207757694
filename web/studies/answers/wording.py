"""Words that the answers of all studies share: counts, verdicts, devices, addresses."""

from collections import Counter
from collections.abc import Mapping, Sequence

from gpu_engine.findings.overall_ranking_text import SINGULAR
from gpu_engine.findings.pagerank.adaptive import Answer
from gpu_engine.verdicts.verdict import VerdictKind
from web.components import Link
from web.device_labels import RECORDED, short
from web.results import Results
from web.selection import Selection, study_url

YES: Mapping[Answer, str] = {"yes": "Yes", "partly": "On some graphs", "no": "No", "inconclusive": "Inconclusive"}


def wins(verdicts: Counter[VerdictKind], what: str) -> str:
    """Return `faster on 2 of 12 graphs, equal or inconclusive on 4, slower on 6`, or `faster on all 3 batches`.

    The numbers sum to the total; verdicts without a case are left out.
    what  plural noun of the cases; empty: their number was said before
    """
    total = sum(verdicts.values())
    faster, slower = verdicts["faster"], verdicts["slower"]
    counts = {"faster": faster, "equal or inconclusive": total - faster - slower, "slower": slower}
    noun = what if total != 1 else SINGULAR.get(what, what)
    (first, number), *others = [(word, count) for word, count in counts.items() if count] or [("faster", 0)]
    if not others and noun:
        return f"{first} on {'all ' if number > 1 else ''}{number} {noun}"
    of_total = f" of {total} {noun}" if noun else ""
    return ", ".join((f"{first} on {number}{of_total}", *(f"{word} on {count}" for word, count in others)))


def measured_on(device: str) -> str:
    """Return the device of an eyebrow: `H200, reference results`."""
    return f"{short(device)}{', reference results' if RECORDED in device else ''}"


def opened(results: Results, matrix_id: str) -> str:
    """Return the address of the page with the drawer of a matrix."""
    return study_url(results.study, results.requested.with_(open=matrix_id))


def is_open(results: Results, matrix_id: str) -> bool:
    """Return whether the drawer shows a matrix."""
    return matrix_id in results.requested.open


def alone(results: Results, device: str, matrices: str | Sequence[str], text: str, view: str = "") -> Link:
    """Return a link to the page with one matrix, or a few, on one device; view: part of the page that is open."""
    chosen = Selection().with_(matrix=matrices, device=(results.device_id(device),)).with_(view=view or ())
    return Link(text, study_url(results.study, chosen))
