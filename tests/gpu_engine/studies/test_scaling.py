"""Study `scaling`: its cases, what it refuses, and that a run measures the settings of its cases."""

from typing import Any

import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.measure import Bench
from gpu_engine.multigpu.pagerank_workload import RANKS
from gpu_engine.parameters import parse_params
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile, MatrixInfo, Measurement, Progress
from gpu_engine.studies import scaling
from gpu_engine.studies.scaling import ScalingParams, ScalingStudy
from tests.battery import dense

CPU = DeviceInfo("cpu", "cpu", "A CPU", 1, 1)
GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
A = MatrixInfo("a", "a", 3, 3, 4)
FAST = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "")
"""A profile so fast that no real time can be under a floor."""


OURS = ("p*-pipelined", "p*-packed", "p*-packed-pipelined", "p*-prepacked")


def keys(*matrices: MatrixInfo, device: DeviceInfo = CPU, **params: Any) -> list[str]:
    """The cases of the study with these parameters."""
    parsed = parse_params(ScalingParams, params)
    return [case.key for case in ScalingStudy().cases(parsed, matrices or (A,), device)]


def test_by_partitioning_work_and_number_of_devices() -> None:
    found = keys(devices=[2, 1], partitionings=["pCOO", "pCSC"], strategies=["p*-opt", "baseline"])
    assert found == [
        *(
            f"a|pCOO/{strategy}|warm|devices={count},workload=cold,merge=host"
            for count in (2, 1)
            for strategy in ("p*-opt", "baseline")
        ),
        *(
            f"a|pCOO/resident|warm|devices={count},workload=resident,balance={cut}"
            for count, cut in ((2, "nonzeros"), (2, "rows"), (1, "nonzeros"))
        ),
        *(
            f"a|pCOO/iterate|warm|devices={count},workload=iterate,exchange=halo,overlap={overlap}"
            for count in (2, 1)
            for overlap in ("on", "off")
        ),
        # The paper gathers columns on a device, but not in its baseline.
        *(
            f"a|pCSC/{strategy}|warm|devices={count},workload=cold,merge={merge}"
            for count in (2, 1)
            for strategy, merge in (("p*-opt", "gather"), ("baseline", "host"))
        ),
    ]


def test_chunks_are_of_csr_and_merged_on_the_host_by_our_kernels() -> None:
    found = keys(
        devices=[1],
        workload=["cold"],
        strategies=["p*-packed"],
        merge=["paper", "device"],
        kernel_library=["sparsight"],
    )
    assert found == ["a|pCSR/p*-packed|warm|devices=1,workload=cold,merge=host"]
    both = keys(
        devices=[1],
        workload=["cold"],
        strategies=["p*-prepacked"],
        kernel_library=["sparsight", "cusparse"],
        device=GPU,
    )
    assert both == ["a|pCSR/p*-prepacked|warm|devices=1,workload=cold,merge=host"]


def test_what_is_measured_without_a_choice() -> None:
    found = keys()
    assert len(found) == len(set(found)) == 3 * (3 * 3 + len(OURS)) + 2 * 5 + 2 * 3 * 2
    assert {key.split("|")[1] for key in found} == {
        *(f"{p}/{s}" for p in ("pCSR", "pCSC", "pCOO") for s in ("baseline", "p*", "p*-opt")),
        *(f"pCSR/{s}" for s in OURS),
        *(f"{p}/{work}" for p in ("pCSR", "pCOO") for work in ("resident", "iterate")),
    }
    assert {key.rpartition("|")[2].split(",")[0] for key in found} == {"devices=1", "devices=2", "devices=4"}
    assert keys(MatrixInfo("b", "b", 5, 5, 9), A) == [key.replace("a|", "b|", 1) for key in found] + found


@pytest.mark.parametrize(("gpus", "counts"), [(0, (1,)), (1, (1,)), (2, (1, 2)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8))])
def test_powers_of_two_up_to_all_gpus(gpus: int, counts: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "device_count", lambda device: gpus)
    found = keys(device=GPU, partitionings=["pCSR"], workload=["resident"], balance=["nonzeros"])
    assert found == [f"a|pCSR/resident|warm|devices={count},workload=resident,balance=nonzeros" for count in counts]


def test_merges_exchanges_and_precisions() -> None:
    merged = keys(devices=[2], partitionings=["pCSR"], workload=["cold"], strategies=["p*"], merge=["paper", "device"])
    assert merged == [f"a|pCSR/p*|warm|devices=2,workload=cold,merge={merge}" for merge in ("host", "device")]
    same = keys(devices=[2, 2], partitionings=["pCSR"], workload=["cold"], strategies=["p*"], merge=["host", "paper"])
    assert same == merged[:1]
    cut = keys(
        devices=[1, 2], partitionings=["pCSR"], workload=["cold"], cold_balance=["paper", "rows"], merge=["host"]
    )
    assert [key for key in cut if "balance" in key] == [
        f"a|pCSR/{strategy}|warm|devices=2,workload=cold,merge=host,balance=rows"
        for strategy in ("p*", "p*-opt", *OURS)
    ]
    assert len(cut) == len(set(cut)) == 2 * 3 + 2 + 3 * len(OURS)
    placed = keys(
        devices=[1, 2],
        partitionings=["pCSR"],
        workload=["cold"],
        strategies=["baseline", "p*-opt"],
        placement=["paper", "one", "beside"],
        affinity=["on", "off"],
    )
    start = "a|pCSR/{}|warm|devices={},workload=cold,merge=host{}"
    assert placed == [
        *(start.format(name, 1, "") for name in ("baseline", "p*-opt")),
        # One thread of the host has all devices, and p*-opt is beside them anyway.
        *(start.format("baseline", 2, more) for more in ("", ",placement=one", ",placement=beside")),
        *(
            start.format("p*-opt", 2, placement + affinity)
            for placement in ("", ",placement=one")
            for affinity in ("", ",affinity=off")
        ),
    ]
    ranked = keys(devices=[2], workload=["pagerank"], exchange=["all-gather", "halo"], overlap=["off"])
    assert ranked == [
        f"a|pCSR/{stored}|warm|devices=2,workload=pagerank,exchange={exchange},overlap=off"
        for stored in RANKS
        for exchange in ("all-gather", "halo")
    ]
    iterated = keys(devices=[2], partitionings=["pCSR"], workload=["iterate"], exchange=["all-gather"], overlap=["off"])
    assert iterated == ["a|pCSR/iterate|warm|devices=2,workload=iterate,exchange=all-gather,overlap=off"]
    both = ["sparsight", "cusparse"]
    rival = keys(
        devices=[2], partitionings=["pCSR"], strategies=["p*"], balance=["rows"], overlap=["on"], kernel_library=both
    )
    assert [key.partition("devices=2,")[2] for key in rival] == [
        case + product
        for case in (
            "workload=cold,merge=host",
            "workload=resident,balance=rows",
            "workload=iterate,exchange=halo,overlap=on",
        )
        for product in ("", ",kernel_library=cusparse")
    ]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"partitionings": ["pELL"]}, "no partitioning 'pELL'; known partitionings: pCSR, pCSC, pCOO, pCOO-columns"),
        ({"strategies": ["p"]}, r"no strategy 'p'; known strategies: baseline, p\*, p\*-opt"),
        ({"partitionings": ["pCSC"], "workload": ["iterate"]}, "iterate cannot run with .*Add pCSR"),
        ({"partitionings": ["pCOO"], "workload": ["pagerank"]}, "pagerank cannot run with .*Add pCSR"),
        ({"devices": [0]}, "devices"),
        ({"devices": [65]}, "devices"),
        ({"workload": []}, "workload"),
        ({"merge": []}, "merge"),
        ({"workload": ["warm"]}, "cold, resident, iterate, pagerank"),
    ],
)
def test_what_cannot_be_measured_is_refused(params: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        keys(**params)


def test_more_nonzeros_and_more_cases_take_longer() -> None:
    def estimate(nnz: int, **params: Any) -> float:
        return ScalingStudy().estimate_s(ScalingParams(**params), [MatrixInfo("m", "m", 1000, 1000, nnz)], CPU)

    assert estimate(10_000_000, sampling="fixed") > 2 * estimate(1_000_000, sampling="fixed")
    # Unasked no more rounds are made than there is time for.
    assert estimate(1_000_000) < 60
    assert estimate(10_000_000) < estimate(10_000_000, sampling="fixed") / 2
    assert (
        estimate(1_000_000)
        > estimate(1_000_000, workload=("cold",))
        > estimate(1_000_000, devices=(1,), workload=("cold",))
    )


MATRICES = {"wide": dense([[1, 0, 2, 0], [0, 0, 0, 5]]), "grid": generate("stencil", {"points": 5, "nx": 9, "ny": 8})}


def infos(matrices: dict[str, CsrMatrix]) -> list[MatrixInfo]:
    return [MatrixInfo(name, name, m.n_rows, m.n_cols, m.nnz) for name, m in matrices.items()]


def test_a_run_measures_what_it_owes(bench: Bench) -> None:
    params = ScalingParams(devices=(1, 3), partitionings=("pCSR",), strategies=("p*",), merge=("device",))
    cases = tuple(ScalingStudy().cases(params, infos(MATRICES), bench.device))
    owed = [case for case in cases if ("devices", "3") in case.axes]
    records = list(ScalingStudy().run(params, owed, MATRICES, bench))
    found = {m.case: m for m in records if isinstance(m, Measurement)}
    assert list(found) == [case.key for case in owed]
    assert len(owed) == 2 * 5
    for case in owed:
        m, work = found[case.key], dict(case.axes)["workload"]
        possible = case.matrix_id == "grid" or work == "cold"
        assert (m.state, m.details.devices) == ("ok" if possible else "skipped", 3), m.note
        assert (m.median_s is not None) == possible
    exchanged = [
        m.details.exchanged_bytes for m in found.values() if m.kernel == "pCSR/iterate" and m.matrix_id == "grid"
    ]
    # Overlapping changes nothing of what crosses.
    assert exchanged[0] is not None
    assert exchanged == [exchanged[0]] * 2
    done = [r.done for r in records if isinstance(r, Progress)]
    assert done == sorted(done)
    assert 9.0 < done[-1] < 10.0


def test_a_process_that_sees_fewer_gpus_than_the_cases_need_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cases were listed where there are four devices."""
    params = ScalingParams(partitionings=("pCSR",), workload=("resident",))
    cases = tuple(ScalingStudy().cases(params, infos(MATRICES)[1:], CPU))
    monkeypatch.setattr("gpu_engine.multigpu.device_group.VIRTUAL_MAX", 1)
    monkeypatch.setattr(scaling, "CPU_DEVICES", (1,))
    found = [r for r in ScalingStudy().run(params, cases, MATRICES, bench) if isinstance(r, Measurement)]
    states = [(m.details.devices, m.state) for m in found]
    assert states == [(1, "ok"), (2, "skipped"), (2, "skipped"), (4, "skipped"), (4, "skipped")]
    assert "Cannot use 2 devices: 1 " in found[1].note
