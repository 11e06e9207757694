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
        "pCSR/p*-opt is fastest on cuda:0 with 4 devices: 32.0 ms a product from the host, 2.5 times as fast as "
        "pCSR/baseline (faster).",
        "pCSR/p*-opt is 3.12 × as fast as pCSR/baseline on one device (3.06 × to 3.19 ×, faster), and 3.12 × as itself "
        "there: 78 % of the ideal 4 ×; 5.5 × with 6 GPUs and 6.2 × with 8 in the paper.",
        "What holds it back is partition: 9.00 ms, 28 % of its phases, where an even share of one device's 20.0 ms "
        "would be 5.00 ms.",
        "Its largest part has 1.00 × the mean of the nonzeros, which allows 100 % of the ideal; that of pCSR/baseline "
        "2.50 ×, 40 %.",
    ]


def test_virtual_devices_are_called_so_and_not_held_against_the_paper() -> None:
    first, second, *_ = said(*cold(device="cpu"))
    assert first.startswith("pCSR/p*-opt is fastest on cpu with 4 virtual devices: 32.0 ms")
    assert second.endswith("78 % of the ideal 4 ×.")


def test_the_chosen_number_of_devices_is_spoken_of() -> None:
    first, second, *_ = said(*cold(), devices=2)
    assert first.startswith("pCSR/p*-opt is fastest on cuda:0 with 2 devices: 55.0 ms")
    assert "is 1.82 × as fast as pCSR/baseline on one device" in second
    assert said(*cold(), devices=1)[1] == "That is one device: nothing is said of a speed-up."


def test_other_partitionings_are_said_and_not_ranked() -> None:
    slower = [replace(m, median_s=2 * (m.median_s or 0.0)) for m in cold(partitioning="pCOO")]
    found = said(*slower, *cold(), worked("pCSC/p*", 0.09, 2))
    assert found[0].startswith("pCSR/p*-opt is fastest on cuda:0")
    assert found[-2:] == [
        "pCOO/p*-opt is fastest in rounds of its own: 64.0 ms a product from the host, 2.5 times as fast as "
        "pCOO/baseline (faster).",
        "pCSC/p* runs in rounds of its own with 2 devices: 90.0 ms a product from the host, pCSC/baseline has no time "
        "beside it.",
    ]


def test_a_baseline_that_leads_says_that_no_strategy_gains() -> None:
    first, *_, last = said(
        product("pCSR/baseline", 4, (0.01, 0.01, 0.01, 0.01), entries_by_device=LOPSIDED[4]),
        product("pCSR/p*", 4, (0.02, 0.02, 0.02, 0.02)),
    )
    assert first == (
        "pCSR/baseline is fastest on cuda:0 with 4 devices: 40.0 ms a product from the host, no strategy gains over it."
    )
    assert last == "Its largest part has 2.50 × the mean of the nonzeros, which allows 40 % of the ideal."


def test_strategies_that_measure_the_same_lead_together() -> None:
    vague = worked("pCSR/baseline", 0.0421, ci_low_s=0.039)
    assert said(worked("pCSR/p*", 0.04), worked("pCSR/p*-opt", 0.0402), vague)[0] == (
        "pCSR/p* and pCSR/p*-opt lead, not clearly, on cuda:0 with 4 devices: 40.0 ms a product from the host, 1.05 "
        "times as fast as pCSR/baseline (inconclusive); pCSR/baseline may be as fast (inconclusive)."
    )


def test_without_one_device_nothing_is_said_of_a_speed_up() -> None:
    found = said(*(m for m in cold() if m.details.devices != 1))
    assert found[1:3] == [
        "pCSR/p*-opt has no time on one device here, so that nothing is said of its speed-up.",
        "Most of its phases is distribute, 47 %.",
    ]


def test_phases_that_scale_hold_nothing_back() -> None:
    found = said(product("pCSR/p*", 1, (0.01, 0.02, 0.04, 0.01)), product("pCSR/p*", 4, (0.002, 0.005, 0.01, 0.002)))
    assert found[2] == "No phase takes longer than its share of one device's."


def test_phases_of_no_length_hold_nothing_back() -> None:
    still = worked("pCSR/p*", 0.04, phases_s={"compute": 0.0, "merge": 0.0})
    assert [sentence for sentence in said(still) if "phase" in sentence] == []


def test_a_lone_kernel_runs() -> None:
    assert said(*resident()) == [
        "pCSR/resident runs on cuda:0 with 4 devices: 2.50 ms a resident product.",
        "pCSR/resident is 3.20 × as fast as on one device (3.14 × to 3.26 ×, faster): 80 % of the ideal 4 ×.",
        "Its largest part has 1.00 × the mean of the nonzeros, which allows 100 % of the ideal.",
    ]


def test_equal_rows_of_resident_products_say_what_they_allow_and_what_is_measured() -> None:
    found = said(*cut_both_ways())
    assert (found[0], found[-1]) == (
        "pCSR/resident, balance nonzeros is fastest on cuda:0 with 4 devices: 2.50 ms a resident product, 2 times as fast "
        "as pCSR/resident, balance rows (faster).",
        "Its largest part has 1.00 × the mean of the nonzeros, which allows 100 % of the ideal; that of pCSR/resident, "
        "balance rows 2.50 ×, 40 %; measured is 50 % of the speed of equal nonzeros.",
    )
    lines = worked("pCSR/resident", 1e-3, 4, "resident", options={"balance": "rows"}, entries_by_device=LOPSIDED[4])
    found = said(*cut_both_ways()[:3], lines)
    assert found[0].endswith("1.00 ms a resident product, no other cut gains over it.")
    assert found[1].startswith("pCSR/resident, balance rows is 8.00 × as fast as on one device")
    assert found[-1].endswith("allows 40 % of the ideal; measured is 250 % of the speed of equal nonzeros.")


def test_a_library_is_said_beside_what_leads_of_ours() -> None:
    found = said(*cold(), *by_cusparse(cold(), 1.25, 3.0))
    assert found[:2] == [
        "pCSR/p*-opt is fastest on cuda:0 with 4 devices: 32.0 ms a product from the host, 2.5 times as fast as "
        "pCSR/baseline (faster).",
        "pCSR/p*-opt is 1.25 times as fast as pCSR/p*-opt, cusparse (faster), 3 times as fast in the phase "
        "compute alone.",
    ]
    assert found[2].startswith("pCSR/p*-opt is 3.12 × as fast as pCSR/baseline on one device"), (
        "not as cuSPARSE on one device"
    )
    assert found[-1].endswith("that of pCSR/baseline 2.50 ×, 40 %.")
    assert said(*resident(), *by_cusparse(resident(), 1.3))[1] == (
        "pCSR/resident is 1.3 times as fast as pCSR/resident, cusparse (faster)."
    )
    assert said(*resident(), *by_cusparse(resident(), 1.3)[:2], devices=2)[1].endswith(
        "is 1.3 times as fast as pCSR/resident, cusparse (faster)."
    )


def test_a_library_that_is_faster_does_not_lead() -> None:
    assert said(*iterated(), *by_cusparse(iterated(), 0.5, 0.5))[:2] == [
        "pCSR/iterate, overlap on is fastest on cuda:0 with 4 devices: 2.50 ms an iteration.",
        "pCSR/iterate, overlap on is 2 times as slow as pCSR/iterate, overlap on, cusparse (slower), 2 times "
        "as slow in the phase compute alone.",
    ]


def test_where_a_library_alone_has_a_time_it_is_named() -> None:
    refused = unworked("pCSR/resident", "needs 41 GB", work="resident")
    assert said(refused, *by_cusparse(resident(), 1.0)) == [
        "Nothing of ours has a time on cuda:0: needs 41 GB; pCSR/resident, cusparse takes 2.50 ms a resident "
        "product with 4 devices."
    ]
    virtual = by_cusparse(resident(device="cpu"), 1.0)
    assert said(*virtual)[0].startswith("Nothing of ours has a time on cpu; pCSR/resident, cusparse takes")


def test_an_iteration_says_what_crosses_and_what_is_hidden() -> None:
    found = said(*iterated())
    assert found[0] == "pCSR/iterate, overlap on is fastest on cuda:0 with 4 devices: 2.50 ms an iteration."
    assert found[2] == (
        "What holds it back is exchange: 1.00 ms, 33 % of its phases, where one device needs none. 4.00 MB cross "
        "between devices in an iteration, at 4.00 GB/s; 50 % of the exchange goes on beside the products."
    )
    assert said(*iterated()[3:])[2].endswith("none of the exchange goes on beside the products.")
    assert said(*ranked())[0] == (
        "pCSR/pagerank+cpms2 is fastest on cuda:0 with 4 devices: 2.50 ms an iteration of PageRank."
    )


def test_nothing_timed_says_why() -> None:
    assert said(unworked("pCSR/iterate", "the matrix is not square", work="iterate")) == [
        "Nothing has a time on cuda:0: the matrix is not square."
    ]


def test_what_did_not_converge_is_not_ranked() -> None:
    quick = worked("pCSR/pagerank+cpms2", 1e-3, 4, "pagerank", state="unconverged", note="γ is 0.1 after 5 iterations")
    alone = worked("pCSR/pagerank+fp64", 1e-3, 1, "pagerank", state="unconverged", note="γ is 0.2 after 5 iterations")
    assert said(quick) == ["Nothing converged on cuda:0: γ is 0.1 after 5 iterations."]
    found = said(quick, alone, worked("pCSR/pagerank+fp64", 4e-3, 4, "pagerank"))
    assert found[0] == "pCSR/pagerank+fp64 runs on cuda:0 with 4 devices: 4.00 ms an iteration of PageRank."
    assert found[1] == "pCSR/pagerank+fp64 has no time on one device here, so that nothing is said of its speed-up."


def test_nothing_leads_on_a_busy_machine() -> None:
    first, *_ = said(*(replace(m, aa_gap=0.12) for m in cold()))
    assert first.startswith("This machine was busy: the reference kernel differs from itself by 12.0%.")
