"""What a page shows as data: the document of results with names and units, and one row a case as CSV."""

from collections.abc import Sequence
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
    "leads",
    "busy",
    "median_s",
    "gflops",
)
UNITS = {"_s": "seconds", "_bytes": "bytes", "_j": "joules", "_hz": "hertz", "gflops": "10⁹ operations a second"}
"""Endings of the names of fields, and their units; what has another ending has none."""


def document(data: StudyData) -> dict[str, Any]:
    """The document of results, and beside it the names and shapes of the matrices, and the units of the fields."""
    shown = dict.fromkeys(m.matrix_id for m in data.measurements)
    matrices = {i: {name: v for name, v in as_json(data.matrix(i)).items() if v is not None} for i in shown}
    return {**results_document(data), "matrices": matrices, "units": UNITS}


def csv(data: StudyData, findings: Sequence[Finding]) -> str:
    """A row a measurement: its matrix by name, the verdict on it, and all that is known; no column is empty."""
    said = {(row.measurement.case, row.measurement.device): (f, row) for f in findings for row in f.rows}
    doubtful = busy_cases(data)
    rows = []
    for m in data.measurements:
        known = {name: value for name, value in as_json(m).items() if name not in NOT_IN_CSV}
        told = _told(*said[m.case, m.device]) if (m.case, m.device) in said else {}
        told["busy"] = (m.device, m.case) in doubtful
        rows.append({"matrix": data.matrix(m.matrix_id).name, **told, **flatten(known)})
    names = dict.fromkeys((*FIRST, *COLUMNS, *(name for row in rows for name in row)))
    return to_csv(rows, [name for name in names if any(row.get(name) not in (None, "") for row in rows)])


def _told(finding: Finding, row: Row) -> dict[str, Any]:
    return {"verdict": row.word, "times_as_fast": row.ratio, "baseline": finding.baseline, "leads": row.leads}
