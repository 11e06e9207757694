"""What calls and solves take: on the CPU from files to tables, and the tables of made-up records by value."""

import dataclasses
import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import mmwrite

from gpu_engine import spmm
from gpu_engine.competitors import library_calls
from gpu_engine.errors import DeviceLostError, InputError, KernelError
from gpu_engine.generators import generate
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench import call_records, calls, calls_tables, solves
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.call_records import CallsRecording, CallTimes, SolveTimes
from gpu_engine.gpu_bench.markdown import Section
from gpu_engine.gpu_bench.recorded_tables import recorded_tables, reports
from gpu_engine.measure import Bench, open_bench
from gpu_engine.recordings.files import generated
from gpu_engine.records import DeviceInfo, MatrixInfo
from gpu_engine.verify import reference
from tests.battery import BATTERY
from tests.gpu_engine.gpu_bench.sections import cells

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
PLANE = generated("stencil", {"points": 5, "nx": 12, "ny": 10})
TINY = (
    Subject("grid", "families", PLANE),
    Subject("few", "families", generated("stencil", {"points": 5, "nx": 3, "ny": 3})),
    Subject("grid system", "definite", PLANE),
    Subject("web system", "unsymmetric", generated("web", {"n": 200, "max_length": 50})),
)
NAMES = ["sparsight/auto", "sparsight/predict", "sparsight/measure", "scipy", "torch"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command with tiny subjects on a CPU with a small cache, and trials of two kernels."""

    def small(device: DeviceInfo) -> AbstractContextManager[Bench]:
        return open_bench(dataclasses.replace(device, cache_bytes=2**20))

    monkeypatch.setenv("SPARSIGHT_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("gpu_engine.operators.autotune.TRIED", 2)
    monkeypatch.setattr("gpu_engine.operators.autotune.ROUNDS_MAX", 3)
    monkeypatch.setattr(command, "open_bench", small)
    monkeypatch.setattr(command, "RECORDED", tmp_path / "recorded")
    monkeypatch.setattr(calls, "NNZ_MIN", 100)
    monkeypatch.setattr(calls, "HANDED_S", 1e-4)
    monkeypatch.setattr(solves, "ROUNDS", 2)
    fixed = ("calls", "--folder", str(tmp_path / "out"), "--device", "cpu", "--rounds", "2")
    return lambda *arguments: command.main((*fixed, *arguments), TINY)


def test_from_matrices_to_tables_and_a_recording(
    run: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("--record", "this-cpu") == 0
    out, err = capsys.readouterr()
    assert "calls of grid\nsolves of grid system\nsolves of web system\n" in err
    recording = call_records.read(tmp_path / "recorded" / "this-cpu" / "calls.json")
    assert out == (tmp_path / "out" / "calls.md").read_text(encoding="utf-8") == calls_tables.report(recording)
    assert [(m.id, m.nnz) for m in recording.matrices] == [("grid", 556)]
    assert [times.name for times in recording.calls] == NAMES * 3
    assert [times.columns for times in recording.calls[::5]] == [None, *calls.COLUMNS]
    for times in (t for t in recording.calls if t.name != "torch"):
        assert times.note == ""
        assert min(times.made_s or 0, times.cold_s or 0, times.warm_s or 0, times.host_s or 0, times.whole_s or 0) > 0
    assert recording.calls[0].kernel == "csr/smart"
    assert recording.calls[5].kernel in {kernel.name for kernel in spmm.kernels_on("cpu")}
    assert recording.calls[3].versions.keys() == {"SciPy"}
    assert [(t.matrix_id, t.solver, t.name) for t in recording.solves] == [
        (name, solver, way)
        for name, solver in (("grid system", "cg"), ("web system", "gmres"))
        for way in ("own matrix", *NAMES[:3])
    ]
    for solved in recording.solves:
        assert solved.note == ""
        assert (solved.solve_s or 0) > 0
        assert (solved.products or 0) > 1
        assert (solved.residual or 1) <= solves.RTOL * 1.01
    # The record of the last run, without measuring.
    assert run("--measured") == 0
    assert capsys.readouterr().out == out


def test_files_are_measured_instead(run: Callable[..., int], tmp_path: Path) -> None:
    path = tmp_path / "band.mtx"
    mmwrite(path, BATTERY["band"]().to_scipy())
    assert run("--files", str(path)) == 0
    recording = call_records.read(tmp_path / "out" / "calls.json")
    assert [m.id for m in recording.matrices] == ["band"]
    assert (recording.systems, recording.solves) == ((), ())


def test_nothing_to_measure_is_refused(run: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--only", "nothing") == 2
    assert "error: No matrix to measure" in capsys.readouterr().err


@pytest.fixture
def bench() -> Any:
    cpu = DeviceInfo("cpu", "cpu", "test", 2**33, 2**20)
    with open_bench(cpu) as opened:
        yield opened


def test_what_cannot_be_had_or_is_wrong_says_why(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def unlike(*_: Any) -> Any:
        raise TypeError("no such\nmatrix")

    scipy_call = library_calls.LIBRARY_CALLS[0]
    twice = dataclasses.replace(scipy_call, name="twice", bind=lambda m, x: lambda: 2 * (m.to_scipy() @ x))
    odd = dataclasses.replace(scipy_call, name="odd", bind=unlike)
    monkeypatch.setattr(calls, "LIBRARY_CALLS", (scipy_call, twice, odd))
    monkeypatch.setattr(calls, "get_args", lambda _: ())
    measured = list(calls.measure("band", BATTERY["band"](), bench, 2))
    assert len(measured) == 3 * (1 + len(calls.COLUMNS))
    assert measured[4].note.startswith("Wrong result: row ")
    by_name = {times.name: times for times in measured[:3]}
    assert by_name["scipy"].warm_s
    assert by_name["twice"].note.startswith("Wrong result: row ")
    assert by_name["odd"].note == "TypeError: no such"
    assert by_name["twice"].warm_s is by_name["odd"].host_s is None


def test_what_leaves_the_device_unusable_ends_the_run() -> None:
    with pytest.raises(DeviceLostError):
        calls.reason(DeviceLostError("gone"))


def test_what_turns_out_not_to_be_captured_keeps_its_times_of_the_host(bench: Bench) -> None:
    def refuses() -> None:
        raise KernelError("no capture")

    made = {"it": calls.CallTarget(lambda: None, refuses), "other": calls.CallTarget(lambda: None, None)}
    assert calls._on_device(made, bench, 2) == {"it": {"note": "not captured: no capture"}}
    assert all(set(times) == {"host_s", "whole_s"} for times in calls._on_host(made, bench, 2).values())


@pytest.mark.parametrize("call", library_calls.LIBRARY_CALLS[:1], ids=lambda call: call.name)
def test_a_library_multiplies(call: library_calls.LibraryCall) -> None:
    expected = reference(BATTERY["power_law"]())
    np.testing.assert_allclose(call.bind(BATTERY["power_law"](), expected.x)(), expected.y)


@pytest.mark.parametrize(
    ("generator", "params"), [("stencil", {"points": 5, "nx": 7, "ny": 6}), ("web", {"n": 60, "max_length": 20})]
)
@pytest.mark.parametrize("group", ["definite", "unsymmetric"])
def test_systems_are_what_their_solvers_want(generator: str, params: dict[str, Any], group: str) -> None:
    found = solves.system(generate(generator, params), group).to_scipy().toarray()
    diagonal, others = np.diag(found), found - np.diag(np.diag(found))
    assert (others <= 0).all()
    excess = diagonal / np.abs(others).sum(axis=1, where=others != 0, initial=0.0).clip(min=1e-300) - 1
    filled = np.abs(others).sum(axis=1) > 0
    np.testing.assert_allclose(excess[filled], solves.EXCESS[group], rtol=1e-9)
    if group == "definite":
        np.testing.assert_array_equal(found, found.T)
        assert np.linalg.eigvalsh(found)[0] > 0
    else:
        np.testing.assert_allclose(diagonal, 1.0)


def test_the_ten_systems_are_five_of_each_kind() -> None:
    groups = [subject.group for subject in solves.SYSTEMS]
    assert groups == ["definite"] * 5 + ["unsymmetric"] * 5
    assert {subject.name for subject in calls.SUBJECTS} >= {"st27", "gene", "cnr-2000"}


def times(matrix: str, name: str, cold: float | None, warm: float | None, host: float, **fields: Any) -> CallTimes:
    """A record of times in µs."""
    cold_s, warm_s, host_s, whole_s = (None if us is None else us * 1e-6 for us in (cold, warm, host, host + 20))
    return CallTimes(matrix, name, made_s=1.0, cold_s=cold_s, warm_s=warm_s, host_s=host_s, whole_s=whole_s, **fields)


RECORDING = CallsRecording(
    "2026-11-24T00:00:00+00:00",
    GPU,
    {"driver": "580"},
    (MatrixInfo("a", "a", 10, 10, 100), MatrixInfo("b", "b", 20, 20, 200)),
    (MatrixInfo("s", "s", 30, 30, 300),),
    (
        times("a", "cusparse/csr_alg1", 30, 20, 3, versions={"cuSPARSE": "12.9.4"}),
        times("a", "cusparse/op_alg1", 24, 22, 3, versions={"cuSPARSE": "12.9.4"}),
        times("a", "sparsight/predict", 20, 10, 8, kernel="split/tile"),
        times("a", "sparsight/measure", 12, 10, 8, kernel="sellp/t1"),
        times("a", "cupy", None, None, 80, versions={"CuPy": "14.2.0"}),
        CallTimes("a", "torch", note="PyTorch is not installed here"),
        times("b", "cusparse/csr_alg1", 50, 40, 3),
        times("b", "cusparse/op_alg1", 60, 32, 3),
        times("b", "sparsight/predict", 50, 40, 9, kernel="csr/smart"),
        times("b", "sparsight/measure", 40, 40, 8, kernel="csr/smart"),
        times("b", "cupy", None, None, 90),
        CallTimes("b", "torch", note="PyTorch is not installed here"),
        times("a", "sparsight/predict", 40, 30, 9, kernel="csr/segments", columns=8),
        times("a", "cupy", None, None, 90, columns=8),
        CallTimes("a", "torch", note="PyTorch is not installed here", columns=8),
    ),
    (
        SolveTimes("s", "cg", "own matrix", "", None, 0.02, 101, 1e-9),
        SolveTimes("s", "cg", "sparsight/predict", "split/tile", 0.1, 0.016, 101, 2e-9),
        SolveTimes("s", "cg", "sparsight/measure", note="no solution after 2000 products"),
    ),
)


def found(name: str) -> dict[str, Section]:
    return {section.title: section for section in calls_tables.TABLES[name](RECORDING)}


DEVICE, HOST = "One SpMV on the device, cold", "Host time per call, over many in a row"
LIBRARY = "fastest library, speedup over it"
MEAN = ("of", "over", "geometric mean", "lowest")


def test_operators_beside_the_fastest_library() -> None:
    own = found("calls")
    heads = ("matrix", "nonzeros", "kernel", "time median", LIBRARY)
    assert cells(own[f"{DEVICE}, operator(A, 'predict')"].table, *heads) == [
        ("a", "100", "split/tile", "20.0 µs", "24.0 µs (cusparse/op_alg1), 1.20 ×"),
        ("b", "200", "csr/smart", "50.0 µs", "50.0 µs (cusparse/csr_alg1), 1.00 ×"),
    ]
    assert cells(own[f"{DEVICE}, operator(A, 'measure')"].table, "kernel", LIBRARY)[0] == (
        "sellp/t1",
        "24.0 µs (cusparse/op_alg1), 2.00 ×",
    )
    means = cells(own["Calls: speedup of operators over libraries"].table, *MEAN)
    assert (f"{DEVICE}, operator(A, 'predict')", "fastest library", "1.10 ×", "1.00 × (b)") in means
    warm = "One SpMV on the device, warm, operator(A, 'measure')"
    assert (warm, "fastest library", "1.26 ×", "0.80 × (b)") in means


def test_several_columns_are_compared_with_each_other_only() -> None:
    tables = found("calls")
    table = tables[f"{HOST} (SpMM, 8 columns), operator(A, 'predict')"].table
    assert cells(table, "matrix", "kernel", "time median", "cupy, speedup over it") == [
        ("a", "csr/segments", "9.00 µs", "90.0 µs, 10.0 ×")
    ]


def test_every_algorithm_of_the_library() -> None:
    warm = found("calls")["One SpMV on the device, warm, operator(A, 'predict')"].table
    heads = [f"cusparse/{name}, speedup over it" for name in ("csr_alg1", "op_alg1")]
    assert cells(warm, *heads) == [("20.0 µs, 2.00 ×", "22.0 µs, 2.20 ×"), ("40.0 µs, 1.00 ×", "32.0 µs, 0.80 ×")]


def test_what_a_call_costs() -> None:
    own = found("calls")
    host = own[f"{HOST}, operator(A, 'predict')"].table
    assert cells(host, "time median", "sparsight/measure, speedup over it", "cupy, speedup over it") == [
        ("8.00 µs", "8.00 µs (sellp/t1), 1.00 ×", "80.0 µs, 10.0 ×"),
        ("9.00 µs", "8.00 µs (csr/smart), 0.89 ×", "90.0 µs, 10.0 ×"),
    ]
    # Kernels of cuSPARSE are bound before; and a second operator calls as the first does.
    assert not any("cusparse" in head.text or "library" in head.text for head in host.heads)
    assert f"{HOST}, operator(A, 'measure')" not in own
    whole = own["One call until its result is complete, operator(A, 'predict')"].table
    assert cells(whole, "time median", "cupy, speedup over it")[0] == ("28.0 µs", "100 µs, 3.57 ×")


def test_a_call_by_default_comes_first() -> None:
    default = times("a", "sparsight/auto", 15, 10, 8, kernel="split/tile")
    own = dataclasses.replace(RECORDING, calls=(default, *RECORDING.calls))
    titles = [section.title for section in calls_tables.TABLES["calls"](own)]
    assert f"{HOST}, operator(A)" in titles
    assert f"{HOST}, operator(A, 'predict')" not in titles


def test_whole_solves_and_what_has_no_times() -> None:
    own = found("solves")
    heads = (
        "matrix",
        "rows",
        "nonzeros",
        "solver",
        "SpMVs",
        "SpMVs library matrix",
        "residual",
        "kernel",
        "time median",
    )
    assert cells(own["Complete solves with operator(A, 'predict')"].table, *heads, "own matrix, speedup over it") == [
        ("s", "30", "300", "cg", "101", "101", "2.0·10⁻⁹", "split/tile", "16.0 ms", "20.0 ms, 1.25 ×")
    ]
    over = own["Complete solves: speedup of operators"].table
    assert cells(over, *MEAN) == [("Complete solves with operator(A, 'predict')", "own matrix", "1.25 ×", "1.25 × (s)")]
    assert found("absent")["Calls without times"].table.rows == (
        ("torch", "2", "PyTorch is not installed here"),
        ("torch (SpMM, 8 columns)", "1", "PyTorch is not installed here"),
        ("cg with sparsight/measure", "1", "no solution after 2000 products"),
    )


def test_what_was_called_is_told_with_its_version() -> None:
    rows = found("versions")["Library versions"].table.rows
    assert rows == (("CuPy", "14.2.0"), ("cuSPARSE", "12.9.4"), ("driver", "580"))


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "calls.json"
    call_records.write(path, RECORDING)
    assert call_records.read(path) == RECORDING
    path.write_text(json.dumps({"created_at": 3}), encoding="utf-8")
    with pytest.raises(InputError, match="is not a valid record of calls: created_at is '3'"):
        call_records.read(path)


def test_tables_of_calls_are_printed_by_name(tmp_path: Path) -> None:
    call_records.write(tmp_path / "h200" / "calls.json", RECORDING)
    recordings = recorded_tables(tmp_path)
    ((name, text),) = reports(["h200/calls/absent"], recordings)
    assert name == "h200/calls"
    assert "| torch | 2 | PyTorch is not installed here |" in text
    assert text.count("\n## ") == 1
    with pytest.raises(InputError, match="Unknown tables: 'h200/calls/winners'"):
        reports(["h200/calls/winners"], recordings)
