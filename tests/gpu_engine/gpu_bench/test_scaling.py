"""The benchmark of scaling: its matrices, its passes, its tables from made-up records, and the command on a CPU."""

import dataclasses
import json
import math
from collections.abc import Iterator
from contextlib import AbstractContextManager
from itertools import groupby
from pathlib import Path

import pytest

from gpu_engine.findings.scaling.paper import NAMES, SMALLEST_NNZ, TABLE_2
from gpu_engine.findings.scaling.sentences import PAPER_GAINS, VIRTUAL_CAVEAT
from gpu_engine.findings.scaling.weak_scaling import ALIKE
from gpu_engine.generators import find_generator, generate
from gpu_engine.gpu_bench import __main__ as command
from gpu_engine.gpu_bench.benchmark_matrices import Subject
from gpu_engine.gpu_bench.benchmarks import BENCHMARKS
from gpu_engine.gpu_bench.matrix_cache import NNZ_MAX
from gpu_engine.gpu_bench.multigpu_matrices import (
    LAWS,
    MULTIGPU_MATRICES,
    PARTS_FACTOR,
    RATIOS_NNZ,
    SHARED_NNZ,
    SYSTEMS_NNZ,
    multigpu_matrices,
    weak_divisor,
)
from gpu_engine.gpu_bench.scaling import chosen_settings, passes
from gpu_engine.matrices.features import features
from gpu_engine.measure import Bench, open_bench
from gpu_engine.multigpu.workload import WorkloadName
from gpu_engine.parameters import parse_params
from gpu_engine.recordings import files as recordings
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile, Measurement
from gpu_engine.studies.scaling import ScalingParams, settings
from tests.gpu_engine.gpu_bench.sections import cells, sections

GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
TWO_GPUS = dataclasses.replace(GPU, id="cuda:all", uuid="GPU-1,GPU-2")
PROFILE = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "2026-11-21T00:00:00+00:00")
"""So fast that no real time can be under a floor."""


def test_only_the_graph_has_ranks_and_only_we_merge_on_every_device() -> None:
    grid, skewed = MULTIGPU_MATRICES[0], MULTIGPU_MATRICES[2]
    asked = [{s.workload for params in passes(m, 9) for s in settings(params, GPU)} for m in (grid, skewed)]
    assert asked == [{"cold", "resident", "iterate"}, {"cold", "resident", "iterate", "pagerank"}]
    found = {(s.kernel, s.merge) for params in passes(grid, 9) for s in settings(params, GPU) if s.workload == "cold"}
    assert {kernel for kernel, merge in found if merge == "device"} == {"pCSR/p*-opt", "pCSC/p*-opt", "pCOO/p*-opt"}
    assert {kernel for kernel, merge in found if merge == "gather"} == {"pCSC/p*-opt"}
    assert len(found) == 3 * 3 + 4 + 3
    rivals = {
        (s.kernel, s.balance)
        for params in passes(grid, 9)
        for s in settings(params, GPU)
        if s.kernel_library != "sparsight"
    }
    assert {kernel for kernel, _ in rivals} == {
        *("pCSR/p*-opt", "pCSC/p*-opt", "pCOO/p*-opt"),
        *("pCSR/resident", "pCSR/iterate"),
    }
    assert {params.rounds for params in passes(skewed, 11)} == {11}
    more = [params for params in passes(grid, 9, several_nodes=True) if params not in set(passes(grid, 9))]
    assert [(params.workload, params.placement) for params in more] == [
        (("cold",), ("paper", "none", "one", "interleaved"))
    ]


@pytest.mark.parametrize("nnz", [100_000, 3_000_000, SHARED_NNZ])
def test_matrices_have_about_the_nonzeros_asked_for(nnz: int) -> None:
    for subject in (s for s in multigpu_matrices(nnz) if s.group not in ("shared paper", "shared links")):
        generator = find_generator(subject.source["generator"])
        expected = generator.estimate_nnz(parse_params(generator.Params, subject.source["params"]))
        wanted = {
            "shared": nnz,
            "shared skewed": nnz / 8,
            "shared ratio": min(nnz, RATIOS_NNZ),
            "shared systems": min(nnz, SYSTEMS_NNZ),
            "shared parts": min(PARTS_FACTOR * nnz, SHARED_NNZ) / weak_divisor(subject),
        }[subject.group]
        assert 2**-0.5 <= expected / wanted <= 2**0.5
        assert expected <= NNZ_MAX


def test_rows_of_two_lengths_are_cut_both_ways_and_no_other() -> None:
    sweep = [subject for subject in MULTIGPU_MATRICES if subject.group == "shared ratio"]
    assert [subject.source["params"]["ratio"] for subject in sweep] == list(range(1, 11))
    found = [(s.kernel, s.devices, s.balance) for params in passes(sweep[0], 9) for s in settings(params, TWO_GPUS)]
    assert found == [("pCSR/resident", *cut) for cut in ((1, "nonzeros"), (2, "nonzeros"), (2, "rows"))]


def test_weak_scaling_has_a_smaller_matrix_for_each_larger_one() -> None:
    found = [subject for subject in multigpu_matrices(2_000_000) if subject.is_in_parts]
    sizes = {}
    for subject in found:
        generator = find_generator(subject.source["generator"])
        sizes[subject.name] = generator.estimate_nnz(parse_params(generator.Params, subject.source["params"]))
    for kind in ("space-27", "power-law"):
        halves, quarters = sizes[f"{kind}-half, parts"], sizes[f"{kind}-quarter, parts"]
        assert [sizes[f"{kind}, parts"] / each for each in (halves, quarters)] == pytest.approx([2, 4], rel=ALIKE)
    chosen = {subject.name: {s for p in passes(subject, 9) for s in settings(p, TWO_GPUS)} for subject in found}
    assert chosen["space-27-half, parts"] < chosen["space-27, parts"]
    assert {s.devices for s in chosen["power-law-quarter, parts"]} == {1, 2}
    assert {s.workload for s in chosen["power-law-quarter, parts"]} == {"resident", "iterate"}


def test_matrices_of_the_paper_get_its_strategies_and_merges() -> None:
    for subject in multigpu_matrices(SHARED_NNZ):
        if subject.group == "shared paper":
            chosen = [s for params in passes(subject, 9) for s in settings(params, TWO_GPUS)]
            assert {(s.partitioning, s.variant, s.merge) for s in chosen} == {
                *((p, name, "host") for p in ("pCSR", "pCSC", "pCOO") for name in ("baseline", "p*")),
                *((p, "p*-opt", "host") for p in ("pCSR", "pCOO")),
                ("pCSC", "p*-opt", "gather"),
                ("pCSC", "p*-opt", "device"),
            }
            assert {(s.workload, s.devices) for s in chosen} == {("cold", 1), ("cold", 2)}


def test_a_matrix_is_sorted_once_for_all_that_is_measured_of_it() -> None:
    skewed = next(subject for subject in MULTIGPU_MATRICES if subject.group == "shared skewed")
    found = tuple(passes(skewed, 9))
    chosen = chosen_settings(found, GPU)
    assert set(chosen) == {setting for params in found for setting in settings(params, GPU)}
    for key in (lambda s: s.partitioning, lambda s: (s.partitioning, s.workload)):
        runs = [of for of, _ in groupby(chosen, key)]
        assert len(runs) == len(set(runs)) == len({key(s) for s in chosen})


@pytest.mark.parametrize("nnz", [SHARED_NNZ, SMALLEST_NNZ, 4_000_000])
def test_stand_ins_have_a_share_of_the_rows_that_keeps_the_nonzeros(nnz: int) -> None:
    paper = [subject for subject in multigpu_matrices(nnz) if subject.group == "shared paper"]
    assert [subject.name for subject in paper] == [*NAMES]
    for subject, printed in zip(paper, TABLE_2, strict=True):
        params = (subject.stand_in or {})["params"]
        share = printed.n_rows / params["n"]
        assert math.log2(share) == pytest.approx(round(math.log2(share)), abs=0.01)
        # Entries drawn twice count once, so that up to 1.2 times the nonzeros are drawn.
        assert 1 / 1.01 <= params["n"] * params["mean"] / (printed.nnz / share) <= 1.2
        assert printed.nnz / share >= min(nnz, printed.nnz) * 0.99


@pytest.mark.parametrize("name", ["mouse_gene", "com-LiveJournal", "HV15R"])
def test_stand_ins_have_the_power_law_of_table_2_in_their_columns(name: str) -> None:
    subject = next(subject for subject in multigpu_matrices(2_000_000) if subject.name == name)
    source = subject.stand_in
    assert source is not None
    matrix = generate(source["generator"], source["params"] | {"n": max(source["params"]["n"], 20_000)})
    printed = next(each for each in TABLE_2 if each.name == name)
    assert features(matrix)["power_law_exponent_cols"] == pytest.approx(float(printed.exponent.low), rel=0.1)
    drawn = matrix.n_rows * source["params"]["mean"]
    assert matrix.nnz / drawn == pytest.approx(1 / LAWS[name][0], rel=0.1)


def test_parts_that_devices_make_never_start_on_the_host() -> None:
    found = [subject for subject in MULTIGPU_MATRICES if subject.is_in_parts]
    assert [s.name for s in found if weak_divisor(s) == 1] == ["space-27, parts", "power-law, parts"]
    assert all(find_generator(subject.source["generator"]).by_rows for subject in found)
    asked = [{s.workload for params in passes(m, 9, True) for s in settings(params, GPU)} for m in found]
    assert asked == [{"resident", "iterate"}] * 6


def test_graphs_of_few_links_have_ranks_alone_and_near_ones_stay_near() -> None:
    near, anywhere = (subject for subject in multigpu_matrices(SHARED_NNZ // 500) if subject.group == "shared links")
    asked = [{s.workload for params in passes(m, 9, True) for s in settings(params, GPU)} for m in (near, anywhere)]
    assert asked == [{"pagerank"}] * 2
    reach = []
    for subject in (near, anywhere):
        matrix = generate(subject.source["generator"], subject.source["params"])
        assert matrix.n_rows == pytest.approx(2**25 / 500, abs=1)
        assert matrix.nnz / matrix.n_rows == pytest.approx(1.5, rel=0.05)
        reach.append(features(matrix)["bandwidth"])
    assert reach[0] < 1000 < 60_000 < reach[1]


def test_equal_rows_of_the_skewed_matrix_have_unequal_nonzeros() -> None:
    skewed = multigpu_matrices(100_000)[2]
    matrix = generate(skewed.source["generator"], skewed.source["params"])
    upper = int(matrix.indptr[matrix.n_rows // 2])
    assert upper > 2 * (matrix.nnz - upper)


def test_from_matrices_to_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def few(subject: Subject, rounds: int, several_nodes: bool) -> Iterator[ScalingParams]:
        work: WorkloadName = "resident" if subject.is_in_parts else "cold"
        yield ScalingParams(
            devices=(1, 2),
            partitionings=("pCSR",),
            strategies=("p*",),
            workload=(work,),
            balance=("nonzeros",),
            rounds=rounds,
        )

    def small(device: DeviceInfo) -> AbstractContextManager[Bench]:
        return open_bench(dataclasses.replace(device, cache_bytes=2**20), PROFILE)

    monkeypatch.setattr("gpu_engine.gpu_bench.scaling.passes", few)
    monkeypatch.setattr(command, "open_bench", small)
    fixed = ("--study", "scaling", "--folder", str(tmp_path), "--device", "cpu", "--rounds", "9")
    assert command.main((*fixed, "--nnz", "20000")) == 0
    out, err = capsys.readouterr()
    assert "generated space-27: " in err
    assert out == (tmp_path / "scaling.md").read_text(encoding="utf-8")
    in_parts = [s.name for s in MULTIGPU_MATRICES if s.is_in_parts]
    whole = [s.names[-1] for s in MULTIGPU_MATRICES if not s.is_in_parts]
    assert not list((tmp_path / "matrices").glob("*parts*.npy"))
    recording = recordings.parse(json.loads((tmp_path / "scaling.json").read_text(encoding="utf-8")))
    own = sections(BENCHMARKS["scaling"].tables, MULTIGPU_MATRICES, recording)
    cold, resident = own["Speedup, from the host"], own["Speedup, resident"]
    assert cells(cold.table, "matrix") == [(name,) for name in whole for _ in (1, 2)]
    assert cells(resident.table, "matrix") == [(name,) for name in in_parts for _ in (1, 2)]
    assert [PAPER_GAINS in " ".join(section.notes) for section in (cold, resident)] == [True, False]
    assert VIRTUAL_CAVEAT in cold.notes
    assert "Imbalance, from the host (Figure 6)" in own
    assert [m.details.devices for m in recording.measurements] == [1, 2] * len(MULTIGPU_MATRICES)
    assert all(
        sum(m.details.nonzeros_by_device) == matrix.nnz
        for m, matrix in zip(recording.measurements[::2], recording.matrices, strict=True)
    )
    assert isinstance(recording.measurements[1].details.nonzeros_by_device, tuple)


def test_the_passes_run_on_simulated_devices_with_a_control_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def small(device: DeviceInfo) -> AbstractContextManager[Bench]:
        return open_bench(dataclasses.replace(device, cache_bytes=2**20), PROFILE)

    monkeypatch.setattr(command, "open_bench", small)
    # Four numbers of devices would only take longer.
    monkeypatch.setattr("gpu_engine.studies.scaling.CPU_DEVICES", (1, 2))
    subjects = [s for s in multigpu_matrices(5_000) if s.name in ("com-Orkut", "two-level-10", "space-27-half, parts")]
    fixed = ("--study", "scaling", "--folder", str(tmp_path), "--device", "cpu", "--rounds", "9")
    assert command.main(fixed, subjects) == 0
    recording = recordings.parse(json.loads((tmp_path / "scaling.json").read_text(encoding="utf-8")))
    cases: dict[str, list[Measurement]] = {}
    for m in recording.measurements:
        cases.setdefault(m.matrix_id, []).append(m)
    orkut, ratio, half = cases["com-Orkut (stand-in)"], cases["two-level-10"], cases["space-27-half, parts"]
    assert {m.state for m in recording.measurements} == {"ok"}
    assert all(m.aa_gap is not None for m in recording.measurements)
    assert len(orkut) == 2 * (3 * 3 + 1)
    merges = {m.axes["merge"] for m in orkut if m.kernel == "pCSC/p*-opt"}
    assert merges == {"gather", "device"}
    assert [(m.details.devices, m.axes["balance"]) for m in ratio] == [(1, "nonzeros"), (2, "nonzeros"), (2, "rows")]
    lopsided = ratio[2].details.nonzeros_by_device
    assert lopsided[0] / lopsided[1] == pytest.approx(10, rel=0.05)
    assert {(m.axes["workload"], m.details.devices) for m in half} == {
        (work, devices) for work in ("resident", "iterate") for devices in (1, 2)
    }
    tables = sections(BENCHMARKS["scaling"].tables, subjects, recording)
    assert cells(tables["Stand-ins of the paper's matrices (Table 2)"].table, "matrix") == [("com-Orkut (stand-in)",)]


def test_a_size_is_for_matrices_that_have_none_of_their_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(("--study", "batched", "--nnz", "1000")) == 2
    assert "--nnz is only for scaling" in capsys.readouterr().err
