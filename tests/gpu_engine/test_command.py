"""A study from the shell: which matrices it takes, and that parameters may be lists."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from scipy.io import mmwrite

from gpu_engine.__main__ import _Lines, main
from gpu_engine.csr_matrix import fingerprint
from gpu_engine.findings.data import StudyData
from gpu_engine.generators import generate
from gpu_engine.recordings import files as recordings
from gpu_engine.records import Case, Measurement
from gpu_engine.studies import parse_measurement
from gpu_engine.studies.formats.experiment import ProductDetails
from tests.battery import BATTERY

SETTINGS = 'batches=[3],compose=["uniform","mixed"],caches=["warm"],energy_s=0,kernels=["csr/scalar","ell/thread"]'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two small matrices in files."""
    found = tmp_path / "matrices"
    found.mkdir()
    for name in ("band", "one_dense_row"):
        mmwrite(found / f"{name}.mtx", BATTERY[name]().to_scipy())
    return found


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["gpu_engine", *arguments])
    return main()


def test_every_matrix_of_a_folder_and_a_generated_one(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    generated = "stencil:points=5,nx=4,ny=3"
    arguments = ("batched", generated, f"each:{folder}", "--device", "cpu", "--json", str(out), "--set", SETTINGS)
    assert run(monkeypatch, *arguments) == 0
    found = json.loads(out.read_text(encoding="utf-8"))["measurements"]
    names = [generated, f"{folder}/band.mtx", f"{folder}/one_dense_row.mtx"]
    kernels = ("csr/scalar", "ell/thread")
    cases = [(name, kernel, "uniform") for name in names for kernel in kernels]
    # A mixture is composed, and filed, in the order of the names.
    cases += [(min(names), kernel, "mixed") for kernel in kernels]
    assert [(m["matrix_id"], m["kernel"], m["case"].partition("compose=")[2].partition(",")[0]) for m in found] == cases
    assert {(m["state"], m["details"]["batch_size"]) for m in found} == {("ok", 3)}
    said = capsys.readouterr().err
    assert f"{folder}/band.mtx: 1000 × 1000" in said
    # How long it takes is said before anything is measured.
    assert said.index("8 cases on cpu, about ") < said.index("making the batch")
    assert "  csr/scalar         warm batch=3 compose=uniform operation=y=Ax+y" in said


def test_a_recording_says_where_the_values_come_from(
    monkeypatch: pytest.MonkeyPatch, folder: Path, tmp_path: Path
) -> None:
    out, call = tmp_path / "out.json.gz", "stencil:points=5,nx=4,ny=3"
    arguments = ("batched", call, str(folder / "band.mtx"), "--device", "cpu", "--recording", str(out))
    assert run(monkeypatch, *arguments, "--set", SETTINGS) == 0
    found = recordings.load(out.read_bytes(), "it")
    assert [matrix.source["kind"] for matrix in found.matrices] == ["generated", "upload"]
    assert [matrix.fingerprint for matrix in found.matrices] == [
        fingerprint(generate("stencil", {"points": 5, "nx": 4, "ny": 3})),
        fingerprint(BATTERY["band"]()),
    ]
    assert found.matrices[1].source["filename"] == "band.mtx"
    assert (found.study, found.device.id, found.profile is None) == ("batched", "cpu", False)
    assert {m.state for m in found.measurements} == {"ok"}


def test_a_missing_folder_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "batched", f"each:{tmp_path / 'nowhere'}", "--device", "cpu") == 2
    assert "nowhere" in capsys.readouterr().err


def test_a_value_with_a_comma_is_one_value(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = str(folder / "band.mtx")
    assert run(monkeypatch, "batched", file, "--device", "cpu", "--set", "batches=[1,0]") == 2
    assert "batches" in capsys.readouterr().err
    assert run(monkeypatch, "batched", file, "--device", "cpu", "--set", "batches") == 2
    assert "'batches' is not of the form name=value" in capsys.readouterr().err


def test_devices_that_share_a_matrix(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, name = tmp_path / "out.json", "stencil:points=5,nx=9,ny=8"
    settings = 'devices=[1,2],partitionings=["pCSR"],strategies=["p*"],work=["cold","pagerank"],overlap=["off"]'
    assert run(monkeypatch, "scaling", name, "--device", "cpu", "--json", str(out), "--set", settings) == 0
    found = [parse_measurement(m) for m in json.loads(out.read_text(encoding="utf-8"))["measurements"]]
    ranks = ("pCSR/pagerank+fp64", "pCSR/pagerank+cpms2", "pCSR/pagerank+cpms4")
    expected = [("pCSR/p*", 1), ("pCSR/p*", 2), *((kernel, count) for count in (1, 2) for kernel in ranks)]
    assert [(m.kernel, m.details.devices) for m in found] == expected
    assert found[1].details.nonzeros_by_device == (163, 163)
    said = capsys.readouterr().err.splitlines()
    lines = [line for line in said if line.startswith("  pCSR")]
    cold, ranked = found[1], found[7]
    case = "  pCSR/p*            warm devices=2 workload=cold merge=host"
    assert lines[1].startswith(f"{case} {(cold.median_s or 0) * 1e6:10.2f} µs")
    case = "  pCSR/pagerank+cpms4 warm devices=2 workload=pagerank exchange=halo overlap=off"
    assert lines[7].startswith(f"{case} {(ranked.median_s or 0) * 1e6:10.2f} µs")
    # Below the lines a finding for each work, with its table.
    assert any(line.startswith(f"{name}, from the host: ") for line in said)
    rows = [line for line in said if line.startswith(" pCSR/pagerank+cpms4 ")]
    assert len(rows) == 2
    assert f" {ranked.details.iterations} " in rows[1]


@pytest.mark.parametrize(
    ("width", "shown"),
    [(80, "20.00 µs     1.50 GFLOP/s error 0.25 ε"), (40, "20.00 µs"), (1 << 30, "error 0.25 ε its rounds differ")],
)
def test_a_narrow_terminal_has_whole_numbers_and_says_where_the_rest_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], width: int, shown: str
) -> None:
    monkeypatch.setattr("gpu_engine.__main__._width", lambda: width)
    values: dict[str, Any] = {
        "median_s": 2e-5,
        "gflops": 1.5,
        "roofline_s": 1e-5,
        "max_error": 0.25,
        "note": "its rounds differ",
    }
    case = Measurement.of(Case("a.mtx", "csr/scalar", "warm"), "cpu", ProductDetails, **values)
    skipped = Measurement.of(Case("a.mtx", "ell/thread", "warm"), "cpu", ProductDetails, "skipped", note="too big")
    lines = _Lines()
    lines.print_record(case)
    lines.print_record(skipped)
    lines.print_findings(StudyData([case, skipped], {}))
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "a.mtx"
    assert said[1].startswith("  csr/scalar         warm")
    assert said[1].endswith(shown)
    assert said[2:4] == ["  ell/thread         warm", "skipped: too big"]
    table = said[said.index(next(line for line in said if line.startswith(" kernel "))) :]
    assert table[1].split()[:2] == ["csr/scalar", "baseline"]
    assert table[2].split()[:2] == ["ell/thread", "skipped"]
    assert ("% of roofline" in table[0]) == (width > 1000)
    assert " ".join(table[3:]).startswith("Some lines are truncated") == (width < 1000)
    assert max(map(len, said)) <= width


def test_a_busy_machine_is_named(
    monkeypatch: pytest.MonkeyPatch, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("gpu_engine.findings.ranking.noise", lambda group: f"busy with {len(group)}")
    assert run(monkeypatch, "batched", str(folder / "band.mtx"), "--device", "cpu", "--set", SETTINGS) == 0
    said = capsys.readouterr().err.splitlines()
    assert any("busy with 2" in line for line in said)


def test_what_an_edge_list_leaves_open_is_said_by_flags(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edges = tmp_path / "edges.txt"
    edges.write_text("4 3\n0 1\n1 2\n2 3\n", encoding="utf-8")
    arguments = ("formats", str(edges), "--device", "cpu", "--set", 'kernels=["csr/scalar"],time_limit_s=0.05')
    assert run(monkeypatch, *arguments) == 2
    assert "--directed true" in capsys.readouterr().err
    assert run(monkeypatch, *arguments, "--directed", "true") == 2
    assert "--header sizes" in capsys.readouterr().err
    assert run(monkeypatch, *arguments, "--directed", "true", "--header", "sizes") == 0
    assert "4 × 4, 3 nonzeros" in capsys.readouterr().err
    assert run(monkeypatch, "formats", "stencil:points=5,nx=4,ny=3", "--device", "cpu", "--ids", "apart") == 2
    assert "remove --ids" in capsys.readouterr().err


def test_a_study_without_a_time_ends_with_8(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = tmp_path / "empty.mtx"
    empty.write_text("%%MatrixMarket matrix coordinate real general\n3 3 0\n", encoding="utf-8")
    assert run(monkeypatch, "formats", str(empty), "--device", "cpu") == 8
    assert "No case was timed" in capsys.readouterr().err
