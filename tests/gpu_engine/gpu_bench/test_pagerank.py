"""The benchmark of PageRank: which runs it measures, its tables from made-up records, and the command on a CPU."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.generators import generator
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench import pagerank
from gpu_engine.gpu_bench.markdown import BenchmarkData, report
from gpu_engine.gpu_bench.pagerank import FEW, passes
from gpu_engine.gpu_bench.pagerank_peers import earlier_runs
from gpu_engine.gpu_bench.pagerank_tables import TABLES
from gpu_engine.gpu_bench.subjects import GRAPH_SUBJECTS, Subject
from gpu_engine.measure import Bench, open_bench
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.parameters import parse_params
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import MatrixRecord, Recording, generated
from gpu_engine.records import BandwidthPoint, Case, DeviceInfo, DeviceProfile, Measurement, Trace
from gpu_engine.studies.pagerank import PagerankStudy
from tests.gpu_engine.gpu_bench.test_formats_tables import rows
from web.figures.pagerank.paper import PAPER

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
GRID = Subject("grid", "graph", generated("stencil", {"points": 5, "nx": 6, "ny": 5}))
WEB = Subject("pages", "graph", generated("web", {"n": 60, "mean": 3.0, "max_length": 20}))
AXES = "first=1,near=16,stall=0.98,at_end="

ITERATIONS = "Iterations by precision; the worst residual, distance and mass of all runs with near 16"
PULLS = "Pulls on the first segments against the same kernel in fp64: ratio of the probe's ratio"
TOTALS = "Runs to convergence against the same kernel in fp64"
FASTEST = "The fastest run in fp64; cuGraph 26.10 of 2026-11-23 scaled to a copy of {:.2f} TB/s"
SAME_ROUNDS = (
    "The fastest run in fp64; cuGraph 26.10.00 in the same rounds, told what brings its verified residual under ε"
)

SHORT = ("short-cpms2", "short-cpms4")


def test_what_is_measured_on_a_gpu() -> None:
    usual, second, others = passes(GRID, "cuda", 11)
    stored = ("fp64", "cpms2", "cpms4")
    free = ("free", "free-cpms2", "free-cpms4")
    unfused = tuple(f"unfused-{precision}" for precision in stored)
    assert usual.kernels == (
        *(f"csr/thread+{precision}" for precision in (*stored, *free, *unfused)),
        *(f"ell/thread+{precision}" for precision in (*stored, *unfused)),
        *(f"sellp/thread+{precision}" for precision in (*stored, *free)),
        *(f"split/tile+{precision}" for precision in (*stored, *free)),
        *(f"{layout}+refined{bits}" for layout in ("sellp/thread", "split/tile") for bits in (32, 64)),
        *(f"csr/vector+{precision}" for precision in stored),
        *(f"{layout}+{p}" for layout in ("csr/thread", "ell/thread", "sellp/thread", "split/tile") for p in SHORT),
        *(f"{layout}+free-short-cpms2" for layout in ("sellp/thread", "split/tile")),
        *(f"{layout}+unfused-{p}" for layout in ("csr/thread", "ell/thread") for p in SHORT),
        "cugraph",
    )
    assert (usual.first, usual.near, usual.at_end) == ((1,), (16.0,), ("fp64", "segments"))
    assert (second.kernels, second.first, second.near) == (("split/tile+cpms4",), (2,), (16.0,))
    assert (others.kernels, others.first) == (("split/tile+cpms2", "split/tile+cpms4"), (1,))
    assert others.near == (1.0, 256.0)
    assert second.at_end == others.at_end == ("segments",)
    assert [(p.rounds, p.energy_s) for p in (usual, second, others)] == [(11, 0.3), (11, 0.0), (11, 0.0)]


def test_the_papers_graphs_are_measured_as_the_paper_did() -> None:
    subject = next(s for s in GRAPH_SUBJECTS if s.group == "paper graph")
    (params,) = passes(subject, "cuda", 9)
    assert (params.part, params.at_end, params.first, params.near) == ("lower", ("fp64",), (1,), (16.0,))
    assert params.energy_s == 0.3
    stored = ("fp64", "cpms2", "cpms4")
    assert params.kernels == tuple(
        f"{layout}/thread+{precision}"
        for layout in ("csr", "ell")
        for precision in (*stored, *(f"unfused-{precision}" for precision in stored))
    )


def test_each_graph_of_table_one_has_a_stand_in_of_its_size() -> None:
    graphs = {subject.name: subject for subject in GRAPH_SUBJECTS if subject.group == "paper graph"}
    assert list(graphs) == [row.name for row in PAPER]
    for row in PAPER:
        subject = graphs[row.name]
        assert subject.substitute is not None
        source = subject.substitute.source
        params = parse_params(generator(source["family"]).Params, source["params"])
        links = generator(source["family"]).estimate_nnz(params)
        # Of what is symmetric the paper counts the lower triangle; a stencil has a diagonal too.
        whole = {"web": row.nnz, "stencil": 2 * row.nnz + row.n}.get(source["family"], 2 * row.nnz)
        assert links == pytest.approx(whole, rel=0.1)
        assert subject.substitute.name == f"{row.name} (stand-in)"
        assert subject.substitute.substitute is None


def test_one_thread_a_page_runs_in_two_precisions_where_pages_are_popular() -> None:
    usual, *_ = passes(WEB, "cuda", 9)
    everywhere, *_ = passes(GRID, "cuda", 9)
    left_out = ("cpms4", "free", "free-cpms2", "free-cpms4")
    unfused = ("unfused-fp64", "unfused-cpms2", "unfused-cpms4")
    assert set(everywhere.kernels) - set(usual.kernels) == {
        *(f"{layout}/thread+{precision}" for layout in ("csr", "sellp") for precision in left_out),
        *(f"{layout}/thread+{precision}" for layout in ("csr", "ell") for precision in unfused),
        *("ell/thread+cpms4", "sellp/thread+refined32", "sellp/thread+refined64"),
        *(f"{layout}/thread+{p}" for layout in ("csr", "ell", "sellp") for p in SHORT),
        *(f"{layout}/thread+unfused-{p}" for layout in ("csr", "ell") for p in SHORT),
        "sellp/thread+free-short-cpms2",
    }
    assert {f"csr/thread+{precision}" for precision in FEW} <= set(usual.kernels)


def test_on_a_cpu_values_become_fp64_and_the_thread_kernel_tries_the_schedules() -> None:
    found = list(passes(GRID, "cpu", 9))
    assert {p.at_end for p in found} == {("fp64",)}
    assert [p.kernels for p in found[1:]] == [("csr/thread+cpms4",), ("csr/thread+cpms2", "csr/thread+cpms4")]
    assert found[0].kernels == (
        *(f"csr/thread+{precision}" for precision in ("fp64", "cpms2", "cpms4", "free")),
        *(f"ell/thread+{precision}" for precision in ("fp64", "cpms2", "cpms4")),
        *(f"csr/thread+{precision}" for precision in SHORT),
    )


def run(matrix: str, kernel: str, ms: float, axes: str = "", **fields: Any) -> Measurement:
    """A run of 10 iterations with a floor of 2 ms."""
    case = Case.parse(f"{matrix}|{kernel}|warm|{axes}")
    fields = {"iterations": 10, "floor_s": 2e-3, "residual": 1e-11, "distance": 1e-12, "mass_error": 1e-16} | fields
    return Measurement.of(case, GPU.id, PageRankDetails, median_s=ms * 1e-3, **fields)


def trace(m: Measurement, read: Sequence[int], written: Sequence[int], us: Sequence[float], probe: Any = None) -> Trace:
    """With microseconds of the pulls, and of the probe."""
    values = {"read": read, "written": written, "pull_s": us, "gather_s": probe or [0.0] * len(us)}
    scaled = {name: tuple(x * (1e-6 if name.endswith("_s") else 1.0) for x in v) for name, v in values.items()}
    return Trace(m.case, scaled)


def recording(
    *measurements: Measurement, traces: Sequence[Trace] = (), names: Sequence[str] = ("grid",), copy: float = 0.0
) -> Recording:
    """Of graphs with 7 pages and 21 links; a trace that is not given has one pull in numbers."""
    matrices = tuple(MatrixRecord(name, name, name, 7, 7, 21) for name in names)
    point = BandwidthPoint(2**34, copy, copy)
    profile = DeviceProfile(GPU.id, GPU.name, 1, (point,), "2026-11-21T00:00:00+00:00") if copy else None
    given = {t.case for t in traces}
    rest = tuple(trace(m, [0], [0], [50.0]) for m in measurements if m.case not in given)
    now = "2026-11-21T00:00:00+00:00"
    return Recording("pagerank", now, GPU, profile, matrices, measurements, (*traces, *rest))


def tables(found: Recording) -> str:
    return report(BenchmarkData((GRID, WEB), found), TABLES)


FP64 = run("grid", "split/tile+fp64", 4.0)
TWO = run("grid", "split/tile+cpms2", 3.2, AXES + "segments", floor_s=1.6e-3, iterations_by_segments=(4, 6))
FOUR = run("grid", "split/tile+cpms4", 5.0, AXES + "fp64", floor_s=1e-3, iterations_by_segments=(1, 3, 5, 1))


def test_iterations_and_the_worst_of_all_runs() -> None:
    bad = FOUR.with_(residual=3e-11, distance=2e-10, mass_error=5e-14)
    near = run("grid", "split/tile+cpms2", 1.0, AXES.replace("16", "256") + "fp64", residual=1.0)
    library = run("grid", "cugraph", 1.0, "tolerance=epsilon", residual=1.0, state="unconverged")
    (row,) = rows(tables(recording(FP64, TWO, bad, near, library)), ITERATIONS)
    assert row == ["grid", "7", "21", "10", "4 + 6 = 10", "1 + 3 + 5 + 1 = 10", "3.0e-11", "2.0e-10", "5.0e-14"]


def test_a_graph_whose_runs_all_failed_has_a_row_of_dashes() -> None:
    failed = dataclasses.replace(FP64, median_s=None, state="failed")
    text = tables(recording(failed))
    assert rows(text, ITERATIONS) == [["grid", "7", "21", *["–"] * 6]]
    assert rows(text, TOTALS) == []


def test_pulls_on_heads_are_held_against_fp64_and_the_probe() -> None:
    traces = (
        trace(FP64, [0, 0, 0], [0, 0, 0], [60.0, 50.0, 10.0], [40.0, 40.0, 40.0]),
        # The change of precision, 1 to 2, is neither.
        trace(TWO, [1, 1, 1, 2], [1, 1, 2, 2], [30.0, 20.0, 99.0, 50.0], [20.0, 20.0, 20.0, 40.0]),
        trace(FOUR, [1, 2, 3], [2, 2, 3], [7.0, 40.0, 62.5], [0.0, 0.0, 32.0]),
    )
    text = tables(recording(FP64, TWO, FOUR, traces=traces))
    assert rows(text, PULLS) == [
        ["grid", "split/tile+cpms2", "50.0", "2.00 of 2.00", "–", "–"],
        ["grid", "split/tile+cpms4", "50.0", "–", "1.25", "0.80 of 1.25"],
    ]
    assert "split/tile+cpms2, one segment: geometric mean 2.00, lowest 2.00, of 1 graphs." in text


def test_the_fastest_layout_with_values_is_judged_apart() -> None:
    slow, heads = run("grid", "csr/thread+fp64", 90.0), run("grid", "csr/thread+cpms2", 30.0, AXES + "fp64")
    traces = (
        trace(FP64, [0], [0], [50.0], [40.0]),
        trace(TWO, [1], [1], [40.0], [20.0]),
        trace(slow, [0], [0], [80.0], [40.0]),
        trace(heads, [1], [1], [20.0], [20.0]),
    )
    text = tables(recording(FP64, TWO, slow, heads, traces=traces))
    assert "one of them read: geometric mean 1.25, lowest 1.25, of 1 graphs." in text


def test_gain_bound_and_share_of_the_saving() -> None:
    text = tables(recording(FP64, TWO, FOUR))
    # 4 / 3.2 of 2 / 1.6: all of the saving; 4 / 5 of 2 / 1: less than nothing.
    assert rows(text, TOTALS) == [
        ["grid", "split/tile+cpms2", "segments", "4.000", "3.200", "1.250", "1.250", "1.00"],
        ["grid", "split/tile+cpms4", "fp64", "4.000", "5.000", "0.800", "2.000", "-0.20"],
    ]
    assert "split/tile+cpms2, segments: share of the saving: geometric mean 1.00, lowest 1.00, of 1 graphs." in text
    assert "split/tile+cpms4, fp64: share of the saving: median -0.20, lowest -0.20, of 1 graphs." in text


def test_shares_of_several_graphs_have_a_geometric_mean() -> None:
    other = dataclasses.replace(FP64, case="h|split/tile+fp64|warm|", matrix_id="h")
    # 4 / 3.76…: a quarter of the saving.
    quarter = dataclasses.replace(TWO, case=TWO.case.replace("grid", "h"), matrix_id="h", median_s=4e-3 / 1.0625)
    text = tables(recording(FP64, TWO, other, quarter, names=("grid", "h")))
    assert [row[-1] for row in rows(text, TOTALS)] == ["1.00", "0.25"]
    assert "geometric mean 0.50, lowest 0.25, of 2 graphs." in text


def test_without_a_saving_there_is_no_share_and_without_fp64_no_row() -> None:
    same = dataclasses.replace(TWO, floor_s=2e-3)
    assert rows(tables(recording(FP64, same)), TOTALS)[0][-2:] == ["1.000", "–"]
    assert rows(tables(recording(TWO)), TOTALS) == []


def test_free_segments_are_held_against_free_numbers() -> None:
    free = run("grid", "split/tile+free", 2.0)
    heads = run("grid", "split/tile+free-cpms2", 1.6, AXES + "fp64", floor_s=1e-3)
    (row,) = rows(tables(recording(FP64, free, heads)), TOTALS)
    assert row[3:] == ["2.000", "1.600", "1.250", "2.000", "0.25"]


def test_of_two_ends_the_faster_one_counts() -> None:
    slower = dataclasses.replace(TWO, case=TWO.case.replace("segments", "fp64"), median_s=3.6e-3)
    traces = (trace(slower, [1], [1], [40.0]), trace(TWO, [1], [1], [25.0]))
    (row,) = rows(tables(recording(FP64, slower, TWO, traces=traces)), PULLS)
    assert row[3] == "2.00"


def test_cugraph_is_scaled_to_the_copy_of_the_device() -> None:
    name, earlier = "del20, ones", earlier_runs()
    iteration_s, run_s, copy = earlier.runs[name].iteration_s, earlier.runs[name].run_s, earlier.copy / 2
    assert (iteration_s, run_s) == (135.8e-6, 2.852e-3)
    free = run(name, "csr/thread+free", 1e3 * run_s, iterations=round(run_s / iteration_s))
    slower = run(name, "split/tile+fp64", 2e3 * run_s)
    heads = run(name, "split/tile+cpms2", 0.8e3 * run_s, AXES + "segments")
    text = tables(recording(free, slower, heads, names=(name,), copy=copy))
    (row,) = rows(text, FASTEST.format(copy / 1e12))
    # As long as theirs on a device with twice the copy: half of what theirs takes here.
    assert row == [
        *(name, "csr/thread+free", f"{run_s / 21 * 1e6:.1f}", f"{run_s * 1e3:.3f}"),
        *(f"{2e6 * iteration_s:.1f}", f"{2 * iteration_s / (run_s / 21):.2f}", "2.00", "1.250 (split/tile+cpms2)"),
    ]
    assert f"An iteration of cuGraph over ours: geometric mean {2 * iteration_s / (run_s / 21):.2f}, lowest" in text
    assert "cuGraph 26.10 was measured on 2026-11-23 on NVIDIA H200 (driver 580.159.04, CUDA 13.0, " in text
    assert "whose copy reached 4.29 TB/s." in text


def test_a_graph_that_cugraph_has_not_run_has_no_ratio() -> None:
    text = tables(recording(FP64))
    assert rows(text, FASTEST.format(4.29)) == [["grid", "split/tile+fp64", "400.0", "4.000", "–", "–", "–", "–"]]
    assert "An iteration of cuGraph" not in text
    assert "was measured on" not in text


def test_cugraph_of_the_recording_comes_before_that_of_an_earlier_one() -> None:
    name = "del20, ones"
    ours = run(name, "split/tile+fp64", 4.0)
    found = {"environment": {"cuGraph": "26.10.00"}}
    told = run(name, "cugraph", 12.0, "tolerance=epsilon", iterations=12, residual=3e-10, state="unconverged", **found)
    right = run(name, "cugraph", 20.0, "tolerance=verified", iterations=16, **found)
    other = run("grid", "split/tile+fp64", 4.0)
    text = tables(recording(ours, told, right, other, names=(name, "grid"), copy=1e12))
    assert rows(text, SAME_ROUNDS) == [
        [name, "split/tile+fp64", "400.0", "4.000", "1250.0", "3.12", "5.00", "–"],
        ["grid", "split/tile+fp64", "400.0", "4.000", "–", "–", "–", "–"],
    ]
    assert "An iteration of cuGraph over ours: geometric mean 3.12, lowest 3.12, of 1 graphs." in text
    assert "Told ε, a run of cuGraph over ours: geometric mean 3.00, lowest 3.00, of 1 graphs; " in text
    assert "its verified residual is under ε on 0 of 1." in text
    assert "was measured on" not in text


def test_cugraph_without_the_right_ranks_is_not_compared() -> None:
    right = run("grid", "cugraph", 20.0, "tolerance=verified", residual=3e-10)
    assert rows(tables(recording(FP64, right)), FASTEST.format(4.29))[0][4:7] == ["–", "–", "–"]


def test_other_schedules_are_held_against_that_of_the_paper() -> None:
    second = run("grid", "split/tile+cpms4", 2.5, "first=2,near=16,stall=0.98,at_end=fp64")
    second = second.with_(iterations=8, iterations_by_segments=(0, 4, 3, 1))
    (row,) = rows(tables(recording(FP64, FOUR, second)), "Other schedules")
    assert row == ["grid", "split/tile+cpms4", "2", "16", "1 + 3 + 5 + 1 = 10", "0 + 4 + 3 + 1 = 8", "2.000"]


def test_each_graph_of_cugraph_is_a_subject() -> None:
    assert set(earlier_runs().runs) <= {subject.name for subject in GRAPH_SUBJECTS}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """The command with two tiny graphs on a CPU with a small cache, writing its recording under tmp_path."""
    fast = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "2026-11-21T00:00:00+00:00")

    def small(device: DeviceInfo) -> AbstractContextManager[Bench]:
        return open_bench(dataclasses.replace(device, cache_bytes=2**20), fast)

    monkeypatch.setattr(command, "open_bench", small)
    monkeypatch.setattr(command, "RECORDED", tmp_path / "recorded")
    fixed = ("--study", "pagerank", "--folder", str(tmp_path), "--device", "cpu", "--rounds", "9")
    return lambda *arguments: command.main((*fixed, *arguments), (GRID, WEB))


def test_from_graphs_to_tables_and_a_recording(
    bench: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert bench("--record", "this-cpu") == 0
    out, err = capsys.readouterr()
    assert "measuring grid\n" in err
    assert "measuring pages\n" in err
    assert out == (tmp_path / "pagerank.md").read_text(encoding="utf-8")
    assert [row[:2] for row in rows(out, ITERATIONS)] == [["grid", "30"], ["pages", "60"]]
    found = recordings.parse(json.loads((tmp_path / "pagerank.json").read_text(encoding="utf-8")))
    # Nine kernels, one second segment to begin with, two other thresholds for two kernels; five kernels less.
    assert [sum(m.matrix_id == name for m in found.measurements) for name in ("grid", "pages")] == [14, 9]
    assert {m.state for m in found.measurements} == {"ok"}
    assert [t.case for t in found.traces] == [m.case for m in found.measurements]
    recorded = recordings.read(tmp_path / "recorded" / "this-cpu" / "pagerank.json.gz")
    assert (recorded.measurements, recorded.traces) == (found.measurements, found.traces)
    monkeypatch.setattr(command, "open_bench", None)
    assert bench("--measured") == 0
    assert capsys.readouterr().out == out


def test_a_failed_run_is_said_and_changes_the_exit_code(
    bench: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fails(PagerankStudy):
        def run(self, *arguments: Any) -> Any:
            for record in super().run(*arguments):
                if isinstance(record, Measurement) and record.kernel == "csr/thread+free":
                    record = dataclasses.replace(record, state="failed", median_s=None, note="Wrong ranks")
                yield record

    monkeypatch.setattr(pagerank, "PagerankStudy", Fails)
    assert bench("--only", "grid") == 1
    assert "grid|csr/thread+free|warm| failed: Wrong ranks\n" in capsys.readouterr().err
