from dataclasses import replace

from gpu_engine.findings.scaling.groups import by_work, work_groups
from gpu_engine.findings.scaling.sentences import sentences
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.scaling import (
    LOPSIDED,
    by_cusparse,
    chosen,
    cold,
    cut_both_ways,
    iterated,
    product,
    ranked,
    resident,
    shown,
    unworked,
    worked,
)


def said(*measurements: Measurement, devices: int = 0) -> list[str]:
    """The sentences on a lone work."""
    found = shown(*measurements, chosen=chosen(devices))
    (groups,) = by_work(work_groups(found))
    return [sentence.replace(THIN, " ") for sentence in sentences(groups, found)]


def test_the_fastest_strategy_its_gains_and_what_holds_it_back() -> None:
    assert said(*cold()) == [
        "pCSR/p*-opt is fastest on cuda:0 with 4 devices: 32.0 ms per SpMV from the host, speedup 2.50 × over "
        "pCSR/baseline (faster).",
        "Speedup of pCSR/p*-opt 3.12 × over pCSR/baseline on one device (3.06 × to 3.19 ×, faster), 3.12 × over "
        "itself on one. Efficiency 78 % (ideal 4 ×). The paper has 5.5 × with 6 GPUs and 6.2 × with 8.",
        "Bottleneck: partition, 9.00 ms (28 % of the sum of the phases; ideal share of one device's 20.0 ms: 5.00 ms).",
        "Load imbalance 1.00 × (largest partition / mean), which limits the efficiency to 100 %. pCSR/baseline: "
        "2.50 ×, limit 40 %.",
    ]


def test_virtual_devices_are_called_so_and_not_held_against_the_paper() -> None:
    first, second, *_ = said(*cold(device="cpu"))
    assert first.startswith("pCSR/p*-opt is fastest on cpu with 4 simulated devices: 32.0 ms")
    assert second.endswith("Efficiency 78 % (ideal 4 ×).")


def test_the_chosen_number_of_devices_is_spoken_of() -> None:
    first, second, *_ = said(*cold(), devices=2)
    assert first.startswith("pCSR/p*-opt is fastest on cuda:0 with 2 devices: 55.0 ms")
    assert "1.82 × over pCSR/baseline on one device" in second
    assert said(*cold(), devices=1)[1] == "Measured on one device only; no speedup."


def test_other_partitionings_are_said_and_not_ranked() -> None:
    slower = [replace(m, median_s=2 * (m.median_s or 0.0)) for m in cold(partitioning="pCOO")]
    found = said(*slower, *cold(), worked("pCSC/p*", 0.09, 2))
    assert found[0].startswith("pCSR/p*-opt is fastest on cuda:0")
    assert found[-2:] == [
        "pCOO/p*-opt is fastest in separate rounds: 64.0 ms per SpMV from the host, speedup 2.50 × over "
        "pCOO/baseline (faster).",
        "pCSC/p* is the only kernel ranked in separate rounds with 2 devices: 90.0 ms per SpMV from the host, "
        "pCSC/baseline was not timed.",
    ]


def test_a_baseline_that_leads_says_that_no_strategy_gains() -> None:
    first, *_, last = said(
        product("pCSR/baseline", 4, (0.01, 0.01, 0.01, 0.01), nonzeros_by_device=LOPSIDED[4]),
        product("pCSR/p*", 4, (0.02, 0.02, 0.02, 0.02)),
    )
    assert first == (
        "pCSR/baseline is fastest on cuda:0 with 4 devices: 40.0 ms per SpMV from the host, no other strategy is "
        "faster."
    )
    assert last == "Load imbalance 2.50 × (largest partition / mean), which limits the efficiency to 40 %."


def test_strategies_that_measure_the_same_lead_together() -> None:
    vague = worked("pCSR/baseline", 0.0421, ci_low_s=0.039)
    assert said(worked("pCSR/p*", 0.04), worked("pCSR/p*-opt", 0.0402), vague)[0] == (
        "pCSR/p* and pCSR/p*-opt probably tie for fastest on cuda:0 with 4 devices: 40.0 ms per SpMV from the "
        "host, speedup 1.05 × over pCSR/baseline (inconclusive). pCSR/baseline may be equally fast (inconclusive)."
    )


def test_without_one_device_nothing_is_said_of_a_speed_up() -> None:
    found = said(*(m for m in cold() if m.details.devices != 1))
    assert found[1:3] == [
        "pCSR/p*-opt was not timed on one device, so its speedup is unknown.",
        "Longest phase: distribute, 47 % of the sum of the phases.",
    ]


def test_phases_that_scale_hold_nothing_back() -> None:
    found = said(product("pCSR/p*", 1, (0.01, 0.02, 0.04, 0.01)), product("pCSR/p*", 4, (0.002, 0.005, 0.01, 0.002)))
    assert "No bottleneck: no phase takes longer than its ideal share of one device." in found


def test_phases_of_no_length_hold_nothing_back() -> None:
    still = worked("pCSR/p*", 0.04, phases_s={"compute": 0.0, "merge": 0.0})
    assert [sentence for sentence in said(still) if "phase" in sentence] == []


def test_a_lone_kernel_runs() -> None:
    assert said(*resident()) == [
        "pCSR/resident is the only kernel ranked on cuda:0 with 4 devices: 2.50 ms per resident SpMV.",
        "Speedup of pCSR/resident 3.20 × over one device (3.14 × to 3.26 ×, faster). Efficiency 80 % (ideal 4 ×).",
        "Load imbalance 1.00 × (largest partition / mean), which limits the efficiency to 100 %.",
    ]


def test_equal_rows_of_resident_products_say_what_they_allow_and_what_is_measured() -> None:
    found = said(*cut_both_ways())
    assert (found[0], found[-1]) == (
        "pCSR/resident, balance nonzeros is fastest on cuda:0 with 4 devices: 2.50 ms per resident SpMV, speedup "
        "2.00 × over pCSR/resident, balance rows (faster).",
        "Load imbalance 1.00 × (largest partition / mean), which limits the efficiency to 100 %. pCSR/resident, "
        "balance rows: 2.50 ×, limit 40 %. Equal rows have 50 % of the speed of equal nonzeros.",
    )
    lines = worked("pCSR/resident", 1e-3, 4, "resident", options={"balance": "rows"}, nonzeros_by_device=LOPSIDED[4])
    found = said(*cut_both_ways()[:3], lines)
    assert found[0].endswith("1.00 ms per resident SpMV, no other balance is faster.")
    assert found[1].startswith("Speedup of pCSR/resident, balance rows 8.00 × over one device")
    assert found[-1].endswith("limits the efficiency to 40 %. Equal rows have 250 % of the speed of equal nonzeros.")


def test_a_library_is_said_beside_what_leads_of_ours() -> None:
    found = said(*cold(), *by_cusparse(cold(), 1.25, 3.0))
    assert found[:2] == [
        "pCSR/p*-opt is fastest on cuda:0 with 4 devices: 32.0 ms per SpMV from the host, speedup 2.50 × over "
        "pCSR/baseline (faster).",
        "pCSR/p*-opt: speedup 1.25 × over pCSR/p*-opt, cusparse (faster). In the phase compute: speedup 3.00 ×.",
    ]
    assert found[2].startswith("Speedup of pCSR/p*-opt 3.12 × over pCSR/baseline on one device"), (
        "not as cuSPARSE on one device"
    )
    assert found[-1].endswith(" pCSR/baseline: 2.50 ×, limit 40 %.")
    assert said(*resident(), *by_cusparse(resident(), 1.3))[1] == (
        "pCSR/resident: speedup 1.30 × over pCSR/resident, cusparse (faster)."
    )
    assert said(*resident(), *by_cusparse(resident(), 1.3)[:2], devices=2)[1].endswith(
        "speedup 1.30 × over pCSR/resident, cusparse (faster)."
    )


def test_a_library_that_is_faster_does_not_lead() -> None:
    assert said(*iterated(), *by_cusparse(iterated(), 0.5, 0.5))[:2] == [
        "pCSR/iterate, overlap on is fastest on cuda:0 with 4 devices: 2.50 ms per iteration.",
        "pCSR/iterate, overlap on: slowdown 2.00 × against pCSR/iterate, overlap on, cusparse (slower). In the phase "
        "compute: slowdown 2.00 ×.",
    ]


def test_where_a_library_alone_has_a_time_it_is_named() -> None:
    refused = unworked("pCSR/resident", "needs 41 GB", work="resident")
    assert said(refused, *by_cusparse(resident(), 1.0)) == [
        "No Sparsight kernel was timed on cuda:0: needs 41 GB; pCSR/resident, cusparse takes 2.50 ms per resident "
        "SpMV with 4 devices."
    ]
    virtual = by_cusparse(resident(device="cpu"), 1.0)
    assert said(*virtual)[0].startswith("No Sparsight kernel was timed on cpu; pCSR/resident, cusparse takes")


def test_an_iteration_says_what_crosses_and_what_is_hidden() -> None:
    found = said(*iterated())
    assert found[0] == "pCSR/iterate, overlap on is fastest on cuda:0 with 4 devices: 2.50 ms per iteration."
    assert found[2] == (
        "Bottleneck: exchange, 1.00 ms (33 % of the sum of the phases; none on one device). Exchange per iteration: "
        "4.00 MB at 4.00 GB/s; 50 % of it overlaps with computation."
    )
    assert said(*iterated()[3:])[2].endswith("none of it overlaps with computation.")
    assert said(*ranked())[0] == (
        "pCSR/pagerank+cpms2 is fastest on cuda:0 with 4 devices: 2.50 ms per PageRank iteration."
    )


def test_nothing_timed_says_why() -> None:
    assert said(unworked("pCSR/iterate", "the matrix is not square", work="iterate")) == [
        "No kernel was timed on cuda:0: the matrix is not square."
    ]


def test_what_did_not_converge_is_not_ranked() -> None:
    quick = worked("pCSR/pagerank+cpms2", 1e-3, 4, "pagerank", state="unconverged", note="γ is 0.1 after 5 iterations")
    alone = worked("pCSR/pagerank+fp64", 1e-3, 1, "pagerank", state="unconverged", note="γ is 0.2 after 5 iterations")
    assert said(quick) == ["No kernel converged on cuda:0: γ is 0.1 after 5 iterations."]
    found = said(quick, alone, worked("pCSR/pagerank+fp64", 4e-3, 4, "pagerank"))
    assert found[0] == (
        "pCSR/pagerank+fp64 is the only kernel ranked on cuda:0 with 4 devices: 4.00 ms per PageRank iteration."
    )
    assert found[1] == "pCSR/pagerank+fp64 was not timed on one device, so its speedup is unknown."


def test_nothing_leads_on_a_busy_machine() -> None:
    first, *_ = said(*(replace(m, aa_gap=0.12) for m in cold()))
    assert first.startswith("Too noisy to rank: two runs of the control kernel differ by 12.0 %.")
