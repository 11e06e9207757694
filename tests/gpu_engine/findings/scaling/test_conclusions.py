from collections.abc import Sequence
from dataclasses import replace

import pytest

from gpu_engine.findings.conclusions import Conclusion
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.scaling.conclusions import MERGE_SHARES, STATEMENTS, conclusions, table
from gpu_engine.findings.scaling.paper import SMALLEST_NNZ
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.scaling import (
    MATRICES,
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

(SLOWS, HALVES, LITTLE, COO, NO_MORE, GAINS, OFFLOADED, *MERGES, COLUMNS, ROWS, CUT_ROWS, ORDER, LINEAR, NODES) = (
    s.text for s in STATEMENTS
)
MERGE_CSR, MERGE_CSC, MERGE_COO = MERGES

LARGE = {name: replace(matrix, nnz=SMALLEST_NNZ) for name, matrix in MATRICES.items() if "two-level" not in name}
STAND_INS = {
    name: replace(LARGE["web"], name=f"{name} (stand-in)") for name in ("wb-edu", "com-Orkut", "HV15R", "mouse_gene")
}


def concluded(*judgments: Measurement, devices: int = 0) -> list[Conclusion]:
    """What the paper's statements come to on matrices as large as the paper's."""
    return conclusions(replace(shown(*judgments, chosen=chosen(devices)), matrices=MATRICES | LARGE | STAND_INS))


def judged(*judgments: Measurement, devices: int = 0) -> dict[str, tuple[str, str]]:
    """Statement → (what the records say, the numbers) over all matrices of a lone machine."""
    made = concluded(*judgments, devices=devices)
    return {c.statement: (c.says, c.numbers.replace(THIN, " ")) for c in made}


def says(*judgments: Measurement, devices: int = 0) -> dict[str, str]:
    return {statement: word for statement, (word, _) in judged(*judgments, devices=devices).items()}


def held(numbers: str) -> str:
    """How many cases hold: `2 of 3`."""
    return numbers.removeprefix("Holds for ").partition(".")[0].partition(",")[0]


def one(
    kernel: str, phases: Sequence[float], devices: int = 4, merge: str = "host", matrix: str = "web"
) -> Measurement:
    """A product from the host of so many seconds of partition, distribute, compute and merge."""
    return product(kernel, devices, phases, matrix, options={"merge": merge})


def test_unequal_nonzeros_are_judged_by_the_verdict_and_by_half_at_a_tenth() -> None:
    judgments = judged(*swept())
    assert [(judgments[text][0], held(judgments[text][1])) for text in (SLOWS, HALVES)] == [
        ("agrees", "2 of 2"),
        ("agrees", "1 of 1"),
    ]
    assert "r = 10.0: 55 % of the speed with equal nonzeros, limit 55 %" in judgments[HALVES][1]
    # About 2 times as long means 1.5 to 2.5 times; here it is 2 / 1.1 = 1.82 times the factor.
    assert [says(*swept(slower))[HALVES] for slower in (0.82, 0.83, 1.37, 1.38)] == [
        *("disagrees", "agrees", "agrees", "disagrees")
    ]
    assert says(*swept(1.1 / 2))[SLOWS] == "disagrees"
    assert held(judged(*swept(), *cut_both_ways())[SLOWS][1]) == "2 of 2", "other matrices are not"
    for nothing in (cut_both_ways(), swept()[:4], [m for m in swept() if m.axes["workload"] == "cold"]):
        assert {says(*nothing)[text] for text in (SLOWS, HALVES)} == {"no data"}


def test_matrices_of_figure_6_are_the_papers() -> None:
    assert {c.scope for c in concluded(*swept()) if c.says == "agrees"} == {"paper"}


def test_partition_takes_little_for_most_on_any_number_of_devices() -> None:
    short, long = (0.001, 0.06, 0.03, 0.009), (0.02, 0.05, 0.02, 0.01)
    judgments = [one("pCSR/p*-opt", short, 1), one("pCSR/p*-opt", short), one("pCSC/p*-opt", long, merge="gather")]
    assert (judged(*judgments)[LITTLE][0], held(judged(*judgments)[LITTLE][1])) == ("agrees", "2 of 3")
    assert held(judged(*judgments[:2], devices=1)[LITTLE][1]) == "1 of 1"
    assert says(*judgments[1:])[LITTLE] == "seldom"
    assert says(*judgments[2:])[LITTLE] == "disagrees"
    assert "20 % (70 % with distribution)" in judged(*judgments[2:])[LITTLE][1]
    # 2.4 % rounds to the printed 2 %, 2.5 % does not.
    for percent, expected in ((0.0024, "agrees"), (0.0025, "disagrees")):
        rest = (0.06, 0.03, 0.01 - percent)
        assert says(one("pCSR/p*-opt", (percent, *rest)))[LITTLE] == expected
    small = conclusions(shown(*judgments))
    assert {c.says for c in small if c.statement in (LITTLE, *MERGES)} == {"no data"}, "smaller than the paper's"


def test_columns_of_the_paper_are_merged_by_gather_alone() -> None:
    ours = one("pCSC/p*-opt", (0.001, 0.06, 0.03, 0.009), merge="device")
    assert {says(ours)[text] for text in (LITTLE, MERGE_CSC, LINEAR, ORDER)} == {"no data"}
    assert says(ours, one("pCSC/p*-opt", (0.001, 0.06, 0.03, 0.009), merge="gather"))[LITTLE] == "agrees"


def test_coo_is_partitioned_longer_than_both_others() -> None:
    phases = {"pCSR": 0.01, "pCSC": 0.02, "pCOO": 0.1}
    judgments = [one(f"{name}/baseline", (s, 0.1, 0.1, 0.1)) for name, s in phases.items()]
    assert judged(*judgments)[COO][0] == "agrees"
    assert says(*judgments[:2], one("pCOO/baseline", (0.0201, 0.1, 0.1, 0.1)))[COO] == "disagrees", "within the noise"
    assert says(*judgments[1:])[COO] == "no data"


def test_balancing_costs_no_partition_and_gains_with_devices() -> None:
    base = one("pCSR/baseline", (0.10, 0.1, 0.1, 0.1))
    alone, four = (one("pCSR/p*", (t, 0.1, 0.1, 0.1), n) for t, n in ((0.25, 1), (0.10, 4)))
    judgments = judged(base, alone, four)
    assert judgments[NO_MORE] == (
        "agrees",
        "Holds for 1 of 1. For web_graph pCSR on 4 devices: baseline 100 ms, p* 100 ms.",
    )
    assert judgments[GAINS] == (
        "agrees",
        "Holds for 1 of 1. For web_graph pCSR on 4 devices: one device 250 ms, 4 devices 100 ms.",
    )
    slower = one("pCSR/p*", (0.12, 0.1, 0.1, 0.1))
    assert says(base, alone, slower)[NO_MORE] == "disagrees"
    assert says(alone, one("pCSR/p*", (0.2499, 0.1, 0.1, 0.1)))[GAINS] == "disagrees"
    assert says(four)[NO_MORE] == says(four)[GAINS] == says(alone)[GAINS] == "no data"
    # Without a control kernel differences up to the largest known gap, 10 %, are noise.
    unsure = [replace(m, aa_gap=None) for m in (base, one("pCSR/p*", (0.109, 0.1, 0.1, 0.1)))]
    assert says(*unsure)[NO_MORE] == "agrees"


def test_writing_indices_on_the_devices_shortens_the_partition() -> None:
    host, devices = (one(f"pCOO/{name}", (s, 0.1, 0.1, 0.1), 1) for name, s in (("p*", 0.1), ("p*-opt", 0.01)))
    assert judged(host, devices)[OFFLOADED] == (
        "agrees",
        "Holds for 1 of 1. For web_graph pCOO on 1 device: p* 100 ms, p*-opt 10.0 ms.",
    )
    close = one("pCOO/p*-opt", (0.0995, 0.1, 0.1, 0.1), 1)
    assert judged(host, close)[OFFLOADED][0] == "disagrees"
    assert judged(host, close)[OFFLOADED][1].endswith("p* 100 ms, p*-opt 99.5 ms (within the noise, 1.0 %).")
    assert says(host)[OFFLOADED] == says(devices)[OFFLOADED] == "no data"


def test_cut_rows_lengthen_the_merge() -> None:
    base, cut = (one(f"pCSR/{name}", (0.1, 0.1, 0.1, s)) for name, s in (("baseline", 0.01), ("p*", 0.02)))
    assert judged(base, cut)[CUT_ROWS][0] == "agrees"
    assert says(base, one("pCSR/p*", (0.1, 0.1, 0.1, 0.01)))[CUT_ROWS] == "disagrees"
    for kernel, devices in (("pCSC", 4), ("pCSR", 1)):
        others = [
            one(f"{kernel}/{name}", (0.1, 0.1, 0.1, s), devices) for name, s in (("baseline", 0.01), ("p*", 0.02))
        ]
        assert says(*others)[CUT_ROWS] == "no data"


def test_each_format_has_its_own_limit_of_merging() -> None:
    # Each limit is reached from half a unit of its last digit above it.
    for partitioning, text, below, above in (
        ("pCSR", MERGE_CSR, 0.0384, 0.0385),
        ("pCSC", MERGE_CSC, 0.0949, 0.095),
        ("pCOO", MERGE_COO, 0.1749, 0.175),
    ):
        for share, expected in ((below, "agrees"), (above, "disagrees")):
            merge = "gather" if partitioning == "pCSC" else "host"
            judgments = says(one(f"{partitioning}/p*-opt", (0.2, 0.5, 0.3 - share, share), merge=merge))
            assert {text: judgments[text] for text in MERGES} == dict.fromkeys(MERGES, "no data") | {text: expected}
    alone = one("pCSR/p*-opt", (0.2, 0.5, 0.29, 0.01), 1)
    assert says(alone)[MERGE_CSR] == "no data", "one device merges nothing"
    assert {says(one("pCOO-columns/p*-opt", (0.2, 0.5, 0.0, 0.3), merge="gather"))[text] for text in MERGES} == {
        "no data"
    }


def test_merging_is_judged_on_the_matrix_of_figure_19_and_the_rest_on_those_of_table_2() -> None:
    judgments = [
        one("pCSR/p*-opt", (0.2, 0.5, 0.2, share), matrix=name)
        for name, share in (("HV15R", 0.03), ("wb-edu", 0.1), ("web", 0.2))
    ]
    made = {(c.statement, c.scope): (c.says, held(c.numbers)) for c in concluded(*judgments)}
    assert made[MERGE_CSR, "paper"] == ("agrees", "1 of 1")
    assert made[MERGE_CSR, "all"] == ("seldom", "1 of 3")
    assert made[LITTLE, "paper"] == ("disagrees", "0 of 2")
    assert made[LITTLE, "all"] == ("disagrees", "0 of 3")
    assert [s.text for s in MERGE_SHARES] == MERGES


def test_columns_merged_on_the_host_take_longer_with_more_devices() -> None:
    judgments = [one("pCSC/baseline", (0.1, 0.1, 0.1, s), n) for s, n in ((0.01, 1), (0.02, 2), (0.0201, 4))]
    assert (judged(*judgments)[COLUMNS][0], held(judged(*judgments)[COLUMNS][1])) == ("seldom", "1 of 2")
    assert (
        "web_graph pCSC on 4 devices: 2 devices 20.0 ms, 4 devices 20.1 ms (within the noise, 1.0 %)"
        in judged(*judgments)[COLUMNS][1]
    )
    assert says(*judgments, devices=2)[COLUMNS] == "agrees"
    assert says(*judgments[2:])[COLUMNS] == "no data", "on one number of devices"
    rows = [one("pCSR/baseline", (0.1, 0.1, 0.1, s), n) for s, n in ((0.01, 1), (0.02, 2))]
    assert says(*rows)[COLUMNS] == "no data"


def test_rows_are_merged_faster_than_the_columns_of_the_same_matrix() -> None:
    columns = one("pCSC/baseline", (0.1, 0.1, 0.1, 0.04))
    rows = [one(f"{name}/baseline", (0.1, 0.1, 0.1, s)) for name, s in (("pCSR", 0.01), ("pCOO", 0.0399))]
    assert (judged(columns, *rows)[ROWS][0], held(judged(columns, *rows)[ROWS][1])) == ("seldom", "1 of 2")
    assert says(*rows)[ROWS] == says(columns)[ROWS] == "no data"
    alone = [one(f"{name}/baseline", (0.1, 0.1, 0.1, 0.01), 1) for name in ("pCSR", "pCSC")]
    assert says(*alone)[ROWS] == "no data", "one device merges nothing"


def test_the_strategies_are_in_the_order_of_the_paper() -> None:
    judgments = judged(*cold())[ORDER]
    assert (judgments[0], held(judgments[1])) == ("agrees", "2 of 2")
    assert judged(*cold(), devices=4)[ORDER] == (
        "agrees",
        "Holds for 1 of 1. For web_graph pCSR on 4 devices: p* 2.00 × baseline (faster), p*-opt 1.25 × p* (faster).",
    )
    swapped = [m for m in cold() if not (m.kernel == "pCSR/p*-opt" and m.details.devices == 4)]
    worse = one("pCSR/p*-opt", (0.02, 0.02, 0.01, 0.01))
    assert says(*swapped, worse, devices=4)[ORDER] == "disagrees"
    assert says(*cold(), devices=1)[ORDER] == says(*swapped, devices=4)[ORDER] == "no data"


def test_near_linear_is_an_efficiency_like_that_of_eight_in_the_paper() -> None:
    assert judged(*cold(), devices=4)[LINEAR] == (
        "agrees",
        "Holds for 1 of 1. For web_graph pCSR on 4 devices: 3.12 ×.",
    )
    slower = [m for m in cold() if m.kernel == "pCSR/p*-opt" and m.details.devices == 1]
    # 6.15 of eight, which rounds to 6.2, is 3.075 of four.
    for gain, expected in ((3.07, "disagrees"), (3.08, "agrees")):
        assert says(*slower, one("pCSR/p*-opt", (0.1 / gain, 0.0, 0.0, 0.0)))[LINEAR] == expected
    assert says(one("pCSR/p*-opt", (0.03, 0.0, 0.0, 0.0)))[LINEAR] == says(*slower)[LINEAR] == "no data"


def numa(kernel: str, seconds: float, nodes: str = "0, 0, 1, 1", device: str = "cuda:0", **options: str) -> Measurement:
    m = worked(kernel, seconds, 4, device=device, options={"merge": "host", **options})
    return replace(m, environment={"nodes": nodes})


def test_numa_is_judged_by_what_differs_in_nothing_else() -> None:
    on, without = numa("pCSR/p*-opt", 0.02), numa("pCSR/p*-opt", 0.04, placement="one", affinity="off")
    partly = numa("pCSR/p*-opt", 0.03, placement="one")
    judgments = judged(on, partly, without)[NODES]
    assert (judgments[0], held(judgments[1])) == ("agrees", "1 of 1")
    assert "2.00 × pCSR/p*-opt, placement one, affinity off on 4 devices of 2 nodes (faster)" in judgments[1]
    assert "1.50 ×" in judged(on, partly)[NODES][1]
    equal = replace(without, median_s=0.02, ci_low_s=0.0198, ci_high_s=0.0202)
    assert says(on, equal)[NODES] == "agrees", "DGX-1 has no effect either"
    assert says(numa("pCSR/p*-opt", 0.08), without)[NODES] == "disagrees"
    for others in (
        [numa("pCSR/p*", 0.04)],
        [numa("pCSR/p*", 0.04, placement="one")],
        [numa("pCSR/p*-opt", 0.04, placement="one", balance="rows")],
        [numa("pCSR/p*-opt", 0.04, placement="interleaved")],
        [],
    ):
        assert says(on, *others)[NODES] == "no data"


@pytest.mark.parametrize(("nodes", "device"), [("0, 0, 0, 0", "cuda:0"), ("0, 0, 1, 1", "cpu")])
def test_one_node_and_nodes_that_are_not_there_say_nothing(nodes: str, device: str) -> None:
    judgments = (numa("pCSR/p*-opt", t, nodes, device, **o) for t, o in ((0.02, {}), (0.04, {"placement": "one"})))
    assert judged(*judgments)[NODES] == (
        "no data",
        "No SpMV with p*-opt, with and without NUMA placement, on GPUs of several nodes has the required timings.",
    )


def test_a_library_is_no_strategy_of_the_paper() -> None:
    theirs = [*by_cusparse(cold(), 0.1), *by_cusparse(cut_both_ways(), 2.5)]
    assert judged(*cold(), *cut_both_ways(), *theirs) == judged(*cold(), *cut_both_ways())
    assert conclusions(shown(*theirs)) == conclusions(StudyData())
    assert judged(*cold()[:3], *theirs)[MERGE_CSR][0] == "no data", "cuSPARSE's p*-opt does not stand in for ours"


def test_machines_are_judged_apart_and_virtual_ones_called_so() -> None:
    judgments = concluded(*cold(), *cold(device="cpu"))
    assert list(dict.fromkeys((c.device, c.cache, c.statement) for c in judgments)) == [
        (device, "warm", statement.text) for device in ("cuda:0", "cpu (simulated)") for statement in STATEMENTS
    ]
    rows = table(replace(shown(*cold()), matrices=MATRICES | LARGE)).rows
    assert [(row[0], row[2]) for row in rows] == [(c.statement, c.says) for c in judgments if c.device == "cuda:0"]


@pytest.mark.parametrize("nothing", [StudyData(), shown(unworked("pCSR/p*", "no")), shown(*ranked())])
def test_no_results(nothing: StudyData) -> None:
    assert {c.says for c in conclusions(nothing)} == {"no data"}
    assert table(nothing).rows == ()


def test_resident_products_alone_leave_the_others_without_data() -> None:
    assert set(says(*resident()).values()) == {"no data"}
