"""Study `seeded`: its cases, what it refuses, and runs on this CPU, verified column by column."""

from typing import Any

import numpy as np
import pytest

from gpu_engine.csr_matrix import CsrMatrix
from gpu_engine.errors import ParameterError
from gpu_engine.findings.seeded.names import COLD, EXTRAPOLATED, OF_SEEDS, ONE_BY_ONE, TOGETHER, WARM
from gpu_engine.generators import generate
from gpu_engine.host.device import find_device
from gpu_engine.measure import Bench
from gpu_engine.pagerank import PageRankParams, reference, transition_matrix
from gpu_engine.pagerank.seeded import seeded_ranks
from gpu_engine.pagerank.seeds import RANDOM_PAGES, Seeds, parse_seeds, random_sets
from gpu_engine.parameters import parse_params
from gpu_engine.records import MatrixInfo, Measurement
from gpu_engine.studies.seeded import SeededParams, SeededStudy
from gpu_engine.studies.seeded.changes import change_links

QUICK: dict[str, Any] = {"sampling": "adaptive", "time_limit_s": 1e-3, "rounds": 9}
WEB = generate("web", {"n": 1200, "mean": 5.0, "seed": 3})


def keys(**params: Any) -> list[str]:
    info = MatrixInfo("w", "w", 1200, 1200, 6000)
    return [case.key for case in SeededStudy().cases(parse_params(SeededParams, params), [info], find_device("cpu"))]


def run(bench: Bench, host: CsrMatrix, **params: Any) -> dict[str, Measurement]:
    study, info = SeededStudy(), MatrixInfo("m", "m", *host.shape, host.nnz)
    chosen = parse_params(SeededParams, QUICK | params)
    cases = tuple(study.cases(chosen, [info], bench.device))
    runs = {m.case: m for m in study.run(chosen, cases, {"m": host}, bench) if isinstance(m, Measurement)}
    assert list(runs) == [case.key for case in cases]
    return runs


def test_defaults_are_one_set_and_several_and_the_starts() -> None:
    numbers = [f"w|{kernel}|warm|seeds={k}" for k in (1, 16) for kernel in OF_SEEDS]
    assert keys() == [
        *(key for key in numbers if key != f"w|{ONE_BY_ONE}|warm|seeds=1"),
        *(f"w|{kernel}|warm|seeds=16,start=0.001" for kernel in (COLD, WARM, EXTRAPOLATED)),
    ]


def test_given_sets_are_an_axis_without_commas() -> None:
    assert keys(seeds=[1], start=[], sets="12; 5, 9:0.5 ", damping=0.9) == [
        f"w|{TOGETHER}|warm|damping=0.9,seeds=1",
        f"w|{TOGETHER}|warm|damping=0.9,seeds=12;5+9:0.5",
        f"w|{ONE_BY_ONE}|warm|damping=0.9,seeds=12;5+9:0.5",
    ]
    # One page is a set, not a number of random ones.
    assert keys(seeds=[1], start=[], sets="12")[-1] == f"w|{TOGETHER}|warm|seeds=12:1"
    assert keys(kernels=[WARM], start=[0.1, 0.2], seeds=[2]) == [
        f"w|{WARM}|warm|seeds=2,start=0.1",
        f"w|{WARM}|warm|seeds=2,start=0.2",
    ]


@pytest.mark.parametrize(
    "params",
    [
        {"seeds": []},
        {"seeds": [0]},
        {"seeds": [65]},
        {"start": [1.5]},
        {"sets": "twelve"},
        {"sets": ";".join(["1234567"] * 64)},
        {"kernels": ["seeds/none"]},
    ],
)
def test_it_refuses_what_is_out_of_range(params: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        keys(**params)


def test_it_refuses_what_is_not_a_graph() -> None:
    study = SeededStudy()
    assert study.refusal(MatrixInfo("m", "m", 3, 4, 2))
    assert study.refusal(MatrixInfo("m", "m", 0, 0, 0))
    assert not study.refusal(MatrixInfo("m", "m", 3, 3, 0))


def test_runs_are_verified_and_have_times_per_set(bench: Bench) -> None:
    runs = run(bench, WEB, seeds=[3], sets="7;;5,9:2", start=[0.01])
    assert {(m.state, m.note) for m in runs.values()} == {("ok", "")}
    for m in runs.values():
        assert m.median_s
        assert m.details.set_s == pytest.approx(m.median_s / m.details.sets)
        assert m.details.residual < 1e-10
        assert m.details.mass_error < 1e-9
        assert m.roofline_s
        assert m.details.changed_links == (round(0.01 * WEB.nnz) if "start" in m.axes else None)
    assert runs[f"m|{TOGETHER}|warm|seeds=7;;5+9:2"].details.sets == 3
    together, single = (runs[f"m|{kernel}|warm|seeds=3"].details for kernel in OF_SEEDS)
    assert together.iterations == together.passes == single.iterations < single.passes <= 3 * single.iterations
    cold, warm, fast = (runs[f"m|{k}|warm|seeds=3,start=0.01"].details for k in (COLD, WARM, EXTRAPOLATED))
    assert fast.iterations < warm.iterations < cold.iterations


def test_iterations_are_those_of_scipy(bench: Bench) -> None:
    params, graph = PageRankParams(), transition_matrix(WEB, PageRankParams())
    vectors = Seeds.of(random_sets(3, graph.n), graph.n).vectors()
    expected = [len(reference(graph, params, vectors[:, j])[1]) for j in range(3)]
    runs = run(bench, WEB, seeds=[3], start=[], kernels=list(OF_SEEDS))
    assert runs[f"m|{TOGETHER}|warm|seeds=3"].details.iterations == max(expected)
    assert runs[f"m|{ONE_BY_ONE}|warm|seeds=3"].details.passes == sum(expected)


def test_wrong_ranks_have_no_time(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    from gpu_engine.pagerank.seeded_block import SeededBlock

    right = SeededBlock.ranks

    def wrong(self: SeededBlock) -> Any:
        ranks = right(self)
        ranks[:, -1] = np.roll(ranks[:, -1], 1)
        return ranks

    monkeypatch.setattr(SeededBlock, "ranks", wrong)
    runs = run(bench, WEB, seeds=[2], start=[], kernels=[TOGETHER])
    assert {(m.state, m.median_s) for m in runs.values()} == {("failed", None)}


def test_a_run_that_does_not_converge_says_so(bench: Bench) -> None:
    runs = run(bench, WEB, seeds=[2], start=[], iterations_max=5)
    assert {m.state for m in runs.values()} == {"unconverged"}
    assert all("5 iterations" in m.note for m in runs.values())


def test_a_set_out_of_range_is_skipped(bench: Bench) -> None:
    runs = run(bench, WEB, seeds=[1], start=[], sets="1200", kernels=[TOGETHER])
    states = {m.axes["seeds"]: m.state for m in runs.values()}
    assert states["1200:1"] == "skipped"


def test_random_sets_do_not_depend_on_their_number() -> None:
    assert random_sets(5, 1000)[:2] == random_sets(2, 1000)
    assert all(len({page for page, _ in pages}) == RANDOM_PAGES for pages in random_sets(64, 1000))
    assert [len(pages) for pages in random_sets(2, 3)] == [3, 3]


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.01, 1.0])
def test_changed_links_are_a_share_of_them_and_always_the_same(share: float) -> None:
    changed, again = change_links(WEB, share), change_links(WEB, share)
    assert changed.to_scipy().sum() == pytest.approx(WEB.to_scipy().sum())
    np.testing.assert_array_equal(changed.indices, again.indices)
    difference = changed.to_scipy() - WEB.to_scipy()
    moved = np.count_nonzero(difference.data)
    most = 2 * max(1, round(share * WEB.nnz)) if share else 0
    assert moved <= most
    assert moved >= 0.5 * most or share == 1.0
    np.testing.assert_array_equal(changed.to_scipy().sum(axis=1).round(9), WEB.to_scipy().sum(axis=1).round(9))


def test_shared_links_give_the_same_ranks() -> None:
    params = PageRankParams()
    graph = transition_matrix(WEB, params)
    seeds = parse_seeds("3;7", graph.n)
    run = seeded_ranks(graph, params, seeds)
    single = seeded_ranks(graph, params, seeds.only(1))
    assert np.abs(run.ranks[:, 1] - single.ranks[:, 0]).max() < 1e-14
