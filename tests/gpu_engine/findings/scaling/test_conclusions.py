from collections.abc import Sequence
from dataclasses import replace

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.conclusions import STATEMENTS, conclusions, table
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.scaling import (
    by_cusparse,
    chosen,
    cold,
    cut_both_ways,
    product,
    ranked,
    resident,
    shown,
    swept,
    unworked,
    worked,
)

EQUAL_ROWS, LITTLE, *SHARES, NO_MORE, GAINS, MERGE, COLUMNS, ROWS, ORDER, LINEAR, NODES = (s.text for s in STATEMENTS)
POINTERS_SUMMIT, POINTERS_DGX, COO_SUMMIT, COO_DGX = SHARES


def judged(*found: Measurement, devices: int = 0) -> dict[str, tuple[str, str]]:
    """Statement → (what the records say, the numbers) of a lone machine."""
    made = conclusions(shown(*found, chosen=chosen(devices)))
    return {c.statement: (c.says, c.numbers.replace(THIN, " ")) for c in made}


def one(
    kernel: str, phases: Sequence[float], devices: int = 4, merge: str = "host", matrix: str = "web"
) -> Measurement:
    """A product from the host of so many seconds of partition, distribute, compute and merge."""
    return product(kernel, devices, phases, matrix, options={"merge": merge})


def test_equal_rows_cost_what_the_ratio_of_the_rows_says() -> None:
    assert judged(*swept())[EQUAL_ROWS] == (
        "agrees",
        "Holds for 2 of 2. For two-level-2 pCSR r = 2.00: limit 75 %, measured 75 %; two-level-10 pCSR r = 10.0: "
        "limit 55 %, measured 55 %.",
    )
    for slower in (0.8, 1.25):
        assert judged(*swept(slower))[EQUAL_ROWS][0] == "disagrees"
    assert judged(*swept(), *cut_both_ways())[EQUAL_ROWS][1].startswith("Holds for 2 of 2."), "other matrices are not"
    for found in (cut_both_ways(), swept()[:4], [m for m in swept() if m.axes["workload"] == "cold"]):
        assert judged(*found)[EQUAL_ROWS][0] == "no data"


def test_partition_takes_little_for_most() -> None:
    short, long = (0.001, 0.06, 0.03, 0.009), (0.02, 0.05, 0.02, 0.01)
    found = [
        one("pCSR/p*-opt", short),
        one("pCOO/p*-opt", short),
        one("pCSC/p*-opt", long, merge="device"),
        one("pCSR/baseline", long),
    ]
    assert judged(*found)[LITTLE] == (
        "agrees",
        "Holds for 2 of 3. Not for web_graph pCSC 20 % (70 % with distribution).",
    )
    assert judged(*found[1:])[LITTLE][0] == "seldom"
    assert judged(*found[2:])[LITTLE][0] == "disagrees"
    assert judged(one("pCSR/p*-opt", (0.002, 0.06, 0.03, 0.008)))[LITTLE][0] == "disagrees", "2 % are not less"


@pytest.mark.parametrize(
    ("partitioning", "partition", "agreed"),
    [
        ("pCOO", 0.3, set()),
        ("pCOO", 0.5, {COO_DGX}),
        ("pCOO", 0.8, {COO_SUMMIT}),
        ("pCOO", 0.9, set()),
        ("pCSR", 0.01, {POINTERS_DGX}),
        ("pCSC", 0.05, {POINTERS_SUMMIT}),
        ("pCSR", 0.03, set()),
    ],
)
def test_partition_of_the_baseline_is_judged_by_the_range_of_each_machine(
    partitioning: str, partition: float, agreed: set[str]
) -> None:
    found = judged(one(f"{partitioning}/baseline", (partition, 0.05, 0.03, 0.92 - partition)))
    assert {text for text in SHARES if found[text][0] == "agrees"} == agreed
    others = SHARES[:2] if partitioning == "pCOO" else SHARES[2:]
    assert {found[text][0] for text in others} == {"no data"}
    assert judged(one("pCOO/p*-opt", (0.5, 0.1, 0.2, 0.2)))[COO_DGX] == (
        "no data",
        "No SpMV with pCOO and baseline has the required timings.",
    )


def test_balancing_costs_no_partition_and_gains_with_devices() -> None:
    base = one("pCSR/baseline", (0.10, 0.1, 0.1, 0.1))
    alone, four = (one("pCSR/p*", (t, 0.1, 0.1, 0.1), n) for t, n in ((0.25, 1), (0.10, 4)))
    found = judged(base, alone, four)
    assert found[NO_MORE] == ("agrees", "Holds for 1 of 1. For web_graph pCSR 100 ms with baseline, 100 ms.")
    assert found[GAINS] == ("agrees", "Holds for 1 of 1. For web_graph pCSR 250 ms on one, 100 ms on 4.")
    slower = one("pCSR/p*", (0.12, 0.1, 0.1, 0.1))
    found = judged(base, alone, slower)
    assert (found[NO_MORE][0], found[GAINS][0]) == ("disagrees", "disagrees")
    assert judged(four)[NO_MORE][0] == judged(four)[GAINS][0] == judged(alone)[GAINS][0] == "no data"


def test_each_format_has_its_own_limit_of_merging() -> None:
    found = [
        one("pCSR/p*-opt", (0.2, 0.5, 0.2, 0.1)),
        one("pCSC/p*-opt", (0.2, 0.5, 0.22, 0.08), merge="gather"),
        one("pCOO/p*-opt", (0.2, 0.5, 0.14, 0.16)),
        one("pCOO-columns/p*-opt", (0.2, 0.5, 0.0, 0.3), merge="gather"),
    ]
    assert judged(*found)[MERGE] == (
        "mostly",
        "Holds for 2 of 3. Not for web_graph pCSR 10 %.",
    )
    limits = [
        one("pCSR/p*-opt", (0.2, 0.5, 0.262, 0.038)),
        one("pCSC/p*-opt", (0.2, 0.5, 0.21, 0.09), merge="gather"),
        one("pCOO/p*-opt", (0.2, 0.5, 0.13, 0.17)),
    ]
    assert judged(*limits)[MERGE][0] == "disagrees", "less than, the paper says"


def test_what_is_merged_elsewhere_than_in_the_paper_is_not_judged() -> None:
    quick = one("pCSR/p*-opt", (0.2, 0.5, 0.3, 0.001), merge="device")
    assert judged(quick)[MERGE][0] == "no data"
    assert judged(one("pCSR/p*-opt", (0.2, 0.5, 0.2, 0.1)), quick)[MERGE][1].startswith(
        "Holds for 0 of 1. Not for web_graph"
    )
    assert judged(one("pCSC/p*-opt", (0.2, 0.5, 0.2, 0.01)))[MERGE][0] == "no data"
    ours, gathered = (one("pCSC/p*-opt", (0.001, 0.5, 0.2, t), merge=m) for t, m in ((0.01, "device"), (0.2, "gather")))
    assert judged(ours)[MERGE][0] == "no data", "the paper gathers columns on one device"
    assert judged(ours)[LITTLE][0] == "agrees", "which is no matter to other statements"
    assert judged(ours, gathered)[MERGE][0] == "disagrees"


def merged(partitioning: str, *seconds: float) -> list[Measurement]:
    """Baselines whose merge takes so long on 1, 2 and 4 devices."""
    return [
        one(f"{partitioning}/baseline", (0.1, 0.1, 0.1, time), number)
        for number, time in zip((1, 2, 4), seconds, strict=True)
    ]


def test_columns_merged_on_the_host_take_longer_with_more_devices_and_rows_do_not() -> None:
    found = judged(*merged("pCSC", 0.01, 0.02, 0.04), *merged("pCSR", 0.01, 0.011, 0.012))
    assert found[COLUMNS] == ("agrees", "Holds for 1 of 1. For web_graph pCSC 10.0 ms on 1, 40.0 ms on 4.")
    assert found[ROWS] == ("agrees", "Holds for 1 of 1. For web_graph pCSR 10.0 ms on 1, 12.0 ms on 4.")
    found = judged(*merged("pCSC", 0.01, 0.011, 0.012), *merged("pCOO", 0.01, 0.02, 0.04))
    assert (found[COLUMNS][0], found[ROWS][0]) == ("disagrees", "disagrees")
    assert judged(*merged("pCSC", 0.01, 0.02, 0.04)[2:])[COLUMNS][0] == "no data", "on one number of devices"
    assert judged(*merged("pCSC", 0.01, 0.03, 0.012), devices=2)[COLUMNS][0] == "agrees"
    # Half of a growth in proportion, from 10 to 25 ms on four times the devices, is enough.
    assert [judged(*merged("pCSC", 0.01, 0.02, time))[COLUMNS][0] for time in (0.0249, 0.0251)] == [
        "disagrees",
        "agrees",
    ]


def test_the_strategies_are_in_the_order_of_the_paper() -> None:
    assert judged(*cold())[ORDER] == (
        "agrees",
        "Holds for 1 of 1. For web_graph pCSR p* 2.00 × baseline (faster), p*-opt 1.25 × p* (faster).",
    )
    swapped = [m for m in cold() if not (m.kernel == "pCSR/p*-opt" and m.details.devices == 4)]
    assert judged(*swapped, one("pCSR/p*-opt", (0.02, 0.02, 0.01, 0.01)))[ORDER][0] == "disagrees"
    assert judged(*cold(), devices=1)[ORDER][0] == judged(*swapped)[ORDER][0] == "no data"


def test_near_linear_is_an_efficiency_like_that_of_eight_in_the_paper() -> None:
    assert judged(*cold())[LINEAR] == ("agrees", "Holds for 1 of 1. For web_graph pCSR 3.12 × on 4.")
    slower = [m for m in cold() if m.kernel == "pCSR/p*-opt" and m.details.devices == 1]
    last = [one("pCSR/p*-opt", (0.1 / 3.05, 0.0, 0.0, 0.0))]
    assert judged(*slower, *last)[LINEAR][0] == "disagrees"
    assert judged(*last)[LINEAR][0] == judged(*slower)[LINEAR][0] == "no data"


def numa(kernel: str, seconds: float, nodes: str = "0, 0, 1, 1", device: str = "cuda:0", **options: str) -> Measurement:
    m = worked(kernel, seconds, 4, device=device, options={"merge": "host", **options})
    return replace(m, environment={"nodes": nodes})


def test_numa_is_judged_by_what_differs_in_nothing_else() -> None:
    on, without = numa("pCSR/p*-opt", 0.02), numa("pCSR/p*-opt", 0.04, placement="one", affinity="off")
    partly = numa("pCSR/p*-opt", 0.03, placement="one")
    said = (
        "Holds for 1 of 1. For web_graph pCSR 2.00 × pCSR/p*-opt, placement one, affinity off on 4 devices of 2 nodes"
    )
    assert judged(on, partly, without)[NODES] == ("agrees", f"{said} (faster).")
    assert judged(on, partly)[NODES][1].startswith("Holds for 1 of 1. For web_graph pCSR 1.50 ×")
    assert judged(on, replace(without, median_s=0.02, ci_low_s=0.0198, ci_high_s=0.0202))[NODES][0] == "disagrees"
    for others in (
        [numa("pCSR/p*", 0.04)],
        [numa("pCSR/p*", 0.04, placement="one")],
        [numa("pCSR/p*-opt", 0.04, placement="one", balance="rows")],
        [numa("pCSR/p*-opt", 0.04, placement="interleaved")],
        [],
    ):
        assert judged(on, *others)[NODES][0] == "no data"


@pytest.mark.parametrize(("nodes", "device"), [("0, 0, 0, 0", "cuda:0"), ("0, 0, 1, 1", "cpu")])
def test_one_node_and_nodes_that_are_not_there_say_nothing(nodes: str, device: str) -> None:
    found = (numa("pCSR/p*-opt", t, nodes, device, **o) for t, o in ((0.02, {}), (0.04, {"placement": "one"})))
    assert judged(*found)[NODES] == (
        "no data",
        "No SpMV with p*-opt, with and without NUMA placement, on GPUs of several nodes has the required timings.",
    )


def test_a_library_is_no_strategy_of_the_paper() -> None:
    theirs = [*by_cusparse(cold(), 0.1), *by_cusparse(cut_both_ways(), 2.5)]
    assert judged(*cold(), *cut_both_ways(), *theirs) == judged(*cold(), *cut_both_ways())
    assert conclusions(shown(*theirs)) == conclusions(StudyData())
    assert judged(*cold()[:3], *theirs)[MERGE][0] == "no data", "cuSPARSE's p*-opt does not stand in for ours"


def test_machines_are_judged_apart_and_virtual_ones_called_so() -> None:
    found = conclusions(shown(*cold(), *cold(device="cpu")))
    assert [(c.device, c.cache, c.statement) for c in found] == [
        (device, "warm", statement.text) for device in ("cuda:0", "cpu (simulated)") for statement in STATEMENTS
    ]
    assert [row[:2] for row in table(shown(*cold())).rows] == [
        (c.statement, c.says) for c in found if c.device == "cuda:0"
    ]


@pytest.mark.parametrize("nothing", [StudyData(), shown(unworked("pCSR/p*", "no")), shown(*ranked())])
def test_no_results(nothing: StudyData) -> None:
    assert {c.says for c in conclusions(nothing)} == {"no data"}
    assert table(nothing).rows == ()


def test_resident_products_alone_leave_the_others_without_data() -> None:
    assert {says for says, _ in judged(*resident()).values()} == {"no data"}
