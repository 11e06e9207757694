"""The benchmark of scaling: its matrices, its passes, its tables from made-up records, and the command on a CPU."""

import dataclasses
import json
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from gpu_engine.findings.scaling.sentences import PAPER_GAINS, VIRTUAL_CAVEAT
from gpu_engine.generators import generate, generator
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench import scaling
from gpu_engine.gpu_bench.markdown import BenchmarkData, report
from gpu_engine.gpu_bench.matrix_cache import NNZ_MAX
from gpu_engine.gpu_bench.scaling import chosen_settings, passes
from gpu_engine.gpu_bench.scaling_tables import TABLES
from gpu_engine.gpu_bench.shared_subjects import SHARED_NNZ, SHARED_SUBJECTS, shared_subjects
from gpu_engine.gpu_bench.subjects import Subject
from gpu_engine.matrices.features import features
from gpu_engine.measure import Bench, open_bench
from gpu_engine.multigpu.workload import WorkloadName
from gpu_engine.parameters import parse_params
from gpu_engine.recordings import files as recordings
from gpu_engine.recordings.files import Recording
from gpu_engine.records import BandwidthPoint, Case, DeviceInfo, DeviceProfile, Measurement
from gpu_engine.studies.scaling import ScalingParams, settings
from gpu_engine.studies.scaling.experiment import ScalingDetails
from tests.gpu_engine.gpu_bench.test_formats_tables import rows

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
PROFILE = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "2026-11-21T00:00:00+00:00")
"""So fast that no real time can be under a floor."""

COLD, MERGE = ("partition", "distribute", "compute", "merge"), "Cold products: merge, share of the time (Figure 19)"


def measurement(kernel: str, devices: int, work: str, ms: float, *phases_ms: float, **fields: Any) -> Measurement:
    """A record of the matrix m; phases are those of its work."""
    partitioning = kernel.partition("/")[0]
    names = COLD if work == "cold" else ("compute", "exchange")
    iterated = ",exchange=image,overlap=on"
    axes = {"cold": ",merge=host", "iterate": iterated, "pagerank": iterated, "resident": ",cut=entries"}[work]
    return Measurement.of(
        Case.parse(f"m|{kernel}|warm|devices={devices},work={work}{axes}"),
        "cuda:0",
        ScalingDetails,
        median_s=ms * 1e-3,
        phases_s=dict(zip(names, (t * 1e-3 for t in phases_ms), strict=False)),
        partitioning=partitioning,
        devices=devices,
        **fields,
    )


def tables(*measurements: Measurement) -> str:
    recording = Recording("scaling", "2026-11-21T00:00:00+00:00", GPU, None, (), measurements)
    return report(BenchmarkData(SHARED_SUBJECTS, recording), TABLES)


def library(m: Measurement) -> Measurement:
    return dataclasses.replace(m, case=f"{m.case},product=cusparse", axes={**m.axes, "product": "cusparse"})


SPEEDUP = "Cold products: speed-up"


def test_speed_ups_are_over_the_baseline_alone_or_the_same_kernel_where_the_matrix_stays() -> None:
    text = tables(
        measurement("pCSR/baseline", 1, "cold", 12.0, 1.0, 7.0, 3.0, 1.0),
        measurement("pCSR/baseline", 4, "cold", 8.0, 1.0, 3.0, 2.0, 2.0),
        measurement("pCSR/p*", 4, "cold", 2.0, 0.5, 0.5, 0.5, 0.5),
        measurement("pCSR/p*", 1, "cold", 7.0, 0.5, 0.5, 0.5, 0.5),
        measurement("pCSR/p*", 2, "cold", 4.0, 0.5, 0.5, 0.5, 0.5),
        measurement("pCSC/p*", 2, "cold", 4.0, 0.5, 0.5, 0.5, 0.5),
        measurement("pCSR/resident", 1, "resident", 0.5),
        measurement("pCSR/resident", 2, "resident", 0.2),
        measurement("pCSR/pagerank+cpms2", 1, "pagerank", 0.6, 0.5, 0.1),
        measurement("pCSR/pagerank+cpms2", 8, "pagerank", 0.1, 0.05, 0.05),
        library(measurement("pCSR/resident", 1, "resident", 0.7)),
        library(measurement("pCSR/resident", 4, "resident", 0.2)),
    )
    assert rows(text, SPEEDUP) == [
        ["m", "pCSR", "baseline", "host", "12.000", "1.00", "–", "1.50"],
        ["m", "pCSR", "p*", "host", "7.000", "1.71", "3.00", "6.00"],
    ]
    assert rows(text, "Resident products: speed-up") == [
        ["m", "pCSR", "resident", "entries", "0.500", "2.50", "–"],
        ["m", "pCSR", "resident (cusparse)", "entries", "0.700", "–", "3.50"],
    ]
    assert rows(text, "Iterations of PageRank: speed-up") == [
        ["m", "pCSR", "pagerank+cpms2", "image", "on", "0.600", "6.00"]
    ]
    assert "Iterations:" not in text
    assert VIRTUAL_CAVEAT not in text
    assert text.count(PAPER_GAINS) == 1


def test_what_overrides_a_strategy_is_named() -> None:
    m = measurement("pCSR/p*-opt", 1, "cold", 12.0)
    placed = dataclasses.replace(m, case=f"{m.case},placement=one", axes={**m.axes, "placement": "one"})
    assert [row[2] for row in rows(tables(m, placed), SPEEDUP)] == ["p*-opt", "p*-opt, placement one"]


def test_overheads_are_shares_of_the_time() -> None:
    text = tables(
        measurement("pCOO/p*-opt", 1, "cold", 10.0, 2.0, 4.0, 3.0, 0.5),
        measurement("pCOO/p*-opt", 2, "cold", 8.0, 1.0, 3.0, 2.0, 2.0),
    )
    start = ["m", "pCOO", "p*-opt", "host"]
    title = "Cold products: partition and distribute, share of the time (Figure 16)"
    assert rows(text, title) == [[*start, "60.0%", "50.0%"]]
    assert rows(text, "Cold products: partition alone, share of the time") == [[*start, "20.0%", "12.5%"]]
    assert rows(text, MERGE) == [[*start, "5.0%", "25.0%"]]


def test_equal_lines_are_held_against_equal_nonzeros() -> None:
    text = tables(
        measurement("pCSR/baseline", 1, "cold", 9.0, 1.0, 1.0, 8.0, 1.0, entries_by_device=(800,)),
        measurement("pCSR/baseline", 4, "cold", 9.0, 1.0, 1.0, 5.0, 1.0, entries_by_device=(400, 200, 100, 100)),
        measurement("pCSR/p*", 4, "cold", 6.0, 1.0, 1.0, 2.0, 1.0, entries_by_device=(200, 200, 200, 200)),
        measurement("pCSC/baseline", 4, "cold", 9.0, 1.0, 1.0, 5.0, 1.0, entries_by_device=(200, 200, 200, 200)),
    )
    assert rows(text, "Cold products: imbalance of equal lines (Figure 6)") == [
        ["m", "pCSR", "baseline", "4", "2.00", "0.50", "0.40"]
    ]


def test_the_same_of_resident_products() -> None:
    even, equal_rows = (
        measurement("pCSR/resident", 4, "resident", ms, entries_by_device=entries)
        for ms, entries in ((2.0, (200, 200, 200, 200)), (5.0, (400, 200, 100, 100)))
    )
    lines = equal_rows.case.replace("cut=entries", "cut=lines")
    equal_rows = dataclasses.replace(equal_rows, case=lines, axes={**equal_rows.axes, "cut": "lines"})
    text = tables(even, equal_rows, library(equal_rows))
    # On one device nothing is cut: the speed-up of equal rows is over the same.
    alone = measurement("pCSR/resident", 1, "resident", 8.0)
    found = rows(tables(alone, even, equal_rows), "Resident products: speed-up")
    assert [row[3:] for row in found] == [["entries", "8.000", "4.00"], ["lines", "8.000", "1.60"]]
    assert rows(text, "Resident products: imbalance of equal lines (Figure 6)") == [
        ["m", "pCSR", "resident", "4", "2.00", "0.50", "0.40"]
    ]


def test_iterations_beside_their_phases() -> None:
    text = tables(
        measurement("pCSR/iterate", 1, "iterate", 2.0, 1.9, 0.0, exchanged_bytes=0),
        measurement("pCSR/iterate", 2, "iterate", 1.25, 1.0, 0.5, exchanged_bytes=2_500_000, note="virtual devices: x"),
    )
    start = ["m", "pCSR", "iterate", "image", "on"]
    assert rows(text, "Iterations: speed-up") == [[*start, "2.000", "1.60"]]
    assert rows(text, "Iterations: product and exchange by themselves") == [
        [*start, "1", "2.000", "1.900", "0.000", "0.000"],
        [*start, "2", "1.250", "1.000", "0.500", "2.500"],
    ]
    assert VIRTUAL_CAVEAT in text


def test_only_the_graph_has_ranks_and_only_we_merge_on_every_device() -> None:
    grid, skewed = SHARED_SUBJECTS[0], SHARED_SUBJECTS[2]
    asked = [{s.workload for params in passes(m, 9) for s in settings(params, GPU)} for m in (grid, skewed)]
    assert asked == [{"cold", "resident", "iterate"}, {"cold", "resident", "iterate", "pagerank"}]
    found = {(s.kernel, s.merge) for params in passes(grid, 9) for s in settings(params, GPU) if s.workload == "cold"}
    assert {kernel for kernel, merge in found if merge == "device"} == {"pCSR/p*-opt", "pCSC/p*-opt", "pCOO/p*-opt"}
    assert {kernel for kernel, merge in found if merge == "gather"} == {"pCSC/p*-opt"}
    assert len(found) == 3 * 3 + 4 + 3
    rivals = {(s.kernel, s.cut) for params in passes(grid, 9) for s in settings(params, GPU) if s.product != "ours"}
    assert {kernel for kernel, _ in rivals} == {
        *("pCSR/p*-opt", "pCSC/p*-opt", "pCOO/p*-opt"),
        *("pCSR/resident", "pCSR/iterate"),
    }
    assert {params.rounds for params in passes(skewed, 11)} == {11}
    more = [params for params in passes(grid, 9, several_nodes=True) if params not in set(passes(grid, 9))]
    assert [(params.work, params.placement) for params in more] == [
        (("cold",), ("paper", "none", "one", "interleaved"))
    ]


@pytest.mark.parametrize("nnz", [20_000, 3_000_000, SHARED_NNZ])
def test_matrices_have_about_the_nonzeros_asked_for(nnz: int) -> None:
    for subject in (s for s in shared_subjects(nnz) if s.group not in ("shared paper", "shared links")):
        family = generator(subject.source["family"])
        expected = family.estimate_nnz(parse_params(family.Params, subject.source["params"]))
        wanted = nnz / {"shared": 1, "shared parts": 1, "shared skewed": 8, "shared ratio": 4}[subject.group]
        assert 2**-0.5 <= expected / wanted <= 2**0.5
        assert expected <= NNZ_MAX


def test_rows_of_two_lengths_are_cut_both_ways_and_no_other() -> None:
    sweep = [subject for subject in SHARED_SUBJECTS if subject.group == "shared ratio"]
    assert [subject.source["params"]["ratio"] for subject in sweep] == [1, 2, 3, 5, 10]
    gpus = dataclasses.replace(GPU, id="cuda:all", uuid="GPU-1,GPU-2")
    found = [(s.kernel, s.devices, s.cut) for params in passes(sweep[0], 9) for s in settings(params, gpus)]
    assert found == [
        (kernel, devices, cut)
        for kernel in ("pCSR/p*-opt", "pCSR/resident")
        for devices, cut in ((1, "entries"), (2, "entries"), (2, "lines"))
    ]


def test_a_matrix_is_sorted_once_for_all_that_is_measured_of_it() -> None:
    skewed = next(subject for subject in SHARED_SUBJECTS if subject.group == "shared skewed")
    found = tuple(passes(skewed, 9))
    chosen = chosen_settings(found, GPU)
    assert set(chosen) == {setting for params in found for setting in settings(params, GPU)}
    for key in (lambda s: s.partitioning, lambda s: (s.partitioning, s.workload)):
        runs = [of for of, _ in groupby(chosen, key)]
        assert len(runs) == len(set(runs)) == len({key(s) for s in chosen})


def test_matrices_of_the_paper_are_collected_or_in_their_kind() -> None:
    paper = [subject for subject in shared_subjects(SHARED_NNZ) if subject.group == "shared paper"]
    assert [subject.name for subject in paper] == [
        *("mouse_gene", "wb-edu", "com-LiveJournal", "hollywood-2009", "com-Orkut", "HV15R")
    ]
    millions = [28, 57, 69, 113, 234, 283]
    for subject, expected in zip(paper, millions, strict=True):
        params = (subject.stand_in or {})["params"]
        assert params["n"] * params["mean"] / 1e6 == pytest.approx(expected, rel=0.04)
    assert [params.work for params in passes(paper[0], 9)] == [("cold",), ("cold",)]


@pytest.mark.parametrize(("name", "exponent"), [("mouse_gene", 1.03), ("com-LiveJournal", 2.40)])
def test_stand_ins_have_power_laws_of_rows_and_of_columns(name: str, exponent: float) -> None:
    subject = next(subject for subject in shared_subjects(SHARED_NNZ // 100) if subject.name == name)
    source = subject.stand_in
    assert source is not None
    matrix = generate(source["family"], source["params"] | {"n": max(source["params"]["n"], 6000)})
    found = features(matrix)
    assert found["power_law_exponent"] == pytest.approx(exponent, rel=0.15)
    assert found["power_law_exponent_cols"] == pytest.approx(exponent, rel=0.15)


def test_parts_that_devices_make_never_start_on_the_host() -> None:
    found = [subject for subject in SHARED_SUBJECTS if subject.is_in_parts]
    assert [subject.name for subject in found] == ["space-27, parts", "power-law, parts"]
    assert all(generator(subject.source["family"]).by_rows for subject in found)
    asked = [{s.workload for params in passes(m, 9, True) for s in settings(params, GPU)} for m in found]
    assert asked == [{"resident", "iterate"}] * 2


def test_graphs_of_few_links_have_ranks_alone_and_near_ones_stay_near() -> None:
    near, anywhere = (subject for subject in shared_subjects(SHARED_NNZ // 500) if subject.group == "shared links")
    asked = [{s.workload for params in passes(m, 9, True) for s in settings(params, GPU)} for m in (near, anywhere)]
    assert asked == [{"pagerank"}] * 2
    reach = []
    for subject in (near, anywhere):
        matrix = generate(subject.source["family"], subject.source["params"])
        assert matrix.n_rows == pytest.approx(2**25 / 500, abs=1)
        assert matrix.nnz / matrix.n_rows == pytest.approx(1.5, rel=0.05)
        reach.append(features(matrix)["bandwidth"])
    assert reach[0] < 1000 < 60_000 < reach[1]


def test_equal_rows_of_the_skewed_matrix_have_unequal_nonzeros() -> None:
    skewed = shared_subjects(100_000)[2]
    matrix = generate(skewed.source["family"], skewed.source["params"])
    upper = int(matrix.indptr[matrix.n_rows // 2])
    assert upper > 2 * (matrix.nnz - upper)


def test_from_matrices_to_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def few(subject: Subject, rounds: int, several_nodes: bool) -> Iterator[ScalingParams]:
        work: WorkloadName = "resident" if subject.is_in_parts else "cold"
        yield ScalingParams(
            devices=(1, 2), partitionings=("pCSR",), strategies=("p*",), work=(work,), cut=("entries",), rounds=rounds
        )

    def small(device: DeviceInfo) -> AbstractContextManager[Bench]:
        return open_bench(dataclasses.replace(device, cache_bytes=2**20), PROFILE)

    monkeypatch.setattr(scaling, "passes", few)
    monkeypatch.setattr(command, "open_bench", small)
    fixed = ("--study", "scaling", "--folder", str(tmp_path), "--device", "cpu", "--rounds", "9")
    assert command.main((*fixed, "--nnz", "20000")) == 0
    out, err = capsys.readouterr()
    assert "made space-27: " in err
    assert out == (tmp_path / "scaling.md").read_text(encoding="utf-8")
    in_parts = [s.name for s in SHARED_SUBJECTS if s.is_in_parts]
    whole = [s.names[-1] for s in SHARED_SUBJECTS if not s.is_in_parts]
    assert [row[:4] for row in rows(out, SPEEDUP)] == [[name, "pCSR", "p*", "host"] for name in whole]
    assert [row[0] for row in rows(out, "Resident products: speed-up")] == in_parts
    assert not list((tmp_path / "matrices").glob("*parts*.npy"))
    assert VIRTUAL_CAVEAT in out
    recording = recordings.parse(json.loads((tmp_path / "scaling.json").read_text(encoding="utf-8")))
    assert [m.details.devices for m in recording.measurements] == [1, 2] * len(SHARED_SUBJECTS)
    assert all(
        sum(m.details.entries_by_device) == matrix.nnz
        for m, matrix in zip(recording.measurements[::2], recording.matrices, strict=True)
    )
    assert isinstance(recording.measurements[1].details.entries_by_device, tuple)


def test_a_size_is_for_matrices_that_have_none_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(("--study", "batched", "--nnz", "1000")) == 2
    assert "--nnz is for scaling" in capsys.readouterr().err
