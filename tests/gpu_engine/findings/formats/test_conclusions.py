from typing import Any

import pytest

from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.findings.formats.conclusions import STATEMENTS, conclusions, table
from gpu_engine.findings.formats.paper import FIGURE_11, FIGURE_12, SERIES, fastest_by_name, name_of
from gpu_engine.formats import kernel_names
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import timed, untimed

(ELLR, ROUGH, SMOOTH, LNSP, HYB_SMOOTH, HYB_ROUGH, MEMPLUS, BIELL, BIJAD, AT_MOST, *FIGURE_TEXTS) = (
    statement.text for statement in STATEMENTS
)
HYB_ALONE, BEST, PELLR_OR_JAD, CSRV, CSRV_LONG = FIGURE_TEXTS

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
MATRICES = {
    "rough": MatrixFeatures("rough", 10**6, 10**6, 30 * 10**6, 30.0, 20.0, 60.0, stored=LENGTHS),
    "small": MatrixFeatures("small", 900, 900, 27_000, 30.0, 20.0, 60.0, stored=LENGTHS),
    "even": MatrixFeatures("even", 900, 900, 9000, 10.0, 0.0, 0.0, stored={**LENGTHS, "n_iter_ellr": 100}),
    "spiky": MatrixFeatures("spiky", 900, 900, 9000, 10.0, 9.0, 500.0, stored={**LENGTHS, "max": 301}),
    "lnsp": MatrixFeatures("lnsp3937", 3937, 3937, 25_407, 6.5, 3.1, 10.0, stored=LENGTHS),
    "stand-in": MatrixFeatures("memplus (stand-in)", 17_758, 17_758, 126_150, 7.1, 22.0, 572.0, stored=LENGTHS),
}


def times(matrix: str, **us: float) -> list[Measurement]:
    """Kernels by the paper's names, in µs on an H200."""
    known: dict[str, Any] = {"roofline_s": 1e-7, "gather_probe_s": 1e-7, "environment": {"device": "NVIDIA H200"}}
    return [timed(KERNELS[n], time * 1e-6, matrix=matrix, device="cuda:0", **known) for n, time in us.items()]


def judged(*measurements: Measurement) -> dict[str, tuple[str, str]]:
    found = conclusions(StudyData(measurements, MATRICES))
    return {c.statement: (c.says, c.numbers.replace(THIN, " ")) for c in found}


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


def test_pellr_over_ellr_with_the_reason_where_it_gains_nothing() -> None:
    found = [*times("rough", PELLR=10, ELLR=9), *times("small", PELLR=10, ELLR=16), *times("even", PELLR=10, ELLR=8)]
    said = judged(*found, *times("spiky", PELLR=10, ELLR=9))
    assert said[ELLR] == (
        "seldom",
        "Holds for 1 of 4, geometric mean 1.01 ×. Not for rough 0.90 × (slower); even 0.80 × (slower); spiky 0.90 "
        "× (slower). Reasons: PELLR accesses x and y in a different order 1; sorting saves at most 10 % of n_iter "
        "1; all warps run at once and wait for the longest row 1.",
    )
    assert said[ROUGH] == (
        "seldom",
        "Holds for 1 of 2, geometric mean 1.20 ×. Not for rough 0.90 × (slower). Reasons: PELLR accesses x and y "
        "in a different order 1.",
    )
    assert said[SMOOTH] == ("agrees", "Holds for 1 of 1. For even 0.80 × (slower).")
    assert judged(*times("lnsp", PELLR=1, ELLR=4.1))[LNSP][0] == "agrees"
    assert judged(*times("lnsp", PELLR=1, ELLR=2))[LNSP][0] == "disagrees"


def test_pellr_over_hyb_by_sigma() -> None:
    found = [*times("even", PELLR=1, HYB=4), *times("spiky", PELLR=5, HYB=4), *times("rough", PELLR=1, HYB=1.5)]
    said = judged(*found)
    assert said[HYB_SMOOTH] == (
        "seldom",
        "Holds for 1 of 2, geometric mean 1.79 ×. Not for spiky 0.80 × (slower). Reasons: one thread processes a "
        "row longer than ten times the mean 1.",
    )
    assert said[HYB_ROUGH][0] == "agrees"
    assert "this HYB is not cuSPARSE's 1." in judged(*times("even", PELLR=1, HYB=2))[HYB_SMOOTH][1]


def test_memplus_is_known_in_its_stand_in_too() -> None:
    found = times("stand-in", PELLR=10, HYB=7, BiELL=8, BiJAD=9)
    assert judged(*found)[MEMPLUS] == ("agrees", "Holds for 1 of 1. For memplus (stand-in) 0.70 × and 0.80 ×.")
    assert judged(*found)[HYB_ALONE] == ("agrees", "Holds for 1 of 1. For memplus (stand-in) HYB ahead of BiELL.")
    assert judged(*times("rough", PELLR=10, HYB=7))[HYB_ALONE][0] == "disagrees"
    assert judged(*times("rough", PELLR=7, HYB=7))[HYB_ALONE][0] == "agrees", "it does not win alone"
    assert judged(*times("rough", PELLR=7, HYB=7))[MEMPLUS] == ("no data", "No memplus has the required timings.")


def test_bisection() -> None:
    said = judged(*times("rough", PELLR=10, BiELL=11, BiJAD=13.6), *times("even", PELLR=10, BiELL=11, BiJAD=13.4))
    assert [said[text][0] for text in (BIELL, BIJAD)] == ["agrees", "agrees"]
    assert said[AT_MOST] == (
        "seldom",
        "Holds for 1 of 2, geometric mean 1.35 ×. Not for rough 1.36 × (faster).",
    )


def test_the_best_of_figure_12() -> None:
    found = [*times("rough", PELLR=10, JAD=11, HYB=12), *times("even", PELLR=12, JAD=10, HYB=11, BiELL=1)]
    said = judged(*found, *times("spiky", PELLR=12, JAD=11, HYB=10))
    assert said[BEST] == ("seldom", "Holds for 1 of 3. Not for even 0.83 × JAD; spiky 0.83 × HYB.")
    assert said[PELLR_OR_JAD] == (
        "agrees",
        "Holds for 2 of 3. Not for spiky 0.91 × HYB.",
    )


def test_csrv_beside_cucsr_and_on_long_rows() -> None:
    found = [*times("rough", CSRV=5, cuCSR=4, ELL=6, JAD=7), *times("even", CSRV=9, cuCSR=4, ELL=6)]
    found += times("lnsp", PELLR=1)
    said = judged(*found)
    assert said[CSRV] == (
        "agrees",
        "Holds for 2 of 2, geometric mean 0.60 ×. For rough 0.80 × (slower); even 0.44 × (slower).",
    )
    assert said[CSRV_LONG] == ("agrees", "Holds for 1 of 1. For rough rank 2 of 4.")
    slow = times("rough", CSRV=9, cuCSR=4, ELL=6, JAD=7, PELLR=8)
    assert judged(*slow)[CSRV_LONG][0] == "disagrees"
    assert judged(*slow[:-1])[CSRV_LONG][0] == "no data", "the paper is about PELLR"


def test_cache_states_are_judged_apart() -> None:
    cold = [timed(KERNELS[name], 1e-3, "cold", "rough") for name in ("PELLR", "ELLR")]
    found = conclusions(StudyData([*cold, *times("rough", PELLR=1, ELLR=2)], MATRICES))
    places = [("cpu", "cold"), ("cuda:0", "warm")]
    assert [(c.device, c.cache) for c in found] == [place for place in places for _ in STATEMENTS]
    assert len(table(StudyData(cold, MATRICES)).rows) == len(STATEMENTS)


@pytest.mark.parametrize("nothing", [(), (untimed("pellr/thread", "skipped", "needs 41 GB"),)])
def test_no_results(nothing: tuple[Measurement, ...]) -> None:
    assert {says for says, _ in judged(*nothing).values()} == {"no data"}
    assert table(StudyData(nothing)).rows == ()
