"""Fields of the CSV of the page Formats: the numbers of the answer for n SpMVs, as the page of a matrix has them."""

from collections.abc import Iterator, Sequence
from typing import Any

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats.decision import Decision, decide
from gpu_engine.findings.formats.for_n import break_even, cost_of, total_s
from gpu_engine.findings.formats.groups import group_by_facet
from gpu_engine.records import Measurement
from gpu_engine.verdicts.verdict import compare
from web.studies.answers.formats_settings import SPMVS_PARAMETER, spmvs
from web.studies.base import CsvFields

UNDECIDED = ("same", "inconclusive")
"""Verdicts without a break-even: one SpMV saves no time that could pay for a conversion."""

NEVER = "never"


def fields_of(data: StudyData) -> CsvFields:
    """Return the fields of each measurement, by device and case; none of a matrix without a conversion time.

    If the address has a number of SpMVs for one matrix, its verdicts are those of the matrix page: against the best
    kernel of CSR.
    """
    n, groups = spmvs(data), group_by_facet(data.measurements)
    is_of_matrix = SPMVS_PARAMETER.name in data.chosen and len({m.matrix_id for m in data.measurements}) == 1
    with_verdicts = is_of_matrix and not data.baseline
    return {
        (m.device, m.case): fields
        for group in groups.values()
        if (decision := decide(group, n))
        for m, fields in _of_group(group, decision, with_verdicts)
    }


def _of_group(
    group: Sequence[Measurement], decision: Decision, with_verdicts: bool
) -> Iterator[tuple[Measurement, dict[str, Any]]]:
    csr = next((m for m in group if decision.csr and m.kernel == decision.csr.kernel), None)
    for m in group:
        if m.median_s and m.state == "ok":
            verdict = _verdict(m, csr) if with_verdicts and csr else {}
            yield m, {**verdict, **_costs(m, csr, decision)}


def _verdict(m: Measurement, csr: Measurement) -> dict[str, Any]:
    """Return the verdict of one SpMV against CSR, under the names of those of the study."""
    if m is csr:
        return {"verdict": "baseline", "times_as_fast": 1.0, "baseline": csr.kernel}
    verdict = compare(csr, m)
    return {"verdict": verdict.kind, "times_as_fast": verdict.ratio, "baseline": csr.kernel}


def _costs(m: Measurement, csr: Measurement | None, decision: Decision) -> dict[str, Any]:
    """Return the total for n SpMVs, and the break-even against CSR: a number of SpMVs, or `never`.

    There is no break-even without conversion times, or if the verdict is undecided.
    """
    cost = cost_of(m)
    total = total_s(cost, decision.n) if cost and cost.convert_s is not None else None
    fields = {"n_spmvs": decision.n, "total_s": total, "csr_baseline": csr.kernel if csr else ""}
    if cost is None or decision.csr is None or csr is None or m is csr or not decision.has_conversions:
        return fields
    if cost.convert_s is None or decision.csr.convert_s is None or compare(csr, m).kind in UNDECIDED:
        return fields
    pays = break_even(cost, decision.csr)
    return {**fields, "break_even_spmvs": NEVER if pays is None else pays}
