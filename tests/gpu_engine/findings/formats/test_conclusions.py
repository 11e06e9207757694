import re
from typing import Any

import pytest

from gpu_engine.findings.conclusions import Scope
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.conclusions import STATEMENTS, conclusions, table
from gpu_engine.findings.formats.paper import (
    FIGURE_11,
    FIGURE_12,
    MATRICES,
    NAMES,
    ROW_LENGTHS,
    SERIES,
    SPEEDUPS,
    fastest_by_name,
    name_of,
    original,
)
from gpu_engine.formats import kernel_names
from gpu_engine.records import CACHES, Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import timed, untimed

IDS = (
    *("ellr", "rough", "smooth", "lnsp", "memplus-ellr"),
    *("hyb-smooth", "hyb-printed", "memplus-hyb", "memplus-0.7", "hyb-rough", "hyb-trend"),
    *("biell", "biell-two", "memplus-biell", "memplus-0.8172", "bijad", "bijad-1.3", "bijad-nearest"),
    *("after-hyb", "hyb-alone", "best", "pellr-or-jad", "jad-ellr", "csrv-poor", "csrv-long", "csrv-cucsr"),
    *("hyb-long", "hyb-memplus"),
)
TEXTS = dict(zip(IDS, (statement.text for statement in STATEMENTS), strict=True))

KERNELS = {
    "CSRV": "csr/vector16",
    "JAD": "jad/thread",
    "ELL": "ell/thread",
    "ELLR": "ellr/thread",
    "PELLR": "pellr/thread",
    "HYB": "hyb/segmented",
    "BiELL": "biell/warp",
    "BiJAD": "bijad/warp",
    "cuCSR": "cusparse/csr_alg2",
}
LENGTHS = {"n_iter_ellr": 200, "n_iter_pellr": 100, "max": 60, "ave": 30.0}
FEATURES = {
    "rough": MatrixFeatures("rough", 10**6, 10**6, 30 * 10**6, 30.0, 20.0, 60.0, stored=LENGTHS),
    "small": MatrixFeatures("small", 900, 900, 27_000, 30.0, 20.0, 60.0, stored=LENGTHS),
    "dense": MatrixFeatures("dense", 10**6, 10**6, 30 * 10**6, 30.0, 2000.0, 10.0**6, stored=LENGTHS),
    "even": MatrixFeatures("even", 900, 900, 9000, 10.0, 0.0, 0.0, stored={**LENGTHS, "n_iter_ellr": 100}),
    "spiky": MatrixFeatures("spiky", 900, 900, 9000, 10.0, 9.0, 500.0, stored={**LENGTHS, "max": 301}),
    "lnsp": MatrixFeatures("lnsp3937", 3937, 3937, 25_407, 6.453, 3.06, 10.0, stored=LENGTHS),
    "memplus": MatrixFeatures("memplus (stand-in)", 17_758, 17_758, 126_150, 7.1, 22.04, 572.0, stored=LENGTHS),
    "msc": MatrixFeatures("msc23052 (stand-in)", 23_052, 23_052, 10**6, 50.0, 19.9, 170.0, stored=LENGTHS),
    "e40r": MatrixFeatures("e40r0100", 17_281, 17_281, 553_562, 32.0, 14.5, 59.0, stored=LENGTHS),
}


def times(matrix: str, **us: float) -> list[Measurement]:
    """Kernels by the paper's names, in µs on an H200."""
    known: dict[str, Any] = {"roofline_s": 1e-7, "gather_probe_s": 1e-7, "environment": {"device": "NVIDIA H200"}}
    return [timed(KERNELS[n], time * 1e-6, matrix=matrix, device="cuda:0", **known) for n, time in us.items()]


def verdicts(*measurements: Measurement, scope: Scope = "all") -> dict[str, tuple[str, str]]:
    """Return the id of each statement → its verdict and numbers in a scope."""
    ids = {text: name for name, text in TEXTS.items()}
    of_scope = [c for c in conclusions(StudyData(measurements, FEATURES)) if c.scope == scope]
    return {ids[c.statement]: (c.says, c.numbers.replace(THIN, " ")) for c in of_scope}


def counted(numbers: str) -> tuple[int, int]:
    """Return how many matrices a statement holds for, and of how many."""
    match = re.match(r"Holds for (\d+) of (\d+)", numbers)
    assert match, numbers
    return int(match[1]), int(match[2])


def test_every_kernel_has_at_most_one_name_in_the_paper_and_the_fastest_counts() -> None:
    for name, kernel in KERNELS.items():
        assert name_of(timed(kernel, 1.0)) == name
    assert {*SERIES} == {*FIGURE_11, *FIGURE_12}
    assert all(
        any(known in (k, k.partition("/")[0]) for k in kernel_names("cuda")) for known in ("csr/vector16", "hyb")
    )
    others = (
        "csr/scalar",
        "hyb-mean/segmented",
        "cusparse/best",
        "cusparse/coo_alg1",
        "pellr/thread+rcm",
        "csc/atomic",
    )
    assert [name_of(timed(kernel, 1.0)) for kernel in others] == [""] * len(others)
    two = [timed("pellr/warp", 1.0), timed("pellr/thread", 2.0), timed("csr/scalar", 0.1)]
    assert {name: m.kernel for name, m in fastest_by_name(two).items() if name} == {"PELLR": "pellr/warp"}


def test_a_matrix_of_the_paper_is_known_by_its_names_and_in_its_stand_in() -> None:
    assert len(MATRICES) == 12
    assert len(NAMES) == 13
    known = {"memplus (stand-in)": "memplus", "e40r0100": "e40r5000", "e40r0100 (stand-in)": "e40r5000"}
    known |= {"BONES01": "boneS01", "rmat20": "", "memplus-2": "", "memplusᵀ": "", "memplus (stand-in)ᵀ": ""}
    assert {name: original(name) for name in known} == known
    assert {*ROW_LENGTHS, *(name for of in SPEEDUPS.values() for name in of)} <= {*MATRICES}


def test_the_matrices_of_the_paper_have_a_verdict_of_their_own() -> None:
    own, other = times("lnsp", PELLR=2, ELLR=1), times("rough", PELLR=1, ELLR=2)
    assert verdicts(*own, *other, scope="paper")["ellr"][0] == "disagrees"
    assert counted(verdicts(*own, *other)["ellr"][1]) == (1, 2)
    assert verdicts(*own) == {}, "no other matrix was measured"
    assert verdicts(*other, scope="paper")["ellr"][0] == "no data"


def test_pellr_over_ellr_with_a_possible_reason_where_it_gains_nothing() -> None:
    measured = [*times("rough", PELLR=10, ELLR=9), *times("small", PELLR=10, ELLR=16), *times("even", PELLR=10, ELLR=8)]
    judged = verdicts(*measured, *times("spiky", PELLR=10, ELLR=9))
    assert (judged["ellr"][0], counted(judged["ellr"][1])) == ("seldom", (1, 4))
    assert "geometric mean 1.01 ×" in judged["ellr"][1]
    assert [judged["ellr"][1].lower().count(word) for word in ("possibly", "n_iter", "longest row")] == [2, 1, 1]
    assert (judged["rough"][0], counted(judged["rough"][1])) == ("seldom", (1, 2))
    assert (judged["smooth"][0], counted(judged["smooth"][1])) == ("agrees", (1, 1))


def test_the_advantage_on_even_rows_rounds_to_at_most_1_1() -> None:
    assert verdicts(*times("even", PELLR=10, ELLR=11.4))["smooth"][0] == "agrees"
    assert verdicts(*times("even", PELLR=10, ELLR=11.6))["smooth"][0] == "disagrees"


@pytest.mark.parametrize(
    ("matrix", "rival", "statement", "holding", "failing"),
    [
        ("lnsp", "ELLR", "lnsp", (4.46, 4.54), (4.44, 4.56, 9.0)),
        ("memplus", "ELLR", "memplus-ellr", (1.06, 1.14), (1.04, 1.16)),
        ("msc", "HYB", "hyb-printed", (1.16, 1.24), (0.56, 1.26)),
        ("memplus", "HYB", "memplus-0.7", (0.66, 0.74), (0.04, 0.76)),
        ("memplus", "BiELL", "memplus-0.8172", (0.81719, 0.81721), (0.32, 0.8174)),
    ],
)
def test_a_printed_speedup_of_one_matrix_holds_if_ours_rounds_to_it(
    matrix: str, rival: str, statement: str, holding: tuple[float, ...], failing: tuple[float, ...]
) -> None:
    for ratio in (*holding, *failing):
        judged = verdicts(*times(matrix, PELLR=1.0, **{rival: ratio}), scope="paper")
        assert judged[statement][0] == ("agrees" if ratio in holding else "disagrees"), ratio
        assert judged["memplus-hyb" if rival == "HYB" else "memplus-biell"][0] == (
            "no data" if matrix != "memplus" or rival == "ELLR" else "agrees"
        ), "the sign alone is a statement of its own"


def test_about_1_5_is_reached_by_what_rounds_to_it_and_by_more() -> None:
    assert [verdicts(*times("rough", PELLR=100, ELLR=us))["rough"][0] for us in (144, 146, 300)] == [
        "disagrees",
        "agrees",
        "agrees",
    ]
    assert [verdicts(*times("rough", PELLR=100, HYB=us))["hyb-rough"][0] for us in (154, 156)] == [
        "disagrees",
        "agrees",
    ]
    assert [verdicts(*times("even", PELLR=100, HYB=us))["hyb-smooth"][0] for us in (340, 360)] == [
        "disagrees",
        "agrees",
    ]


def test_far_rougher_matrices_than_those_of_the_paper_are_out_of_range() -> None:
    judged = verdicts(*times("dense", PELLR=10, ELLR=1, HYB=1))
    assert {"rough", "hyb-rough"}.isdisjoint(judged)
    assert judged["ellr"][0] == "disagrees", "the statement on all matrices covers it"


def test_a_matrix_with_a_printed_speedup_over_hyb_is_judged_on_that_alone() -> None:
    judged = verdicts(*times("msc", PELLR=10, HYB=20), *times("e40r", PELLR=10, HYB=20), scope="paper")
    assert counted(judged["hyb-rough"][1]) == (1, 1)
    assert counted(judged["hyb-printed"][1]) == (0, 1)


def test_the_gain_over_hyb_falls_with_sigma_against_the_mean_of_the_papers_smooth_matrices() -> None:
    smooth = [*times("lnsp", PELLR=1, HYB=4), *times("even", PELLR=1, HYB=1)]
    measured = [*smooth, *times("msc", PELLR=1, HYB=3.9), *times("memplus", PELLR=1, HYB=4.1)]
    says, numbers = verdicts(*measured, *times("rough", PELLR=1, HYB=3), scope="paper")["hyb-trend"]
    assert (says, counted(numbers)) == ("seldom", (1, 2))
    assert "4.10 ×, 4.00 × if σ < 10" in numbers, "another smooth matrix is not in the mean"
    assert counted(verdicts(*measured, *times("rough", PELLR=1, HYB=3))["hyb-trend"][1]) == (2, 3)
    assert "hyb-trend" not in verdicts(*times("rough", PELLR=1, HYB=3)), "no smooth matrix of the paper"
    cold = [timed(KERNELS[name], us * 1e-6, "cold", "lnsp", "cuda:0") for name, us in (("PELLR", 9), ("HYB", 1))]
    judged = conclusions(StudyData([*measured, *cold], FEATURES))
    (warm,) = (c for c in judged if (c.statement, c.cache, c.scope) == (TEXTS["hyb-trend"], "warm", "paper"))
    assert warm.numbers == numbers.replace(" ×", f"{THIN}×"), "the cold one is not in the mean"


def test_bijad_is_the_nearest_of_three() -> None:
    measured = [
        *times("rough", PELLR=10, HYB=20, BiELL=6, BiJAD=14),
        *times("even", PELLR=10, HYB=13, BiELL=6, BiJAD=7),
        *times("spiky", PELLR=10, HYB=20, BiELL=9, BiJAD=14),
        *times("small", PELLR=10, HYB=20, BiJAD=10),
    ]
    says, numbers = verdicts(*measured)["bijad-nearest"]
    assert (says, counted(numbers)) == ("seldom", (1, 3))
    assert "even BiJAD 0.70 ×, HYB 1.30 ×;" in numbers


def test_a_best_format_is_named_with_the_next_one_and_another_with_its_speed_against_the_best() -> None:
    judged = verdicts(*times("memplus", HYB=10, PELLR=20, JAD=40), scope="paper")
    assert "memplus (stand-in) HYB ahead of PELLR." in judged["hyb-memplus"][1]
    assert "memplus (stand-in) PELLR 0.50 × against HYB." in judged["best"][1]


def test_the_reason_of_a_small_gain_over_hyb() -> None:
    judged = verdicts(*times("even", PELLR=1, HYB=4), *times("spiky", PELLR=5, HYB=4))
    assert (judged["hyb-smooth"][0], counted(judged["hyb-smooth"][1])) == ("seldom", (1, 2))
    assert "ten times the mean (1 of 2)." in judged["hyb-smooth"][1]
    assert "cuSPARSE (1 of 1)." in verdicts(*times("even", PELLR=1, HYB=2))["hyb-smooth"][1]


def test_memplus_is_known_in_its_stand_in_too() -> None:
    measured = times("memplus", PELLR=10, HYB=7, BiELL=8, BiJAD=9)
    assert [verdicts(*measured, scope="paper")[name][0] for name in ("hyb-alone", "hyb-memplus")] == ["agrees"] * 2
    assert verdicts(*times("rough", PELLR=10, HYB=7))["hyb-alone"][0] == "disagrees"
    assert verdicts(*times("rough", PELLR=7, HYB=7))["hyb-alone"][0] == "agrees", "it does not win alone"
    assert verdicts(*times("rough", PELLR=7, HYB=7), scope="paper")["memplus-hyb"][0] == "no data"


def test_bisection() -> None:
    measured = [*times("rough", PELLR=10, BiELL=11, BiJAD=13.6), *times("even", PELLR=10, BiELL=11, BiJAD=13.4)]
    judged = verdicts(*measured, *times("lnsp", PELLR=10, BiELL=9))
    assert [judged[name][0] for name in ("biell", "bijad")] == ["agrees", "agrees"]
    assert (judged["bijad-1.3"][0], counted(judged["bijad-1.3"][1])) == ("seldom", (1, 2))
    assert verdicts(*times("lnsp", PELLR=10, BiELL=9), scope="paper")["biell-two"][0] == "disagrees"


def test_three_formats_are_faster_than_hyb() -> None:
    measured = [
        *times("rough", PELLR=1, BiELL=1, BiJAD=1, HYB=2),
        *times("even", PELLR=1, BiELL=3, BiJAD=1, HYB=2),
        *times("small", PELLR=1, BiELL=1, HYB=2),
    ]
    assert counted(verdicts(*measured)["after-hyb"][1]) == (1, 2)


def test_the_best_of_figure_12_counts_matrices_where_all_formats_in_question_have_a_time() -> None:
    measured = [*times("rough", PELLR=10, JAD=11, HYB=12), *times("even", PELLR=12, JAD=10, HYB=11, BiELL=1)]
    judged = verdicts(*measured, *times("spiky", PELLR=12, JAD=11, HYB=10), *times("small", HYB=9, JAD=10))
    assert (judged["best"][0], counted(judged["best"][1])) == ("seldom", (1, 3))
    assert (judged["pellr-or-jad"][0], counted(judged["pellr-or-jad"][1])) == ("agrees", (2, 3))


def test_halves_of_figure_12() -> None:
    measured = [*times("rough", CSRV=5, cuCSR=4, ELL=6, JAD=7, ELLR=3), *times("even", CSRV=9, cuCSR=4, ELL=6)]
    judged = verdicts(*measured, *times("lnsp", PELLR=1))
    assert (judged["csrv-cucsr"][0], counted(judged["csrv-cucsr"][1])) == ("agrees", (2, 2))
    assert counted(judged["csrv-long"][1]) == (1, 1)
    assert counted(judged["csrv-poor"][1]) == (1, 2)
    assert counted(judged["jad-ellr"][1]) == (0, 1)
    assert "JAD 5, ELLR 1 of 5" in judged["jad-ellr"][1]
    slow = times("rough", CSRV=9, cuCSR=4, ELL=6, JAD=7, PELLR=8)
    assert verdicts(*slow)["csrv-long"][0] == "disagrees"
    assert conclusions(StudyData(slow[:-1], FEATURES))[0].device == "", "the paper is about PELLR"
    long_rows = times("msc", HYB=4, PELLR=5, ELLR=6, CSRV=1)
    assert verdicts(*long_rows, scope="paper")["hyb-long"][0] == "agrees"


def test_a_poor_format_that_is_the_fastest_is_counted() -> None:
    measured = [*times("lnsp", CSRV=1, PELLR=2, ELLR=3), *times("msc", CSRV=1, PELLR=2, ELLR=3)]
    says, numbers = verdicts(*measured, scope="paper")["csrv-poor"]
    assert (says, counted(numbers)) == ("disagrees", (0, 2))
    assert numbers.endswith("CSRV is the fastest (2 of 2).")


def test_cache_states_are_judged_apart_and_warm_comes_first() -> None:
    cold = [timed(KERNELS[name], 1e-3, "cold", "rough", "cuda:0") for name in ("PELLR", "ELLR")]
    judged = conclusions(StudyData([*cold, *times("rough", PELLR=1, ELLR=2)], FEATURES))
    assert list(dict.fromkeys(c.cache for c in judged)) == list(reversed(CACHES))
    assert len({(c.statement, c.cache) for c in judged}) == 2 * len(STATEMENTS)
    rows = table(StudyData(cold, FEATURES)).rows
    assert len(rows) > len(STATEMENTS), "a second row for all matrices"


@pytest.mark.parametrize("nothing", [(), (untimed("pellr/thread", "skipped", "needs 41 GB"),)])
def test_no_results(nothing: tuple[Measurement, ...]) -> None:
    assert {says for says, _ in verdicts(*nothing, scope="paper").values()} == {"no data"}
    assert table(StudyData(nothing)).rows == ()
