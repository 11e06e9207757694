"""Matrices that are nowhere whole: parts that devices make are those of the whole, and so is what is expected."""

import dataclasses
from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import fingerprint
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.host.device import find_device
from gpu_engine.measure import open_bench
from gpu_engine.multigpu import generated
from gpu_engine.multigpu.cut import cut_by_entries, cut_by_lines
from gpu_engine.multigpu.generated import GeneratedMatrix
from gpu_engine.multigpu.partition import find_partitioning
from gpu_engine.multigpu.resident import BATCH, ResidentMatrix
from gpu_engine.multigpu.workload import Setting, WorkloadData
from gpu_engine.records import Case, Measurement
from gpu_engine.sampling.run import SampleRun
from gpu_engine.studies.scaling.experiment import ScalingExperiment, ScalingPlan
from tests.gpu_engine.multigpu.devices import logging_devices
from tests.samples.studies import FAST

CALLS: list[tuple[str, dict[str, Any]]] = [
    ("stencil", {"points": 27, "nx": 5, "ny": 4, "nz": 6}),
    ("stratified", {"n": 150, "mean": 7.0, "max_length": 90, "exponent": 1.7}),
    ("stratified", {"n": 60, "mean": 0.2, "max_length": 30}),
]
calls = pytest.mark.parametrize(("generator", "params"), CALLS)


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "PIECE", 40)


@calls
@pytest.mark.parametrize("parts", [1, 2, 7])
def test_parts_joined_are_the_whole(generator: str, params: dict[str, Any], parts: int) -> None:
    """A border may cut a row, of which each part has a piece."""
    matrix, whole = GeneratedMatrix.of(generator, params), generate(generator, params)
    stored = find_partitioning("pCSR").store(whole)
    assert (matrix.nnz, matrix.compulsory_bytes) == (whole.nnz, whole.compulsory_bytes)
    with logging_devices(parts) as devices:
        for spans in (cut_by_entries(matrix, (parts,)), cut_by_lines(matrix, parts)):
            assert spans in (cut_by_entries(stored, (parts,)), cut_by_lines(stored, parts))
            made = [matrix.part(span, device) for span, device in zip(spans, devices, strict=True)]
            for part, span, device in zip(made, spans, devices, strict=True):
                assert (part.major == stored.part(span, device).major).all()
            assert np.array_equal(np.concatenate([part.minor for part in made]), whole.indices)
            assert np.array_equal(np.concatenate([part.values for part in made]), whole.values)


@calls
def test_products_are_expected_as_of_the_whole(generator: str, params: dict[str, Any]) -> None:
    matrix, whole = GeneratedMatrix.of(generator, params), generate(generator, params)
    found, expected = matrix.data(["resident"]), WorkloadData(whole)
    for name in ("reference", "iterated_reference"):
        for field in dataclasses.fields(expected.reference):
            pair = (getattr(getattr(data, name), field.name) for data in (found, expected))
            np.testing.assert_array_equal(*pair)
    assert matrix.fingerprint() == fingerprint(whole)


@calls
@pytest.mark.parametrize("overlap", [False, True])
def test_iterations_are_those_of_the_whole(generator: str, params: dict[str, Any], overlap: bool) -> None:
    whole, bits = find_partitioning("pCSR").store(generate(generator, params)), []
    x = np.random.default_rng(1).uniform(-1.0, 1.0, whole.n_rows)
    with logging_devices(3) as devices:
        for stored in (whole, GeneratedMatrix.of(generator, params)):
            resident = ResidentMatrix(stored, cut_by_entries(stored, (3,)), devices, "halo", overlap)
            resident.load(x)
            resident.advance(BATCH + 1)
            y = np.full(x.size, np.nan)
            resident.read(y)
            bits.append(y.tobytes())
    assert bits[0] == bits[1]


def test_records_say_the_same_as_of_the_whole() -> None:
    settings = [
        *(Setting("resident", "pCSR", "resident", 2, balance=balance) for balance in ("nonzeros", "rows")),
        *(Setting("iterate", "pCSR", "iterate", count, overlap=True) for count in (1, 3)),
    ]
    generator, params = CALLS[0]
    found = []
    with open_bench(dataclasses.replace(find_device("cpu"), cache_bytes=2**20), FAST) as bench:
        for matrix in (generate(generator, params), GeneratedMatrix.of(generator, params)):
            cases = [Case("m", setting.kernel, "warm", setting.axes) for setting in settings]
            plan = ScalingPlan({case.key: s for case, s in zip(cases, settings, strict=True)}, 9, 1)
            records = SampleRun(ScalingExperiment(plan, cases, matrix, bench)).records()
            found.append([record for record in records if isinstance(record, Measurement)])
    said = [
        [(m.case, m.state, m.max_error, m.roofline_s, m.details.nonzeros_by_device, m.stored_bytes) for m in measured]
        for measured in found
    ]
    assert said[0] == said[1]
    assert [m.state for m in found[0]] == ["ok"] * len(settings)


def test_what_needs_the_matrix_on_the_host_is_refused() -> None:
    matrix = GeneratedMatrix.of(*CALLS[0])
    with pytest.raises(ParameterError, match="cold needs the matrix on the host"):
        matrix.data(["iterate", "cold"])
    with pytest.raises(ParameterError, match=r"pCSC\. Choose pCSR"):
        matrix.data(["resident"]).stored("pCSC")
    with pytest.raises(ParameterError, match="Choose stencil or stratified"):
        GeneratedMatrix.of("rmat", {})
