"""The document of results: measurements and traces, with the verdicts on them."""

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
    """What the measurements allow to say, study by study."""
    return tuple(finding for study in STUDIES for finding in study.findings(of_study(data, study.name)))


def of_study(data: StudyData, name: str) -> StudyData:
    """The same with the measurements of one study alone."""
    return replace(data, measurements=[m for m in data.measurements if m.study == name])


def busy_measurements(data: StudyData) -> list[Measurement]:
    """Return the measurements that do not count because the machine was busy."""
    # What makes a group noisy makes one of its members so, and a group is of one matrix on one device: of the others,
    # nearly all, nothing need be found out.
    places = {(m.matrix_id, m.device) for m in data.measurements if noise((m,))}
    suspects = [m for m in data.measurements if (m.matrix_id, m.device) in places]
    found = findings_of(replace(data, measurements=suspects)) if suspects else ()
    return [row.measurement for finding in found if finding.busy for row in finding.rows]


def busy_cases(data: StudyData) -> set[tuple[str, str]]:
    """Return (device, case) of the measurements that do not count because the machine was busy."""
    return {(m.device, m.case) for m in busy_measurements(data)}


def results_document(data: StudyData, samples: bool = False) -> dict[str, Any]:
    """The document that `python -m gpu_engine --json` writes and `/results` serves; raw samples only when asked for."""
    findings = findings_of(data)
    return {
        "schema": SCHEMA,
        "measurements": [as_json(measurement, samples) for measurement in data.measurements],
        "traces": [as_json(trace) for trace in data.traces.values()],
        "verdicts": [finding.document() for finding in findings],
        "summary": summary(data.measurements, findings),
    }


def summary(measurements: Sequence[Measurement], findings: Iterable[Finding]) -> dict[str, Any]:
    """How many measurements are in each state, and what leads wherever that is decided."""
    counts: dict[str, int] = {state: sum(m.state == state for m in measurements) for state in STATES}
    return {"total": len(measurements), **counts, "fastest": [_fastest(f) for f in findings if f.decided]}


def _fastest(finding: Finding) -> dict[str, Any]:
    # Rows of scaling are not in the order of their times.
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
