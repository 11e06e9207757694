"""The results document: measurements, traces, verdicts and a summary."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.finding import Finding
from gpu_engine.records import STATES, Measurement, as_json
from gpu_engine.studies import STUDIES
from gpu_engine.verdicts.noise import noise

SCHEMA = "sparsight.records/2"


def findings_of(data: StudyData) -> tuple[Finding, ...]:
    """Return the findings of all studies, study by study."""
    return tuple(finding for study in STUDIES for finding in study.findings(of_study(data, study.name)))


def of_study(data: StudyData, name: str) -> StudyData:
    """Return the data with only the measurements of one study."""
    return replace(data, measurements=[m for m in data.measurements if m.study == name])


def busy_measurements(data: StudyData) -> list[Measurement]:
    """Return the measurements that are too noisy to rank."""
    # A noisy group has a noisy member, and all its members have one matrix and device: only such pairs need findings.
    noisy_pairs = {(m.matrix_id, m.device) for m in data.measurements if noise((m,))}
    suspects = [m for m in data.measurements if (m.matrix_id, m.device) in noisy_pairs]
    findings = findings_of(replace(data, measurements=suspects)) if suspects else ()
    return [row.measurement for finding in findings if finding.busy for row in finding.rows]


def busy_cases(data: StudyData) -> set[tuple[str, str]]:
    """Return (device, case) of the measurements that are too noisy to rank."""
    return {(m.device, m.case) for m in busy_measurements(data)}


def results_document(data: StudyData, samples: bool = False) -> dict[str, Any]:
    """Return the document of `python -m gpu_engine --json` and `/results`; raw samples only if `samples` is true."""
    findings = findings_of(data)
    return {
        "schema": SCHEMA,
        "measurements": [as_json(measurement, samples) for measurement in data.measurements],
        "traces": [as_json(trace) for trace in data.traces.values()],
        "verdicts": [finding.document() for finding in findings],
        "summary": summary(data.measurements, findings),
    }


def summary(measurements: Sequence[Measurement], findings: Iterable[Finding]) -> dict[str, Any]:
    """Return the number of measurements per state, and the fastest kernel of each decided group."""
    counts: dict[str, int] = {state: sum(m.state == state for m in measurements) for state in STATES}
    return {"total": len(measurements), **counts, "fastest": [_fastest(f) for f in findings if f.decided]}


def _fastest(finding: Finding) -> dict[str, Any]:
    # Rows of the study scaling are not sorted by time.
    first = min((row.measurement for row in finding.rows if row.leads), key=lambda m: m.median_s or 0.0)
    return {
        "study": finding.study,
        "matrix_id": finding.matrix_id,
        "device": finding.device,
        "cache": finding.cache,
        "axes": dict(finding.axes),
        "kernel": finding.leaders[0],
        "same": list(finding.leaders[1:]),
        "median_s": first.median_s,
        "gflops": first.gflops,
    }
