"""The benchmarks are those of STUDIES; one that says nothing of its own has what a study has by itself."""

import dataclasses

from gpu_engine.gpu_bench.benchmark_matrices import SUBJECTS
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS, SPECIFIC, usual
from gpu_engine.gpu_bench.markdown import BenchmarkData
from gpu_engine.recordings.files import Recording
from gpu_engine.records import Case, DeviceInfo, Measurement
from gpu_engine.studies import STUDIES, study
from gpu_engine.studies.formats.experiment import ProductDetails


def test_every_study_has_one_and_nothing_else_does() -> None:
    assert list(BENCHMARKS) == [each.name for each in STUDIES]
    assert set(SPECIFIC) <= set(BENCHMARKS)


def test_a_study_without_one_is_measured_by_its_defaults_and_shows_its_findings() -> None:
    formats = study("formats")
    benchmark = usual(formats)
    assert {subject.group for subject in benchmark.subjects} == {"families"}
    assert list(benchmark.passes(SUBJECTS[0], "cpu", 11)) == [dataclasses.replace(formats.Params(), rounds=11)]
    gpu = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
    case = Case("del20", "csr/vector", "cold")
    record = Measurement.of(case, gpu.id, ProductDetails, median_s=1e-6)
    data = BenchmarkData(benchmark.subjects, Recording("formats", "", gpu, None, (), (record,)))
    (section,) = benchmark.tables["findings"](data)
    assert (section.title, section.table.rows[0][0]) == ("del20, cold", "csr/vector")
