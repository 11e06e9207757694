"""What the migration to backends and few rounds makes of stored rows."""

from importlib import import_module

import pytest

evidence = import_module("migrations.versions.0013_evidence")

RECORD = {
    "case": "m|csr/scalar|warm|",
    "device": "recorded:node7",
    "environment": {},
    "rounds": 2,
    "median_s": 3.5,
    "ci_low_s": 1e-22,
    "ci_high_s": 1e22,
    "min_s": 3.0,
    "q1_s": 3.25,
    "q3_s": 3.75,
}


@pytest.mark.parametrize(
    ("record", "backend", "expected"),
    [
        ({}, "cpu", "cpu"),
        ({}, "cuda", "cuda"),
        ({}, "", "cuda"),
        ({"device": "cpu"}, "", "cpu"),
        ({"device": "cluster", "environment": {"threads": "8"}}, "", "cpu"),
        ({"device": "recorded:a-cpu", "environment": {"cupy": "14"}}, "", "cuda"),
        ({"backend": "cpu"}, "cuda", "cpu"),
    ],
)
def test_a_row_gets_the_backend_of_its_device(record: dict[str, object], backend: str, expected: str) -> None:
    assert evidence.with_evidence(RECORD | record, backend, [])["backend"] == expected


@pytest.mark.parametrize(
    ("rounds", "samples", "interval", "slowest"),
    [
        (2, [], (None, None), 4.0),
        (3, [], (None, None), 4.0),
        (None, [3.0, 5.0], (None, None), 5.0),
        (4, [3.0, 3.1, 3.2, 9.0], (None, None), 9.0),
        (5, [], (1e-22, 1e22), None),
        (None, [], (1e-22, 1e22), None),
    ],
)
def test_a_few_stored_rounds_lose_their_interval(
    rounds: int | None, samples: list[float], interval: tuple[float | None, float | None], slowest: float | None
) -> None:
    record = evidence.with_evidence(RECORD | {"rounds": rounds}, "cpu", samples)
    assert ((record["ci_low_s"], record["ci_high_s"]), record["max_s"]) == (interval, slowest)
    before = evidence.without_evidence(record, "", [])
    assert set(before) == set(RECORD)
