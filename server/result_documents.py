"""The documents of results as types: measurements, what they allow to say, and their summary; see documents.py."""

from typing import Annotated, Any, Literal

from pydantic import WithJsonSchema

# Pydantic reads TypedDict from here before Python 3.12.
from typing_extensions import TypedDict

from gpu_engine import records

RECORDS = (records.Measurement, records.Trace, records.DeviceProfile, records.BandwidthPoint)
"""Dataclasses that documents hold as plain values (`as_json`); each gives its schema."""


def record_schema(kind: type[Any]) -> WithJsonSchema:
    """What refers to the schema of one of them."""
    return WithJsonSchema({"$ref": f"#/components/schemas/{kind.__name__}"})


class CaseVerdict(TypedDict):
    """What may be said of one case: `verdict` is that on it against the baseline, `baseline`, or its state.

    `factor` is the ratio of the two times, at least 1: how many times as fast or as slow, which the verdict says.
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
    """What may be said of measurements that were sampled together; `axes` are those that all of them share.

    `fastest`: the fastest and those that are the same with it, none where the machine was busy. `decided`: whether no
    other may be as fast. `busy`: why the times, and what follows from them, do not count; null where they do.
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
    """What leads where that is decided; `same` has what leads beside it, `axes` what all that was compared shares."""

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
    """How many measurements there are, and in which states."""

    total: int
    ok: int
    unconverged: int
    failed: int
    skipped: int
    fastest: list[Fastest]


class Results(TypedDict):
    """Measurements and traces, what they allow to say, and their summary."""

    schema: str
    measurements: list[Annotated[dict[str, Any], record_schema(records.Measurement)]]
    traces: list[Annotated[dict[str, Any], record_schema(records.Trace)]]
    verdicts: list[Finding]
    summary: Summary
