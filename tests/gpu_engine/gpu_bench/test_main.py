"""The benchmark from matrices to files, on the CPU with tiny ones; which kernels it measures, by value."""

import dataclasses
import gzip
import io
import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from scipy.io import mmwrite

from gpu_engine.csr_matrix import fingerprint
from gpu_engine.findings.formats.paper import MATRICES as PELLR_MATRICES
from gpu_engine.formats import FORMATS, kernel_names
from gpu_engine.generators import generate
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench import formats
from gpu_engine.gpu_bench.benchmark_matrices import PAPER_FORMATS, SUBJECTS, Subject
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.formats import passes
from gpu_engine.gpu_bench.matrix_cache import MatrixCache
from gpu_engine.matrices.features import features
from gpu_engine.measure import Bench, open_bench
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import collected, generated
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile
from gpu_engine.studies.formats import FormatsParams, chosen_kernels
from tests.battery import BATTERY

GRID = {"points": 5, "nx": 6, "ny": 5}
PROFILE = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "2026-11-21T00:00:00+00:00")
"""So fast that no real time can be under a floor."""

TINY = (
    Subject("grid", "families", generated("stencil", GRID), ("rcm",)),
    Subject("real", "collection", collected("Some/real")),
    Subject("absent", "collection", collected("Some/absent")),
)


@pytest.fixture
def collection(tmp_path: Path) -> Path:
    """A folder with the file of `real`."""
    folder = tmp_path / "collection"
    folder.mkdir()
    text = io.BytesIO()
    mmwrite(text, BATTERY["band"]().to_scipy())
    (folder / "real.mtx.gz").write_bytes(gzip.compress(text.getvalue()))
    return folder


@pytest.fixture
def bench(tmp_path: Path, collection: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command with two kernels on a CPU with a small cache, writing its recording under tmp_path."""

    def two_kernels(subject: Subject, backend: str, rounds: int) -> Iterator[FormatsParams]:
        for order in ("none", *subject.orders):
            yield FormatsParams(("csr/vector", "packed/tile"), rounds=rounds, energy_s=0.0, reorder=order)  # type: ignore[arg-type]

    def small(device: DeviceInfo) -> AbstractContextManager[Bench]:
        return open_bench(dataclasses.replace(device, cache_bytes=2**20), PROFILE)

    monkeypatch.setitem(BENCHMARKS, "formats", dataclasses.replace(BENCHMARKS["formats"], passes=two_kernels))
    monkeypatch.setattr(command, "open_bench", small)
    monkeypatch.setattr(command, "RECORDED", tmp_path / "recorded")
    fixed = ("--folder", str(tmp_path / "out"), "--collection", str(collection), "--device", "cpu", "--rounds", "9")
    return lambda *arguments: command.main((*fixed, *arguments), TINY)


def test_a_graph_of_the_same_kind_stands_for_one_whose_file_is_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = Subject("gone", "graph", collected("Some/gone"), stand_in=generated("stencil", GRID))
    assert command.main(("--folder", str(tmp_path), "--device", "cpu", "--make"), (gone,)) == 0
    err = capsys.readouterr().err
    assert "gone: file not found, using a synthetic stand-in" in err
    assert "generated gone (stand-in): 128 nonzeros" in err


def test_from_matrices_to_tables_and_a_recording(
    bench: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench("--record", "this-cpu") == 0
    out, err = capsys.readouterr()
    assert "generated grid: 128 nonzeros" in err
    assert "absent: file not found, skipped" in err
    assert out == (tmp_path / "out" / "formats.md").read_text(encoding="utf-8")
    assert "| grid | 30 | 128 |" in out
    assert "| csr/vector+rcm |" in out
    everything = recordings.parse(json.loads((tmp_path / "out" / "formats.json").read_text(encoding="utf-8")))
    kernels = {(m.matrix_id, m.kernel) for m in everything.measurements}
    in_order = {(name, kernel) for name in ("grid", "real") for kernel in ("csr/vector", "packed/tile")}
    assert kernels == in_order | {("grid", "csr/vector+rcm"), ("grid", "packed/tile+rcm")}
    recorded = recordings.read(tmp_path / "recorded" / "this-cpu" / "formats.json.gz")
    assert {(m.matrix_id, m.kernel) for m in recorded.measurements} == in_order
    assert recorded.matrices[0].fingerprint == fingerprint(generate("stencil", GRID))
    assert [matrix.source["kind"] for matrix in recorded.matrices] == ["generated", "collection"]
    # A second run makes no matrix again, and the tables alone need no device.
    assert bench("--make") == 0
    assert "made" not in capsys.readouterr().err
    monkeypatch.setattr(command, "open_bench", None)
    assert bench("--measured") == 0
    assert capsys.readouterr().out == out


def test_a_matrix_of_another_call_is_made_anew(tmp_path: Path) -> None:
    cache = MatrixCache(tmp_path)
    cache.make(TINY[0])
    other = Subject("grid", "families", generated("stencil", GRID | {"ny": 4}))
    said: list[str] = []
    cache.fill([other], said.append)
    assert said == [f"generated grid: {generate('stencil', GRID | {'ny': 4}).nnz} nonzeros"]
    assert cache.matrix(other).n_rows == 24


def test_nothing_left_to_measure_is_said(bench: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("--only", "no such matrix") == 2
    assert "No matrix to measure" in capsys.readouterr().err


def test_what_is_measured_on_a_subject() -> None:
    by_name = {subject.name: subject for subject in SUBJECTS}
    given, degree, rcm = passes(by_name["rmat20"], "cuda", 11)
    assert chosen_kernels(given, "cuda")[: len(kernel_names("cuda"))] == kernel_names("cuda")
    assert (given.reorder, degree.reorder, rcm.reorder) == ("none", "degree", "rcm")
    (ones,) = passes(by_name["rmat20, ones"], "cuda", 11)
    compressed = {f.name for f in FORMATS if f.compressed}
    few = {name for name in kernel_names("cuda") if name.partition("/")[0] in compressed or name in formats.FAST}
    assert {kernel for kernel in ones.kernels if not kernel.startswith("cusparse/")} == few
    assert "cusparse/best" in ones.kernels
    assert set(ones.kernels) == set(rcm.kernels)
    assert {(p.rounds, p.energy_s) for p in (given, degree, rcm, ones)} == {(11, 0.0)}


def test_the_subjects_have_names_of_their_own_and_every_group_has_some() -> None:
    assert len({subject.name for subject in SUBJECTS}) == len(SUBJECTS)
    count = {group: sum(s.group == group for s in SUBJECTS) for group in {s.group for s in SUBJECTS}}
    assert count == {
        "families": 11,
        "pattern": 8,
        "row lengths": 5,
        "small": 16,
        "held out": 19,
        "collection": 14,
        "paper formats": 8,
        "unfitted class": 19,
    }
    assert sum(subject.is_natural for subject in SUBJECTS) == 11


def test_a_matrix_of_the_pellr_paper_without_a_file_has_a_stand_in_of_its_size() -> None:
    by_name = {subject.name: subject for subject in SUBJECTS}
    assert {name for name, _, _ in PAPER_FORMATS} == set(PELLR_MATRICES)
    paper = [by_name[PELLR_MATRICES[name].partition("/")[2]] for name, _, _ in PAPER_FORMATS]
    assert {subject.group for subject in paper} == {"collection", "paper formats"}
    substitutes = [subject.substitute for subject in paper]
    assert all(substitute and substitute.name.endswith(" (stand-in)") for substitute in substitutes)
    (lnsp,) = (each for each in substitutes if each and each.name.startswith("lnsp3937"))
    known = features(generate(lnsp.source["generator"], lnsp.source["params"], 10**6))
    assert (known["n_rows"], known["max"]) == (3937, 11)
    assert [known["nnz"], known["sigma"]] == pytest.approx([25_407, 3.06], rel=0.1)
    assert by_name["bcsstk25"].substitute is None
