"""Study `pagerank`: its cases, what it refuses, and that a run has the schedule of its case."""

import dataclasses
from typing import Any

import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.generators import generate
from gpu_engine.measure import Bench
from gpu_engine.pagerank import PageRankParams, Schedule, transition_matrix
from gpu_engine.parameters import parse_params
from gpu_engine.records import BandwidthPoint, DeviceInfo, DeviceProfile, MatrixInfo, Measurement, Progress, Trace
from gpu_engine.studies.pagerank import PagerankParams, PagerankStudy
from tests.gpu_engine.pagerank.emulated import emulate
from tests.gpu_engine.pagerank.graphs import TRIANGLE

CPU = DeviceInfo("cpu", "cpu", "A CPU", 1, 1)
GPU = DeviceInfo("cuda:0", "cuda", "A GPU", 1, 1)
GRAPH = MatrixInfo("g", "g", 3, 3, 4)
FAST = DeviceProfile("cpu", "test", 2**20, (BandwidthPoint(2**28, 1e13, 1e13),), "")
"""A profile so fast that no real time can be under a floor."""

USUAL = "start_segments=1,raise_at=16,stall_ratio=0.98,final_storage=fp64"


def keys(device: DeviceInfo = CPU, matrices: tuple[MatrixInfo, ...] = (GRAPH,), **params: Any) -> list[str]:
    """The cases of the study with these parameters."""
    parsed = parse_params(PagerankParams, {name: _listed(value) for name, value in params.items()})
    return [case.key for case in PagerankStudy().cases(parsed, matrices, device)]


def _listed(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def schedules(found: list[str]) -> list[str]:
    """(kernel, axes) of keys, as text."""
    return [key.replace("g|", "", 1).replace("|warm|", " ") for key in found]


def test_matrix_by_matrix_and_kernel_by_kernel_in_the_order_of_the_list() -> None:
    other = dataclasses.replace(GRAPH, id="h")
    assert keys(matrices=(other, GRAPH), kernels=("ell/thread+cpms2", "csr/thread+fp64", "csr/thread+pattern")) == [
        *("h|csr/thread+fp64|warm|", "h|csr/thread+pattern|warm|", f"h|ell/thread+cpms2|warm|{USUAL}"),
        *("g|csr/thread+fp64|warm|", "g|csr/thread+pattern|warm|", f"g|ell/thread+cpms2|warm|{USUAL}"),
    ]


def test_all_kernels_of_the_backend_without_a_choice() -> None:
    plain, segments = ("fp64", "fp32"), ("cpms2", "cpms4")
    assert schedules(keys()) == [
        *(f"csr/thread+{p} " for p in plain),
        *(f"csr/thread+{p} {USUAL}" for p in segments),
        "csr/thread+pattern ",
        *(f"ell/thread+{p} " for p in plain),
        *(f"ell/thread+{p} {USUAL}" for p in segments),
        *(f"csr/thread+short-{p} {USUAL}" for p in segments),
    ]
    assert len(keys(GPU)) == 10 + 7 + 7 + 7 + 4 + 3 + 2 + 14


def test_on_a_gpu_cugraph_is_told_epsilon_and_what_brings_its_ranks_under_it() -> None:
    cases = ["cugraph tolerance=epsilon", "cugraph tolerance=verified"]
    assert schedules(keys(GPU))[-2:] == cases
    assert schedules(keys(GPU, kernels=("cugraph",))) == cases
    assert schedules(keys(GPU, kernels=("cugraph", "csr/thread+pattern"), damping=0.5)) == [
        "csr/thread+pattern damping=0.5",
        *(case.replace("cugraph ", "cugraph damping=0.5,") for case in cases),
    ]
    assert [key for key in keys() if "cugraph" in key] == []
    with pytest.raises(ParameterError, match="Unknown PageRank kernel 'cugraph' on cpu"):
        keys(kernels=("cugraph",))
    with pytest.raises(ParameterError, match=r"'nx' on cuda. Known kernels: .*, cugraph"):
        keys(GPU, kernels=("nx",))


def test_every_combination_of_first_and_near_is_a_schedule() -> None:
    found = keys(
        kernels=("csr/thread+fp32", "csr/thread+cpms2", "csr/thread+cpms4"), start_segments=(1, 3), raise_at=(16, 0.5)
    )
    assert schedules(found) == [
        "csr/thread+fp32 ",
        *(
            f"csr/thread+cpms2 start_segments=1,raise_at={near},stall_ratio=0.98,final_storage=fp64"
            for near in ("16", "0.5")
        ),
        *(
            f"csr/thread+cpms4 start_segments={first},raise_at={near},stall_ratio=0.98,final_storage=fp64"
            for first in (1, 3)
            for near in ("16", "0.5")
        ),
    ]


def test_a_value_given_twice_is_one_schedule() -> None:
    found = keys(kernels=("csr/thread+cpms2",), start_segments=(1, 1), raise_at=(16, 16.0))
    assert found == [f"g|csr/thread+cpms2|warm|{USUAL}"]


def test_a_first_past_the_segments_of_a_kernel() -> None:
    assert [text for text in schedules(keys(start_segments=(3,))) if "cpms2" in text] == []
    assert "csr/thread+cpms4 start_segments=3,raise_at=16,stall_ratio=0.98,final_storage=fp64" in schedules(
        keys(start_segments=(3,))
    )
    with pytest.raises(ParameterError, match=r"start_segments is 3, but csr/thread\+cpms2 has 2 segments"):
        keys(kernels=("csr/thread+cpms2", "csr/thread+cpms4"), start_segments=(4, 3))


def test_values_may_stay_in_segments_on_a_gpu_only() -> None:
    ends = ("fp64", "segments")
    found = keys(GPU, kernels=("csr/thread+fp64", "split/tile+cpms2", "split/tile+pattern-cpms2"), final_storage=ends)
    stall = "start_segments=1,raise_at=16,stall_ratio=0.98"
    # Without matrix values nothing can stay.
    assert schedules(found) == [
        "csr/thread+fp64 ",
        *(f"split/tile+cpms2 {stall},final_storage={end}" for end in ends),
        f"split/tile+pattern-cpms2 {stall},final_storage=fp64",
    ]
    with pytest.raises(ParameterError, match=r"final_storage=segments needs a GPU.*choose fp64"):
        keys(final_storage=ends)


@pytest.mark.parametrize("name", ["start_segments", "raise_at", "final_storage"])
def test_a_list_of_schedules_is_not_empty(name: str) -> None:
    empty: dict[str, Any] = {name: ()}
    with pytest.raises(ParameterError, match=name):
        keys(**empty)


def test_unknown_kernels_are_refused_with_those_of_the_backend() -> None:
    with pytest.raises(ParameterError, match=r"Unknown PageRank kernel 'csr/vector' on cpu. Known .*csr/thread\+cpms4"):
        keys(kernels=("csr/vector",))
    with pytest.raises(ParameterError, match=r"'split/tile\+fp64' on cpu"):
        keys(kernels=("split/tile+fp64",))


def test_weights_leave_out_what_keeps_none() -> None:
    used, ignored = keys(weights="use"), keys()
    assert [key.replace("weights=use", "").replace("|,", "|") for key in used] == [
        k for k in ignored if "pattern" not in k
    ]
    with pytest.raises(ParameterError, match=r"csr/thread\+pattern stores no values .* Set weights=ignore"):
        keys(weights="use", kernels=("csr/thread+pattern",))


def test_parameters_of_the_ranks_that_are_not_the_default_are_axes() -> None:
    found = keys(
        kernels=("csr/thread+fp64", "csr/thread+cpms2"), norm="L2", damping=0.5, epsilon=1e-6, rounds=11, top=3
    )
    assert schedules(found) == [
        "csr/thread+fp64 damping=0.5,epsilon=1e-06,norm=L2",
        f"csr/thread+cpms2 damping=0.5,epsilon=1e-06,norm=L2,{USUAL}",
    ]


def test_a_longer_list_takes_longer() -> None:
    def estimate(**params: Any) -> float:
        return PagerankStudy().estimate_s(PagerankParams(**params), [MatrixInfo("m", "m", 10**6, 10**6, 10**7)], CPU)

    two = estimate(kernels=("csr/thread+fp64", "csr/thread+cpms2"))
    assert estimate(kernels=("csr/thread+fp64", "csr/thread+cpms2"), raise_at=(1.0, 16.0)) > two
    assert estimate(kernels=("csr/thread+fp64", "csr/thread+cpms2"), iterations_max=3) < two


def web() -> CsrMatrix:
    return generate("web", {"n": 400, "mean": 3.0, "max_length": 50, "seed": 3})


def test_a_run_measures_what_it_owes_each_with_its_schedule(bench: Bench) -> None:
    params = PagerankParams(
        kernels=("csr/thread+fp64", "csr/thread+cpms4"), start_segments=(1, 2), raise_at=(1.0, 256.0)
    )
    infos = [MatrixInfo("w", "w", 400, 400, 1), MatrixInfo("t", "t", 3, 3, 4)]
    cases = tuple(PagerankStudy().cases(params, infos, bench.device))
    owed = [case for case in cases if case.matrix_id == "t" or "start_segments=2" in case.key]
    matrices = {"w": web(), "t": TRIANGLE}
    records = list(PagerankStudy().run(params, owed, matrices, bench))
    found = [r for r in records if isinstance(r, Measurement)]
    assert [m.case for m in found] == [case.key for case in owed]
    assert len(owed) == 2 + 5
    assert {m.state for m in found} == {"ok"}
    graph = transition_matrix(web(), params)
    written = {r.case: r.arrays["written"] for r in records if isinstance(r, Trace)}
    for near in ("1", "256"):
        schedule = parse_params(Schedule, {"segments": 4, "start_segments": 2, "raise_at": float(near)})
        key = f"w|csr/thread+cpms4|warm|start_segments=2,raise_at={near},stall_ratio=0.98,final_storage=fp64"
        assert written[key] == emulate(graph, PageRankParams(), schedule).written
    assert len(set(written.values())) > 2


def test_progress_counts_cases_over_all_matrices(bench: Bench) -> None:
    params = PagerankParams(kernels=("csr/thread+fp64", "csr/thread+pattern"))
    infos = [MatrixInfo(name, name, 3, 3, 4) for name in "ab"]
    cases = tuple(PagerankStudy().cases(params, infos, bench.device))
    records = list(PagerankStudy().run(params, cases, {"a": TRIANGLE, "b": TRIANGLE}, bench))
    done = [r.done for r in records if isinstance(r, Progress)]
    assert done == sorted(done)
    ended = [at for at, r in enumerate(records) if isinstance(r, Measurement)]
    assert max(r.done for r in records[: ended[1]] if isinstance(r, Progress)) < 2.0
    assert min(r.done for r in records[ended[1] :] if isinstance(r, Progress)) == 2.0
    assert 3.0 < done[-1] < 4.0


def test_the_top_and_the_question_are_those_of_the_parameters(bench: Bench) -> None:
    params = PagerankParams(kernels=("csr/thread+fp64",), damping=0.5, top=2)
    (case,) = PagerankStudy().cases(params, [GRAPH], bench.device)
    (m,) = (r for r in PagerankStudy().run(params, [case], {"g": TRIANGLE}, bench) if isinstance(r, Measurement))
    assert m.case == "g|csr/thread+fp64|warm|damping=0.5"
    assert m.details.top_pages == (2, 0)
    assert m.details.top_ranks == pytest.approx((15 / 39, 14 / 39), abs=1e-9)
