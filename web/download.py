"""Downloads of a page: the results document with names and units, and CSV with one row per case."""

from collections.abc import Mapping, Sequence
from typing import Any

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding, Row
from gpu_engine.records import as_json
from gpu_engine.studies.results import busy_cases, results_document
from server.responses import flatten, to_csv
from server.results import COLUMNS, NOT_IN_CSV

FIRST = (
    "matrix",
    "kernel",
    "cache",
    "state",
    "verdict",
    "times_as_fast",
    "baseline",
    "csr_baseline",
    "break_even_spmvs",
    "n_spmvs",
    "total_s",
    "leads",
    "busy",
    "median_s",
    "gflops",
)
UNITS = {"_s": "seconds", "_bytes": "bytes", "_j": "joules", "_hz": "hertz", "gflops": "10⁹ operations per second"}
"""Ending of a field name → its unit; other fields have no unit."""


def document(data: StudyData) -> dict[str, Any]:
    """Return the results document with names and shapes of the matrices and units of the fields."""
    matrix_ids = dict.fromkeys(m.matrix_id for m in data.measurements)
    matrices = {i: {name: v for name, v in as_json(data.matrix(i)).items() if v is not None} for i in matrix_ids}
    return {**results_document(data), "matrices": matrices, "units": UNITS}


def csv(
    data: StudyData, findings: Sequence[Finding], fields: Mapping[tuple[str, str], Mapping[str, Any]] | None = None
) -> str:
    """Return CSV with one row per measurement: matrix name, verdict, and all fields, without empty columns.

    fields  further fields by device and case, which replace those of the same name
    """
    verdicts = {(row.measurement.case, row.measurement.device): (f, row) for f in findings for row in f.rows}
    doubtful = busy_cases(data)
    rows = []
    for m in data.measurements:
        known = {name: value for name, value in as_json(m).items() if name not in NOT_IN_CSV}
        verdict = _verdict_fields(*verdicts[m.case, m.device]) if (m.case, m.device) in verdicts else {}
        verdict |= {"busy": (m.device, m.case) in doubtful, **(fields or {}).get((m.device, m.case), {})}
        rows.append({"matrix": data.matrix(m.matrix_id).name, **verdict, **flatten(known)})
    names = dict.fromkeys((*FIRST, *COLUMNS, *(name for row in rows for name in row)))
    return to_csv(rows, [name for name in names if any(row.get(name) not in (None, "") for row in rows)])


def _verdict_fields(finding: Finding, row: Row) -> dict[str, Any]:
    return {"verdict": row.word, "times_as_fast": row.ratio, "baseline": finding.baseline, "leads": row.leads}
