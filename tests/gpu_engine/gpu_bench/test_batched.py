"""The benchmark of batches: what it measures, its tables from made-up records, and the command on a CPU."""

import dataclasses
import gzip
import io
import json
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from scipy.io import mmwrite

from gpu_engine.findings.batched.groups import is_balanced
from gpu_engine.findings.batched.paper import BALANCED, SIMILAR
from gpu_engine.findings.data import MatrixFeatures
from gpu_engine.generators import generate
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench import batched
from gpu_engine.gpu_bench.batch_matrices import BATCH_SUBJECTS, PAPER, is_similar
from gpu_engine.gpu_bench.batched import kernels_without_deduplication, measure_mixed, mixtures, passes
from gpu_engine.gpu_bench.batched_tables import TABLES
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.markdown import Section
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.measure import Bench, open_bench
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import MatrixRecord, Recording, collected, generated
from gpu_engine.records import BandwidthPoint, Cache, Case, DeviceInfo, DeviceProfile, Measurement
from gpu_engine.studies.batched import BatchedParams, BatchedStudy, chosen_kernels
from gpu_engine.studies.batched.experiment import BatchDetails
from tests.battery import BATTERY
from tests.gpu_engine.gpu_bench.sections import cells, sections

SIZES = {
    "pivtol": (102, 306),
    "tomography": (500, 28_726),
    "west0989": (989, 3537),
    "G45": (1000, 19_980),
    "GD02_a": (23, 87),
    "Si2": (769, 17_801),
    "ck656": (656, 3884),
    "ex25": (848, 24_369),
    "jgl011": (11, 76),
    "lock_700": (700, 22_175),
    "fs_541_1": (541, 4285),
    "mbeacxc": (496, 49_920),
    "dwt_918": (918, 7384),
    "mcfe": (765, 24_382),
    "dwt_607": (607, 5131),
    "rbsa480": (480, 17_088),
    "gr_30_30": (900, 7744),
    "bcsstk34": (588, 21_418),
    "cage8": (1015, 11_003),
    "ex27": (974, 40_782),
    "can_838": (838, 10_010),
    "bcsstm34": (588, 24_270),
    "USAir97": (332, 4252),
    "bp_1600": (822, 4841),
    "rotor2": (791, 10_685),
    "msc00726": (726, 34_518),
    "nos3": (960, 15_844),
    "G2": (800, 38_352),
    "dwt_992": (992, 16_744),
    "ex2": (441, 26_839),
    "tols90": (90, 1746),
    "bcsstk02": (66, 4356),
}
"""(rows, nonzeros) of the paper's matrices, those of both triangles where they are symmetric."""

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
BY_NAME = {subject.name: subject for subject in BATCH_SUBJECTS}


def asked(name: str) -> list[tuple[tuple[int, ...], str]]:
    return [(params.batches, params.operation) for params in passes(BY_NAME[name], "cuda", 9)]


def test_the_batches_are_those_of_the_figures() -> None:
    sizes = ((1000,), (10_000,))
    assert asked("random-1000-5") == [(batches, end) for end in ("y = Ax + y", "y = Ax") for batches in sizes]
    for name in ("balanced-8", "few-rows-8"):
        assert asked(name) == [((1000,), "y = Ax + y")]
    assert asked("nos3") == [((10, 100, 1000), "y = Ax + y"), ((10_000,), "y = Ax + y")]
    assert asked("Si2") == [((10_000,), "y = Ax + y")]
    for params in passes(BY_NAME["nos3"], "cuda", 11):
        assert (params.rounds, params.compose, params.loop_max) == (11, ("uniform",), 1000)
        assert (params.energy, params.energy_s) == ("all", 0.4 if params.batches == (10_000,) else 0.0)
        assert params.kernels == kernels_without_deduplication("cuda")


def test_mixed_batches_are_of_two_sizes_with_the_energy_of_each(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[BatchedParams] = []

    def note(study: BatchedStudy, passes: list[BatchedParams], *_: Any) -> list[Measurement]:
        asked.extend(passes)
        return []

    monkeypatch.setattr(batched, "measure_passes", note)
    with open_bench(DeviceInfo("cpu", "cpu", "A CPU", 1, 1)) as bench:
        assert list(measure_mixed([BY_NAME["Si2"], BY_NAME["nos3"]], MatrixCache(Path()), bench, 11, print)) == []
    assert [(params.batches, params.compose, params.rounds, params.energy_s) for params in asked] == [
        ((1000,), ("mixed",), 11, 0.0),
        ((10_000,), ("mixed",), 11, 0.4),
    ]


def test_copies_are_multiplied_as_one_matrix_in_one_batch_alone() -> None:
    thousand, large, *_ = passes(BY_NAME["random-1000-5"], "cuda", 9)
    assert thousand.kernels == ()
    everything = chosen_kernels(thousand, "cuda")
    assert set(everything) - set(large.kernels) == {"sliced/shared", "auto/shared"}


def test_every_subject_is_a_small_matrix_with_a_name_of_its_own() -> None:
    assert len(BY_NAME) == len(BATCH_SUBJECTS) == 4 + 6 + 6 + 32
    assert len({name for name, _, _ in PAPER}) == 32
    few = generate("dense_rows", BY_NAME["few-rows-4"].source["params"])
    assert sorted(set((few.indptr[1:] - few.indptr[:-1]).tolist())) == [0, 1024]
    assert few.nnz == 4 * 1024
    balanced = generate("rows", BY_NAME["balanced-4"].source["params"])
    assert set((balanced.indptr[1:] - balanced.indptr[:-1]).tolist()) == {4}


def test_each_matrix_of_the_paper_has_a_stand_in_of_its_size() -> None:
    paper = {subject.name: subject for subject in BATCH_SUBJECTS if subject.group == "batch paper"}
    assert set(paper) == set(SIZES)
    for name, (rows_, nnz) in SIZES.items():
        substitute = paper[name].substitute
        assert substitute is not None
        assert (substitute.name, substitute.group) == (f"{name} (stand-in)", "batch paper")
        matrix = generate(substitute.source["generator"], substitute.source["params"])
        assert matrix.n_rows == pytest.approx(rows_, rel=0.01), name
        assert matrix.nnz == pytest.approx(nnz, rel=0.06), name
        assert is_similar(name) == is_similar(substitute.name) == (800 <= matrix.n_rows <= 1024), name
        if name in BALANCED:
            assert is_balanced(MatrixFeatures.of(recordings.describe(name, name, matrix, {}))), name


def test_a_stand_in_takes_the_place_of_its_matrix() -> None:
    substitutes = [s.substitute for s in BATCH_SUBJECTS if s.substitute]
    similar, everything = mixtures(substitutes)
    assert {s.name for s in similar} == {f"{name} (stand-in)" for name in SIMILAR}
    assert (len(similar), len(everything)) == (12, 32)
    some = mixtures([BY_NAME["nos3"], *(s for s in substitutes if s.name == "ex25 (stand-in)"), BY_NAME["Si2"]])
    assert [[s.name for s in members] for members in some] == [
        ["nos3", "ex25 (stand-in)"],
        ["nos3", "ex25 (stand-in)", "Si2"],
    ]
    for name in ("nos3", "Si2"):
        own, other = (passes(s, "cuda", 9) for s in (BY_NAME[name], BY_NAME[name].substitute or BY_NAME[name]))
        assert list(other) == list(own)


def test_mixtures_are_of_the_matrices_of_similar_order_and_of_all() -> None:
    some = [BY_NAME[name] for name in ("west0989", "Si2", "nos3", "balanced-4", "bcsstk02")]
    similar, everything = mixtures(some)
    assert [s.name for s in similar] == ["west0989", "nos3"]
    assert [s.name for s in everything] == ["west0989", "Si2", "nos3", "bcsstk02"]
    assert [[s.name for s in m] for m in mixtures(some[:1] + some[2:4])] == [["west0989", "nos3"]]
    assert [[s.name for s in m] for m in mixtures(some[:2])] == [["west0989", "Si2"]]
    assert mixtures(some[:1]) == []


MATRICES = {
    "random-1000-5": 5000,
    "random-1000-60": 5120,
    "random-100-8": 800,
    "balanced-4": 4096,
    "nos3": 15_844,
    "ex25 (stand-in)": 25_120,
    "west0989": 3518,
    "Si2": 17_801,
}
ORDERS = {"random-1000-5": 1000, "random-1000-60": 1000, "random-100-8": 100, "nos3": 960, "west0989": 989, "Si2": 769}


def measurement(
    matrix: str, kernel: str, us: float, batch: int = 1000, cache: Cache = "warm", names: str = "", **fields: Any
) -> Measurement:
    """One with a floor of 8 µs, and a rate as of 8000 operations."""
    compose = "mixed" if names else "uniform"
    case = f"{matrix}|{kernel}|{cache}|batch={batch},compose={compose},operation={fields.pop('operation', 'y=Ax+y')}"
    fields |= {"median_s": us * 1e-6, "roofline_s": 8e-6, "gflops": 8 / us, "batch_size": batch}
    fields |= {"environment": {"matrices": names} if names else {}}
    return Measurement.of(Case.parse(case), GPU.id, BatchDetails, **fields)


def found(*measurements: Measurement) -> dict[str, Section]:
    used = dict.fromkeys(m.matrix_id for m in measurements)
    shapes = {name: (ORDERS.get(name, 1024), MATRICES[name]) for name in used}
    matrices = tuple(
        MatrixRecord(name, name, name, rows, 7, nnz, {"ave": nnz / rows, "sigma": 0.0})
        for name, (rows, nnz) in shapes.items()
    )
    recording = Recording("batched", "2026-11-21T00:00:00+00:00", GPU, None, matrices, measurements)
    return sections(TABLES, BATCH_SUBJECTS, recording)


BEST = "cusparse/best, speedup over it"


def test_random_matrices_are_held_against_the_floor_and_the_library() -> None:
    own = found(
        measurement("random-1000-5", "csr/smart", 10.0),
        measurement("random-1000-5", "coo/segmented", 16.0),
        measurement("random-1000-5", "cusparse/best", 20.0, note="csr_alg2"),
        measurement("random-1000-5", "cusparse/chain", 250.0),
        measurement("random-1000-60", "sliced/shared", 40.0),
        measurement("random-1000-60", "cusparse/best", 20.0, note="coo_alg1"),
        measurement("random-100-8", "ell/thread", 8.0),
        measurement("random-1000-5", "csr/smart", 5.0, operation="y=Ax"),
        measurement("random-1000-5", "csr/smart", 80.0, cache="cold"),
    )
    large = "Random matrices, n of about 1,000, y=Ax+y, warm"
    heads = ("matrix", "batch size", "kernel", "% of roofline", BEST, "cusparse/chain, speedup over it")
    assert cells(own[large].table, *heads) == [
        ("random-1000-5", "1,000", "csr/smart", "80 %", "20.0 µs (csr_alg2), 2.00 ×", "250 µs, 25.0 ×"),
        ("random-1000-60", "1,000", "sliced/shared", "20 %", "20.0 µs (coo_alg1), 0.50 ×", "–"),
    ]
    assert cells(own["Random matrices, n = 100, y=Ax+y, warm"].table, "kernel") == [("ell/thread",)]
    # The roots of 2 · 0.5 and of 0.8 · 0.2.
    means = cells(
        own["Random matrices: speedup over cuSPARSE"].table,
        "of",
        "over",
        "geometric mean",
        "% of roofline geometric mean",
    )
    assert means == [(large, "cusparse/best", "1.00 ×", "40 %"), (large, "cusparse/chain", "25.0 ×", "80 %")]
    assert cells(own["Random matrices, n of about 1,000, y=Ax, warm"].table, "time median") == [("5.00 µs",)]
    assert cells(own["Random matrices, n of about 1,000, y=Ax+y, cold"].table, "time median") == [("80.0 µs",)]


def test_growing_batches_are_held_against_one_call_after_the_other() -> None:
    own = found(
        measurement("nos3", "csr/smart", 10.0, batch=10),
        measurement("nos3", "cusparse/chain", 40.0, batch=10),
        measurement("nos3", "cusparse/branches", 20.0, batch=10),
        measurement("nos3", "csr/scalar", 10.0, batch=1000),
        measurement("nos3", "cusparse/chain", 90.0, batch=1000),
        measurement("nos3", "ell/loop", 500.0, batch=1000),
        measurement("Si2", "csr/scalar", 10.0, batch=1000),
    )
    rivals = [f"{name}, speedup over it" for name in ("cusparse/chain", "ell/loop", "cusparse/branches")]
    assert cells(own["Batches of growing size (Figure 3), warm"].table, "batch size", "kernel", *rivals) == [
        ("10", "csr/smart", "40.0 µs, 4.00 ×", "–", "20.0 µs, 2.00 ×"),
        ("1,000", "csr/scalar", "90.0 µs, 9.00 ×", "500 µs, 50.0 ×", "–"),
    ]
    over = own["Batches of growing size: speedup over launch loops"].table
    assert cells(over, "over", "geometric mean")[:2] == [("cusparse/chain", "6.00 ×"), ("ell/loop", "50.0 ×")]


def test_rates_of_every_kernel_by_mean_row_length_in_the_largest_batch() -> None:
    own = found(
        measurement("Si2", "ell/thread", 4.0, batch=10_000),
        measurement("nos3", "csr/scalar", 2.0, batch=10_000),
        measurement("nos3", "coo/segmented", 1.0, batch=10_000),
        measurement("nos3", "cusparse/best", 4.0, batch=10_000),
        measurement("nos3", "csr/scalar", 9.0, batch=10),
        measurement("balanced-4", "csri/warp", 8.0),
    )
    rates = own["Throughput on uniform batches of the paper's matrices (Figure 5), GFLOP/s"].table
    # 15,844 / 960 and 17,801 / 769 entries a row; the library is the last column.
    assert [head.text for head in rates.heads][4:-1] == ["coo/segmented", "csr/scalar", "ell/thread", "cusparse/best"]
    assert cells(rates, "matrix", "mean row", "coo/segmented", "csr/scalar", "ell/thread", "cusparse/best") == [
        ("nos3", "16.5", "8.00", "4.00", "–", "2.00"),
        ("Si2", "23.1", "–", "–", "2.00", "–"),
    ]
    over = own["Uniform batches of the paper's matrices (Figure 5): speedup over cuSPARSE"].table
    assert cells(over, "matrices", "geometric mean") == [("1", "4.00 ×")]
    balanced = own["1,000 matrices, balanced (Figure 4, left), GFLOP/s"].table
    assert cells(balanced, "matrix", "cache", "mean row", "csri/warp", "% of roofline fastest Sparsight kernel") == [
        ("balanced-4", "warm", "4.00", "1.00", "100 %")
    ]


def test_mixed_batches_are_what_findings_say_of_them() -> None:
    both, similar = "Si2, west0989, nos3", "west0989, nos3"
    bytes_: dict[str, Any] = {"stored_bytes": 40_000, "moved_bytes": 30_000, "vector_bytes": 10_000}
    own = found(
        measurement("Si2", "ell/thread", 20.0, batch=10_000, names=both, **bytes_),
        measurement("Si2", "coo/segmented", 10.0, batch=10_000, names=both, **bytes_),
        measurement("Si2", "cusparse/best", 15.0, batch=10_000, names=both, note="coo_alg2", **bytes_),
        measurement("west0989", "ell/thread", 20.0, batch=10_000, names=similar, **bytes_),
    )
    three, two = (section for title, section in own.items() if "matrices mixed" in title)
    heads = ("kernel", "speedup vs cusparse/best", "bandwidth sustained", "% of roofline", "note")
    assert cells(three.table, *heads) == [
        ("coo/segmented", "1.50 ×", "4.00 GB/s", "80 %", ""),
        ("cusparse/best", "1.00 ×", "2.67 GB/s", "53 %", "coo_alg2"),
        ("ell/thread", "0.75 ×", "2.00 GB/s", "40 %", ""),
    ]
    assert three.notes
    assert cells(two.table, "kernel") == [("ell/thread",)]
    # What is mixed is in no table of copies.
    assert not any("Figure 5" in title for title in own)


def test_tables_call_a_stand_in_by_its_name() -> None:
    own = found(measurement("ex25 (stand-in)", "csr/smart", 10.0, batch=10_000))
    for title in (
        "Batches of growing size (Figure 3), warm",
        "Uniform batches of the paper's matrices (Figure 5), warm",
    ):
        assert cells(own[title].table, "matrix") == [("ex25 (stand-in)",)]


def test_what_chooses_by_itself_is_held_against_the_fastest_that_does_not() -> None:
    own = found(
        measurement("nos3", "auto/flexible", 20.0),
        measurement("nos3", "auto/shared", 10.0),
        measurement("nos3", "csr/smart", 9.0),
        measurement("nos3", "ell/thread", 19.0),
        measurement("nos3", "cusparse/best", 1.0),
        measurement("Si2", "auto/shared", 10.0),
        measurement("Si2", "coo/segmented", 40.0),
    )
    rival = "fastest single, speedup over it"
    assert cells(own["Automatic kernel, warm"].table, "matrix", "operation", "kernel", rival) == [
        ("nos3", "y=Ax+y", "auto/shared", "9.00 µs (csr/smart), 0.90 ×"),
        ("Si2", "y=Ax+y", "auto/shared", "40.0 µs (coo/segmented), 4.00 ×"),
    ]
    over = cells(
        own["Automatic kernel: speedup over the fastest single kernel"].table, "batches", "geometric mean", "lowest"
    )
    assert over == [("2", "1.90 ×", "0.90 × (nos3)")]
    winners = own["Fastest kernel, batch paper, warm"]
    assert {row[0] for row in winners.table.rows} == {"csr/smart", "ell/thread", "coo/segmented"}
    assert len(winners.notes) == 1


def test_the_papers_conclusions_stand_in_the_tables() -> None:
    own = found(measurement("nos3", "coo/segmented", 40.0), measurement("nos3", "csri/warp", 50.0))
    table = own["Conclusions of the paper (on a P100) and whether they hold here"].table
    says = {row[0]: row[2] for row in table.rows}
    assert says["No CSR kernel is as fast as COO for uniform batches."] == "agrees"
    assert says["COO is the best kernel for heterogeneous batches."] == "no data"


def test_what_has_no_time_is_in_no_table() -> None:
    failed = dataclasses.replace(measurement("nos3", "csr/smart", 1.0), state="failed", median_s=None)
    assert found(failed) == {}


TINY = (
    Subject("random-9", "batch random", generated("rows", {"n": 9, "mean": 2.0, "sigma": 1.0, "max_length": 9})),
    Subject("nos3", "batch paper", collected("HB/nos3")),
    Subject("west0989", "batch paper", collected("HB/west0989"), stand_in=generated("stencil", {"nx": 5, "ny": 4})),
    Subject("Si2", "batch paper", collected("PARSEC/Si2")),
)


def test_from_matrices_to_tables_and_a_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fast = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "2026-11-21T00:00:00+00:00")

    def small(device: DeviceInfo) -> AbstractContextManager[Bench]:
        return open_bench(dataclasses.replace(device, cache_bytes=2**20), fast)

    def few(subject: Subject, backend: str, rounds: int) -> Iterator[BatchedParams]:
        yield BatchedParams(("csr/scalar", "scipy/loop"), (3,), ("uniform",), rounds=rounds, energy_s=0.0)

    monkeypatch.setattr(command, "open_bench", small)
    monkeypatch.setattr(command, "RECORDED", tmp_path / "recorded")
    monkeypatch.setitem(BENCHMARKS, "batched", dataclasses.replace(BENCHMARKS["batched"], passes=few))
    monkeypatch.setattr(batched, "MEDIUM", 2)
    monkeypatch.setattr(batched, "LARGE", 5)
    for name, matrix in (("nos3", BATTERY["band"]()), ("Si2", generate("stencil", {"points": 5, "nx": 4, "ny": 3}))):
        text = io.BytesIO()
        mmwrite(text, matrix.to_scipy())
        (tmp_path / f"{name}.mtx.gz").write_bytes(gzip.compress(text.getvalue()))
    fixed = ("--study", "batched", "--folder", str(tmp_path), "--collection", str(tmp_path), "--device", "cpu")
    arguments: Sequence[str] = (*fixed, "--rounds", "9", "--record", "this-cpu")
    assert command.main(arguments, TINY) == 0
    out, err = capsys.readouterr()
    assert "west0989: file not found, using a synthetic stand-in" in err
    assert "measuring nos3, west0989 (stand-in)\n" in err
    assert "measuring nos3, west0989 (stand-in), Si2\n" in err
    assert "| random-9 | 3 | csr/scalar |" in out
    parsed = recordings.parse(json.loads((tmp_path / "batched.json").read_text(encoding="utf-8")))
    assert {m.state for m in parsed.measurements} == {"ok"}
    alone = [m for m in parsed.measurements if "compose=uniform" in m.case]
    assert {(m.matrix_id, m.kernel, m.details.batch_size) for m in alone} == {
        (name, kernel, 3)
        for name in ("random-9", "nos3", "west0989 (stand-in)", "Si2")
        for kernel in ("csr/scalar", "scipy/loop")
    }
    mixed = [m for m in parsed.measurements if "compose=mixed" in m.case]
    assert {(m.matrix_id, m.details.batch_size, m.environment["matrices"]) for m in mixed} == {
        *(("Si2", size, "Si2, nos3, west0989 (stand-in)") for size in (2, 5)),
        *(("nos3", size, "nos3, west0989 (stand-in)") for size in (2, 5)),
    }
    recorded = recordings.read(tmp_path / "recorded" / "this-cpu" / "batched.json.gz")
    assert [m.case for m in recorded.measurements] == [m.case for m in parsed.measurements]
