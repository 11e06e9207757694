"""Types of the documents of results: measurements, verdicts, and their summary; see documents.py."""

from typing import Annotated, Any, Literal

from pydantic import WithJsonSchema

# Pydantic reads TypedDict from here before Python 3.12.
from typing_extensions import TypedDict

from gpu_engine import records

RECORDS = (records.Measurement, records.Trace, records.DeviceProfile, records.BandwidthPoint)
"""Dataclasses that documents contain as plain values (`as_json`), with their schemas."""


def record_schema(kind: type[Any]) -> WithJsonSchema:
    """Return a reference to the schema of a record."""
    return WithJsonSchema({"$ref": f"#/components/schemas/{kind.__name__}"})


class CaseVerdict(TypedDict):
    """Verdict on one case: its comparison with `baseline`, or the state of its measurement.

    `factor` is the ratio of the two times, at least 1: the speedup or slowdown that the verdict states.
    """

    case: str
    kernel: str
    label: str
    state: Literal["ok", "unconverged", "failed", "skipped"]
    leads: bool
    verdict: Literal["faster", "same", "slower", "inconclusive", "baseline", "ok", "unconverged", "failed", "skipped"]
    factor: float | None
    reason: str


class Finding(TypedDict):
    """Comparison group: measurements that were sampled together, with verdicts. `axes` are the parameters that all of
    them share.

    `fastest`: the fastest kernel and those tied with it, empty if the timings are too noisy to rank. `decided`: no
    other kernel can be equally fast. `busy`: why the timings are too noisy to count, otherwise null.
    """

    study: str
    matrix_id: str
    device: str
    cache: Literal["cold", "warm"]
    axes: dict[str, str]
    fastest: list[str]
    decided: bool
    busy: str | None
    sentences: list[str]
    baseline: str | None
    verdicts: list[CaseVerdict]


class Fastest(TypedDict):
    """Fastest kernel of a decided comparison group. `same` lists the kernels tied with it, `axes` the parameters that
    all compared cases share.
    """

    study: str
    matrix_id: str
    device: str
    cache: Literal["cold", "warm"]
    axes: dict[str, str]
    kernel: str
    same: list[str]
    median_s: float
    gflops: float | None


class Summary(TypedDict):
    """Number of measurements, by state."""

    total: int
    ok: int
    unconverged: int
    failed: int
    skipped: int
    fastest: list[Fastest]


class Results(TypedDict):
    """Measurements and traces of a job, with verdicts and a summary."""

    schema: str
    measurements: list[Annotated[dict[str, Any], record_schema(records.Measurement)]]
    traces: list[Annotated[dict[str, Any], record_schema(records.Trace)]]
    verdicts: list[Finding]
    summary: Summary
