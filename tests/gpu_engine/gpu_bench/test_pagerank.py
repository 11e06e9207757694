"""The benchmark of PageRank: which runs it measures, its tables from made-up records, and the command on a CPU."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench.benchmark_matrices import GRAPH_SUBJECTS, Subject
from gpu_engine.gpu_bench.markdown import Section
from gpu_engine.gpu_bench.pagerank import FEW, SLOWEST, is_even, passes
from gpu_engine.gpu_bench.pagerank_tables import TABLES
from gpu_engine.measure import Bench, open_bench
from gpu_engine.pagerank.details import PageRankDetails
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import MatrixRecord, Recording, generated
from gpu_engine.records import BandwidthPoint, Case, DeviceInfo, DeviceProfile, Measurement, Trace
from gpu_engine.studies.pagerank import PagerankParams, PagerankStudy
from tests.gpu_engine.gpu_bench.sections import cells, sections

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
GRID = Subject("grid", "graph", generated("stencil", {"points": 5, "nx": 6, "ny": 5}))
WEB = Subject("pages", "graph", generated("web", {"n": 60, "mean": 3.0, "max_length": 20}))
AXES = "start_segments=1,raise_at=16,stall_ratio=0.98,final_storage="

SHORT = ("short-cpms2", "short-cpms4")
STORED = ("fp64", "cpms2", "cpms4")
UNFUSED = tuple(f"unfused-{precision}" for precision in STORED)
FREE = ("pattern", "pattern-cpms2", "pattern-cpms4")


def test_what_is_measured_on_a_gpu() -> None:
    usual, stay, second, others = passes(GRID, "cuda", 11)
    assert usual.kernels == (
        *(f"csr/thread+{precision}" for precision in (*STORED, *FREE, *UNFUSED)),
        *(f"ell/thread+{precision}" for precision in (*STORED, *UNFUSED)),
        *(f"sellp/thread+{precision}" for precision in (*STORED, *FREE)),
        *(f"split/tile+{precision}" for precision in (*STORED, *FREE)),
        *(f"{layout}+ir{bits}" for layout in ("sellp/thread", "split/tile") for bits in (32, 64)),
        *(f"csr/vector+{precision}" for precision in STORED),
        *(f"{layout}+{p}" for layout in ("sellp/thread", "split/tile") for p in SHORT),
        *(f"{layout}+pattern-short-cpms2" for layout in ("sellp/thread", "split/tile")),
        "cugraph",
    )
    assert (usual.start_segments, usual.raise_at, usual.final_storage) == ((1,), (16.0,), ("fp64",))
    assert set(stay.kernels) == {
        f"{layout}+{p}" for layout in ("sellp/thread", "split/tile") for p in ("cpms2", "cpms4", *SHORT)
    }
    assert (stay.start_segments, stay.raise_at) == (usual.start_segments, usual.raise_at)
    assert (second.kernels, second.start_segments, second.raise_at) == (("split/tile+cpms4",), (2,), (16.0,))
    assert (others.kernels, others.start_segments) == (("split/tile+cpms2", "split/tile+cpms4"), (1,))
    assert others.raise_at == (1.0, 256.0)
    assert stay.final_storage == second.final_storage == others.final_storage == ("segments",)
    assert [(p.rounds, p.energy_s) for p in (usual, stay, second, others)] == [(11, 0.3), *[(11, 0.0)] * 3]


def papers(name: str) -> PagerankParams:
    """The only pass over a graph of the paper, or its stand-in."""
    (subject,) = (s for s in GRAPH_SUBJECTS if s.name == name)
    assert subject.substitute is not None
    (params,), (stand_ins,) = passes(subject, "cuda", 15), passes(subject.substitute, "cuda", 15)
    assert params == stand_ins
    return params


def test_the_papers_graphs_are_measured_as_the_paper_did() -> None:
    params = papers("adaptive")
    assert (params.triangle, params.final_storage, params.start_segments, params.raise_at) == (
        "lower",
        ("fp64",),
        (1,),
        (16.0,),
    )
    assert (params.rounds, params.energy, params.energy_s) == (15, "all", 0.3)
    assert params.kernels == (
        "split/tile+fp64",
        *(f"{layout}/thread+{precision}" for layout in ("csr", "ell") for precision in (*STORED, *UNFUSED)),
        "csr/vector+fp64",
    )


def test_the_webs_of_the_paper_are_the_uneven_ones() -> None:
    uneven = {s.name for s in GRAPH_SUBJECTS if s.group == "paper graph" and not is_even(s)}
    assert uneven == {"Stanford", "wb-edu", "web-BerkStan", "web-Google"}
    assert set(SLOWEST) <= {s.name for s in GRAPH_SUBJECTS if not is_even(s)}


def test_the_papers_own_kernels_run_on_every_graph() -> None:
    own = {f"{layout}/thread+{precision}" for layout in ("csr", "ell") for precision in UNFUSED}
    for subject in GRAPH_SUBJECTS:
        first, *_ = passes(subject, "cuda", 9)
        assert own <= set(first.kernels), subject.name
        assert "fp64" in first.final_storage
        # The control kernel of a graph is as fast on uneven graphs as on others.
        assert "split/tile+fp64" in first.kernels


@pytest.mark.parametrize(("name", "few"), [("web-Google", {"csr/thread+fp64", "csr/vector+fp64"}), ("wb-edu", set())])
def test_slow_graphs_of_the_paper_have_few_other_kernels(name: str, few: set[str]) -> None:
    params = papers(name)
    assert {k for k in params.kernels if "unfused" not in k} == {"split/tile+fp64"} | few
    assert params.rounds == 9


def test_few_kernels_with_one_thread_a_page_run_where_pages_are_popular() -> None:
    usual, stay, *_ = passes(WEB, "cuda", 15)
    everywhere, stay_everywhere, *_ = passes(GRID, "cuda", 15)
    assert set(everywhere.kernels) - set(usual.kernels) == {
        *(f"csr/thread+{precision}" for precision in ("cpms2", "cpms4", *FREE)),
        *(f"ell/thread+{precision}" for precision in STORED),
        *("csr/vector+cpms2", "csr/vector+cpms4"),
        *(k for k in everywhere.kernels if k.startswith("sellp/thread")),
    }
    assert set(stay.kernels) == {k for k in stay_everywhere.kernels if k.startswith("split/tile")}
    assert (usual.rounds, everywhere.rounds) == (9, 15)
    slowest, *_ = passes(dataclasses.replace(WEB, name=SLOWEST[0]), "cuda", 9)
    assert set(usual.kernels) - set(slowest.kernels) == set(FEW["cuda"])


def test_on_a_cpu_values_become_fp64_and_the_thread_kernel_tries_the_schedules() -> None:
    found = list(passes(GRID, "cpu", 9))
    assert {p.final_storage for p in found} == {("fp64",)}
    assert [p.kernels for p in found[1:]] == [("csr/thread+cpms4",), ("csr/thread+cpms2", "csr/thread+cpms4")]
    assert found[0].kernels == (
        *(f"csr/thread+{precision}" for precision in ("fp64", "cpms2", "cpms4", "pattern")),
        *(f"ell/thread+{precision}" for precision in ("fp64", "cpms2", "cpms4")),
        *(f"csr/thread+{precision}" for precision in SHORT),
    )


def run(matrix: str, kernel: str, ms: float, axes: str = "", **fields: Any) -> Measurement:
    """A run of 10 iterations with a floor of 2 ms."""
    case = Case.parse(f"{matrix}|{kernel}|warm|{axes}")
    fields = {"iterations": 10, "roofline_s": 2e-3, "residual": 1e-11, "distance": 1e-12, "mass_error": 1e-16} | fields
    return Measurement.of(case, GPU.id, PageRankDetails, median_s=ms * 1e-3, **fields)


def trace(m: Measurement, read: Sequence[int], written: Sequence[int], us: Sequence[float], probe: Any = None) -> Trace:
    """With microseconds of the pulls, and of the probe."""
    values = {"read": read, "written": written, "pull_s": us, "gather_s": probe or [0.0] * len(us)}
    scaled = {name: tuple(x * (1e-6 if name.endswith("_s") else 1.0) for x in v) for name, v in values.items()}
    return Trace(m.case, scaled)


def found(
    *measurements: Measurement, traces: Sequence[Trace] = (), names: Sequence[str] = ("grid",)
) -> dict[str, Section]:
    """Of graphs with 7 pages and 21 links; a trace that is not given has one pull in numbers."""
    matrices = tuple(MatrixRecord(name, name, name, 7, 7, 21) for name in names)
    given = {t.case for t in traces}
    rest = tuple(trace(m, [0], [0], [50.0]) for m in measurements if m.case not in given)
    now = "2026-11-21T00:00:00+00:00"
    recording = Recording("pagerank", now, GPU, None, matrices, measurements, (*traces, *rest))
    return sections(TABLES, (GRID, WEB), recording)


FP64 = run("grid", "split/tile+fp64", 4.0)
TWO = run("grid", "split/tile+cpms2", 3.2, AXES + "segments", roofline_s=1.6e-3, iterations_by_segments=(4, 6))
FOUR = run("grid", "split/tile+cpms4", 5.0, AXES + "fp64", roofline_s=1e-3, iterations_by_segments=(1, 3, 5, 1))

FASTEST = "Runs to convergence in fp64"
OVER = ("cugraph with verified ranks, speedup over it", "cugraph with tolerance ε, speedup over it")


def test_every_run_stands_in_the_findings_of_its_graph() -> None:
    second = run("grid", "split/tile+cpms4", 2.5, "start_segments=2,raise_at=16,stall_ratio=0.98,final_storage=fp64")
    second = second.with_(iterations=8, iterations_by_segments=(0, 4, 3, 1))
    own = found(FP64, TWO, FOUR, second)["grid, warm"]
    heads = (
        "kernel",
        "iterations",
        "iterations by segments",
        "speedup same kernel in fp64",
        "upper bound by bytes",
        "residual",
    )
    assert cells(own.table, *heads) == [
        ("split/tile+cpms4, start segments 2", "8", "0/4/3/1", "1.60 ×", "1.00 ×", "10⁻¹¹"),
        ("split/tile+cpms2", "10", "4/6", "1.25 ×", "1.25 ×", "10⁻¹¹"),
        ("split/tile+fp64", "10", "–", "1.00 ×", "1.00 ×", "10⁻¹¹"),
        ("split/tile+cpms4, start segments 1", "10", "1/3/5/1", "0.80 ×", "2.00 ×", "10⁻¹¹"),
    ]
    assert own.notes


def test_a_graph_whose_runs_all_failed_has_nothing_but_its_findings() -> None:
    assert list(found(dataclasses.replace(FP64, median_s=None, state="failed"))) == [
        "Conclusions of the paper (on a V100) and whether they hold here",
        "grid, warm",
    ]


def test_what_segments_gain_stands_in_the_tables() -> None:
    traces = (trace(FP64, [0], [0], [50.0], [40.0]), trace(TWO, [1], [1], [25.0], [20.0]))
    own = found(FP64, TWO, traces=traces)
    (saved,) = own["Runs to convergence: speedup over the same kernel in fp64"].table.rows
    assert saved[0] == "split/tile+cpms2, segments at the end"
    assert len(own["SpMV on the first segment: speedup over the same kernel in fp64"].table.rows) == 2
    assert len(own["SpMV: speedup over the same kernel in fp64, per graph"].table.rows) == 1


def test_cugraph_of_the_same_rounds_stands_beside_the_fastest_run() -> None:
    name = "del20, ones"
    told = run(name, "cugraph", 12.0, "tolerance=epsilon", iterations=12)
    right = run(name, "cugraph", 20.0, "tolerance=verified", iterations=16)
    own = found(run(name, "split/tile+fp64", 4.0), told, right, FP64, names=(name, "grid"))
    assert cells(own[FASTEST].table, "graph", "links", "iterations", "kernel", "time median", *OVER) == [
        (name, "21", "10", "split/tile+fp64", "4.00 ms", "20.0 ms, 5.00 ×", "12.0 ms, 3.00 ×"),
        ("grid", "21", "10", "split/tile+fp64", "4.00 ms", "–", "–"),
    ]
    over = own["Fastest run in fp64: speedup over cuGraph"]
    assert cells(over.table, "over", "graphs", "geometric mean") == [
        ("cugraph with verified ranks", "1", "5.00 ×"),
        ("cugraph with tolerance ε", "1", "3.00 ×"),
    ]


def test_what_other_kinds_of_runs_gain_is_told_beside_it() -> None:
    right = run("grid", "cugraph", 20.0, "tolerance=verified")
    (only,) = found(FP64, TWO, right)["Fastest run in fp64: speedup over cuGraph"].notes
    assert "1.25" in only


def test_cugraph_without_the_right_ranks_is_not_compared() -> None:
    wrong = run("grid", "cugraph", 20.0, "tolerance=verified", residual=3e-10, state="unconverged")
    own = found(FP64, wrong)
    assert "Fastest run in fp64: speedup over cuGraph" not in own
    assert ("cugraph", "residual above ε") in cells(own["grid, warm"].table, "kernel", "ranks")


def test_of_lower_triangles_no_run_is_held_against_cugraph() -> None:
    lower = run("grid", "split/tile+fp64", 4.0, "triangle=lower")
    assert FASTEST not in found(lower)


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
    assert "| grid | 30 | 128 |" in out
    assert "\n## pages, warm\n" in out
    parsed = recordings.parse(json.loads((tmp_path / "pagerank.json").read_text(encoding="utf-8")))
    # Nine kernels, one second segment to begin with, two other thresholds for two kernels; five kernels less.
    assert [sum(m.matrix_id == name for m in parsed.measurements) for name in ("grid", "pages")] == [14, 9]
    assert {m.state for m in parsed.measurements} == {"ok"}
    assert [t.case for t in parsed.traces] == [m.case for m in parsed.measurements]
    recorded = recordings.read(tmp_path / "recorded" / "this-cpu" / "pagerank.json.gz")
    assert (recorded.measurements, recorded.traces) == (parsed.measurements, parsed.traces)
    monkeypatch.setattr(command, "open_bench", None)
    assert bench("--measured") == 0
    assert capsys.readouterr().out == out


def test_a_failed_run_is_said_and_changes_the_exit_code(
    bench: Callable[..., int], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Fails(PagerankStudy):
        def run(self, *arguments: Any) -> Any:
            for record in super().run(*arguments):
                if isinstance(record, Measurement) and record.kernel == "csr/thread+pattern":
                    record = dataclasses.replace(record, state="failed", median_s=None, note="Wrong ranks")
                yield record

    monkeypatch.setattr("gpu_engine.gpu_bench.__main__.study", lambda _: Fails())
    assert bench("--only", "grid") == 1
    assert "grid|csr/thread+pattern|warm| failed: Wrong ranks\n" in capsys.readouterr().err
