from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import pytest

from gpu_engine.findings.batched.conclusions import STATEMENTS, conclusions, table
from gpu_engine.findings.batched.groups import PAPER
from gpu_engine.findings.batched.paper import EXPERIMENTS, NAMES, SIMILAR
from gpu_engine.findings.conclusions import Scope
from gpu_engine.findings.data import MatrixFeatures, StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.batched import MATRICES, NOS3, copies, mixed, multiplied, refused, shown

TEXTS_BY_SOURCE = {source: [s.text for s in STATEMENTS if s.place == source] for source in EXPERIMENTS}
"""Place in the paper → its statements."""

STANDARD, TEN_TIMES, FASTEST, FIRST_OR_SECOND, NAMED, WEST, EX25 = TEXTS_BY_SOURCE["Figure 3"]
SCALAR_DROPS, VECTOR_GROWS, BEFORE_CSRI, CSRI_COMPETES, DENSE_ROWS, STANDARD_CSR = TEXTS_BY_SOURCE["Figure 4"]
BALANCED, UNBALANCED, BEFORE_CSR, CSRI_OR_SMART = TEXTS_BY_SOURCE["Figure 5"]
ORDER, BANDWIDTH, ELL_OF_COO, CSRI_OF_COO, SMART_OF_COO = TEXTS_BY_SOURCE["Figure 6"]
ELL_OF_COO_IN_ALL, ELL_FALLS, OTHERS_DO_NOT = TEXTS_BY_SOURCE["Figure 7"]
MIXED, SMART, AFTER_PREPROCESSING = TEXTS_BY_SOURCE["§4.2"]
(SUMMARY,) = TEXTS_BY_SOURCE["§5"]


class Verdict(NamedTuple):
    says: str
    numbers: str


Verdicts = Mapping[tuple[str, Scope], Verdict]


def judged(measurements: Sequence[Measurement], batch: str = "", **matrices: MatrixFeatures) -> Verdicts:
    """(statement, scope) → (what the records say, the numbers) of a lone place."""
    data = StudyData(measurements, MATRICES | matrices, chosen={"batch": (batch,)} if batch else {})
    return {(c.statement, c.scope): Verdict(c.says, c.numbers.replace(THIN, " ")) for c in conclusions(data)}


def rated(matrix: str, compose: str = "uniform", **rates: Any) -> list[Measurement]:
    """The paper's kernels by their first letters and the loops; those that are not given run at 1 GFLOP/s."""
    names = dict(zip(("coo", "scalar", "vector", "smart", "csri", "ell"), PAPER, strict=True))
    kernels = [multiplied(kernel, rates.get(name, 1.0), 1000, matrix, compose) for name, kernel in names.items()]
    loop, ell = rates.get("loop", 1.0), rates.get("ell_loop", 1.0)
    return [
        *kernels,
        *(multiplied(name, rate, 1000, matrix, compose) for name, rate in (("cusparse/loop", loop), ("ell/loop", ell))),
    ]


def mixture(names: Sequence[str], **rates: Any) -> list[Measurement]:
    """A mixed batch of matrices that have their names as ids."""
    environment = {"matrices": ", ".join(names)}
    axes: dict[str, Any] = {"compose": "mixed", "mixture": f"{len(names)}-{names[0]}"}
    return [
        multiplied(m.kernel, m.gflops or 0.0, 1000, names[0], environment=environment, **axes)
        for m in rated(names[0], **rates)
    ]


def test_every_statement_belongs_to_an_experiment_and_no_text_is_twice() -> None:
    assert len({statement.text for statement in STATEMENTS}) == len(STATEMENTS)
    assert sum(map(len, TEXTS_BY_SOURCE.values())) == len(STATEMENTS)


def test_coo_on_mixed_batches_of_the_paper_and_of_others() -> None:
    other = judged(mixed("west", "nos3"))
    assert other[MIXED, "paper"].says == "no data"
    assert other[MIXED, "all"] == (
        "disagrees",
        "Holds for 0 of 1. Not for 2 matrices mixed (west0989 and nos3) 0.80 × csri/warp.",
    )
    papers = judged(mixture(SIMILAR, coo=5, csri=4))
    assert papers[MIXED, "paper"].says == "agrees"
    assert (MIXED, "all") not in papers
    assert judged(rated("west", coo=5))[MIXED, "paper"].says == "no data"


def test_a_stand_in_counts_as_its_matrix_in_every_writing() -> None:
    names = [f"{name} (stand-in)" if name.startswith("ex") else name.upper() for name in SIMILAR]
    assert judged(mixture(names, coo=5))[MIXED, "paper"].says == "agrees"
    assert judged(mixture(names[1:], coo=5))[MIXED, "paper"].says == "no data"
    stand_in = replace(NOS3, name="nos3 (stand-in)")
    assert judged(rated("s", ell=5), s=stand_in)[NAMED, "paper"].says == "agrees"


def test_the_same_as_the_fastest_is_good_enough_and_ours_do_not_compete() -> None:
    fast = multiplied("auto/shared", 500.0, compose="mixed")
    assert judged([*rated("west", "mixed", coo=99.5, csri=100), fast])[MIXED, "all"].says == "agrees"
    assert judged(rated("west", "mixed", coo=98, csri=100))[MIXED, "all"].says == "disagrees"


def test_ell_on_balanced_matrices_and_on_the_three_that_the_paper_names() -> None:
    verdicts = judged([*rated("nos3", ell=5, coo=4), *rated("r2", ell=2, coo=4), *rated("west", coo=9)])
    assert verdicts[BALANCED, "paper"] == ("agrees", "Holds for 1 of 1. For nos3 1.25 × coo/segmented.")
    assert verdicts[BALANCED, "all"] == ("seldom", "Holds for 1 of 2. Not for rows_2 0.50 × coo/segmented.")
    assert verdicts[NAMED, "paper"].says == "agrees"
    assert (NAMED, "all") not in verdicts
    assert verdicts[UNBALANCED, "paper"] == ("agrees", "Holds for 1 of 1. For west0989 0.11 × coo/segmented.")
    assert judged(rated("west", ell=9))[UNBALANCED, "paper"].says == "disagrees"


def test_coo_on_copies_beside_all_and_beside_csr() -> None:
    verdicts = judged([*rated("west", coo=5, csri=4), *rated("nos3", ell=9, coo=5), *rated("r2", ell=9, csri=8, coo=5)])
    assert verdicts[FIRST_OR_SECOND, "paper"].says == "agrees"
    assert verdicts[FIRST_OR_SECOND, "all"] == ("mostly", "Holds for 2 of 3. Not for rows_2 0.56 × ell/thread.")
    assert verdicts[BEFORE_CSR, "all"] == ("mostly", "Holds for 2 of 3. Not for rows_2 0.62 × csri/warp.")
    assert verdicts[FASTEST, "paper"] == ("seldom", "Holds for 1 of 2. Not for nos3 0.56 × ell/thread.")
    batch = judged(rated("west", "mixed", coo=5))
    assert {batch[text, "paper"].says for text in (FASTEST, FIRST_OR_SECOND, BEFORE_CSR)} == {"no data"}


def test_random_and_engineered_matrices_are_not_those_of_figures_three_and_five() -> None:
    verdicts = judged([*rated("random", coo=5), *rated("r2", coo=5)], random=MatrixFeatures("random-1000-5"))
    for text in (TEN_TIMES, FASTEST, FIRST_OR_SECOND, BEFORE_CSR, CSRI_OR_SMART):
        assert (verdicts[text, "paper"].says, verdicts[text, "all"].says != "no data") == ("no data", True), text
    # The twelve of Figure 3 are some of the 32 of Figure 5.
    other = judged(rated("si2", coo=5), si2=MatrixFeatures("Si2", 769, 769))
    assert (other[FASTEST, "paper"].says, other[BEFORE_CSR, "paper"].says) == ("no data", "agrees")


def test_the_two_fastest_kernels_on_west() -> None:
    verdicts = judged(rated("west", scalar=5, coo=4))
    assert verdicts[WEST, "paper"] == (
        "agrees",
        "Holds for 1 of 1. For west0989 csr/scalar and coo/segmented are the fastest.",
    )
    assert judged(rated("west", scalar=5, csri=6, coo=4))[WEST, "paper"].says == "disagrees"
    assert judged(rated("nos3", scalar=5, coo=4))[WEST, "paper"].says == "no data"


def test_csri_or_smart_is_the_best_on_csr() -> None:
    three = [*rated("west", csri=5, coo=50), *rated("nos3", smart=3), *rated("r2", scalar=6, smart=3)]
    assert judged(three)[CSRI_OR_SMART, "all"] == ("agrees", "Holds for 2 of 3. Not for rows_2 0.17 × csr/scalar.")
    assert judged(rated("west", vector=6))[CSRI_OR_SMART, "paper"].says == "disagrees"


FOUR = MatrixFeatures("rows_4", 1024, 1024, 4_096, 4.0, 0.0, 0.0, stored={"max": 4})
"""A matrix of Figure 4 between those of MATRICES with 2 and 16 nonzeros per row."""


def test_scalar_drops_above_four_and_vector_grows() -> None:
    measurements = [*rated("r2", scalar=9, vector=2), *rated("four", scalar=5, vector=3), *rated("r16", scalar=4)]
    verdicts = judged(measurements, four=FOUR)
    # Compared with 4 per row, not with 2, and not from 2 to 4.
    assert verdicts[SCALAR_DROPS, "paper"] == (
        "agrees",
        "Holds for 1 of 1. For rows_16 (16 per row) 0.80 × that at 4.0.",
    )
    assert verdicts[VECTOR_GROWS, "paper"] == (
        "seldom",
        "Holds for 1 of 2. Not for rows_16 (16 per row) 0.33 × that at 4.0.",
    )
    assert judged([*rated("r2", scalar=4), *rated("r16", scalar=5)])[SCALAR_DROPS, "paper"].says == "disagrees"
    other = [m.with_(device="cuda:1") for m in rated("r2", scalar=9)]
    cases = [*rated("nos3", scalar=5), *rated("r16"), *other]
    assert {judged(cases)[text, "paper"].says for text in (SCALAR_DROPS, VECTOR_GROWS)} == {"no data"}


def test_csri_against_scalar_and_smart_by_row_length() -> None:
    verdicts = judged([*rated("r2", scalar=5, smart=4, csri=3), *rated("r16", smart=5, csri=5)])
    assert [verdicts[text, "paper"].says for text in (BEFORE_CSRI, CSRI_COMPETES)] == ["agrees", "agrees"]
    assert verdicts[BEFORE_CSRI, "paper"].numbers.endswith("csr/scalar 1.67 × and csr/smart 1.33 × csri/warp.")
    opposite = judged([*rated("r2", scalar=5, smart=3, csri=4), *rated("r16", smart=5, csri=4)])
    assert [opposite[text, "paper"].says for text in (BEFORE_CSRI, CSRI_COMPETES)] == ["disagrees", "disagrees"]
    # A tie is not faster; few dense rows and matrices that are not of Figure 4 do not count.
    assert judged(rated("r2", scalar=5, smart=4, csri=4))[BEFORE_CSRI, "paper"].says == "disagrees"
    others = judged([*rated("d2", csri=9), *rated("nos3", csri=9)])
    assert [others[text, "paper"].says for text in (BEFORE_CSRI, CSRI_COMPETES)] == ["no data", "no data"]


def test_csri_on_unbalanced_matrices() -> None:
    verdicts = judged([*rated("west", csri=5, smart=4), *rated("nos3", csri=1, smart=9), *rated("d2", smart=2)])
    assert (
        verdicts[AFTER_PREPROCESSING, "paper"].numbers == "Holds for 1 of 1. For west0989 csri/warp 1.25 × csr/smart."
    )
    assert verdicts[AFTER_PREPROCESSING, "all"].says == "seldom"
    ex25 = replace(NOS3, name="ex25 (stand-in)")
    assert judged(rated("s", csri=5, ell=4), s=ex25)[EX25, "paper"].says == "agrees"
    assert judged(rated("nos3", csri=5, ell=4))[EX25, "paper"].says == "no data"


def test_csri_where_few_rows_are_dense() -> None:
    two = [*rated("d2", csri=8, scalar=2), *rated("d32", csri=3, vector=2), *rated("west", scalar=9)]
    assert judged(two)[DENSE_ROWS, "paper"] == (
        "agrees",
        "Holds for 2 of 2. For dense_2 4.00 × csr/scalar; dense_32 1.50 × csr/vector.",
    )
    assert judged(rated("west", scalar=9))[DENSE_ROWS, "paper"].says == "no data"


def test_smart_without_preprocessing_is_about_mixed_batches() -> None:
    uniform = judged(rated("west", scalar=5))
    assert (uniform[SMART, "paper"].says, (SMART, "all") in uniform) == ("no data", False)
    assert judged(mixture(SIMILAR, smart=5, scalar=4, csri=50, coo=50))[SMART, "paper"].says == "agrees"
    assert judged(mixture(SIMILAR, smart=3, vector=4))[SMART, "paper"].numbers.endswith("0.75 × csr/vector.")


def test_every_kernel_has_the_loop_of_its_format_as_its_counterpart() -> None:
    fast: dict[str, Any] = {"coo": 40, "scalar": 30, "vector": 30, "smart": 30, "csri": 30}
    verdicts = judged(rated("west", **fast, ell=20, loop=2, ell_loop=1.6))
    assert verdicts[TEN_TIMES, "paper"] == (
        "agrees",
        "Holds for 1 of 1. For west0989 ell/thread 12.5 × ell/loop, coo/segmented 20.0 × cusparse/loop.",
    )
    assert judged(rated("west", **fast, ell=20, loop=3.2))[TEN_TIMES, "paper"].says == "disagrees", "30 over 3.2"
    # 9.5 rounds to 10.
    assert judged(rated("west", **fast, ell=9.5))[TEN_TIMES, "paper"].says == "agrees"
    assert judged(rated("west", **fast, ell=9.4))[TEN_TIMES, "paper"].says == "disagrees"
    assert judged(copies())[TEN_TIMES, "paper"].numbers.startswith("Holds for 0 of 1. Not for west0989 csr/vector 8.00")
    skipped = [multiplied("csr/smart", 9.0), refused("cusparse/chain", "too many")]
    assert judged(skipped)[TEN_TIMES, "paper"].says == "no data"


def test_standard_kernels_have_at_most_five_gflops_as_rounded() -> None:
    for rate, says in ((5.4, "agrees"), (5.5, "disagrees")):
        verdicts = judged([*rated("west", loop=1, ell_loop=rate), *rated("r2", loop=rate)])
        assert (verdicts[STANDARD, "paper"].says, verdicts[STANDARD_CSR, "paper"].says) == (says, says)
        assert verdicts[STANDARD, "paper"].numbers.endswith(f"west0989 ell/loop {rate:.2f} GFLOP/s.")
    # The kernels of a CUDA graph are not launched one by one.
    assert judged(copies())[STANDARD, "paper"].says == "no data"


PRINTED = {"coo": 55.0, "csri": 50.0, "smart": 45.0, "ell": 40.0}
"""Rates of Figure 6."""


def test_the_printed_rates_agree_on_any_scale() -> None:
    scaled = {name: 6 * rate for name, rate in PRINTED.items()}
    verdicts = judged([*mixture(SIMILAR, **scaled), *mixture(NAMES, **scaled | {"ell": 180})])
    ratios = ELL_OF_COO, CSRI_OF_COO, SMART_OF_COO, ELL_OF_COO_IN_ALL, ELL_FALLS, OTHERS_DO_NOT
    for text in (*ratios, ORDER):
        assert verdicts[text, "paper"].says == "agrees", text
    assert all((text, "all") not in verdicts for text in ratios)
    assert verdicts[ELL_FALLS, "paper"].numbers.endswith("0.75 ×, 180 of 240 GFLOP/s.")
    # 39.6 and 55.4 round to the printed throughputs.
    assert judged(mixture(SIMILAR, **PRINTED | {"ell": 39.6, "coo": 55.4}))[ELL_OF_COO, "paper"].says == "agrees"


@pytest.mark.parametrize(
    ("text", "similar", "every"),
    [
        # 40.5 of 54.5 are 0.743.
        (ELL_OF_COO, {"ell": 41.0}, {}),
        (CSRI_OF_COO, {"csri": 48.0}, {}),
        (SMART_OF_COO, {"smart": 47.0}, {}),
        # COO exceeds the printed rate: 30.5 of 54.5 are 0.560.
        (ELL_OF_COO_IN_ALL, {}, {"ell": 31.0}),
        (ELL_FALLS, {}, {"ell": 31.0}),
        (OTHERS_DO_NOT, {}, {"smart": 42.0}),
    ],
)
def test_other_ratios_disagree(text: str, similar: dict[str, float], every: dict[str, float]) -> None:
    rates = PRINTED | similar, PRINTED | {"ell": 30.0} | every
    verdicts = judged([*mixture(SIMILAR, **rates[0]), *mixture(NAMES, **rates[1])])
    assert verdicts[text, "paper"].says == "disagrees"


def test_a_smaller_ratio_to_a_rate_that_is_exceeded_agrees() -> None:
    rates = PRINTED, PRINTED | {"ell": 5.0}
    verdicts = judged([*mixture(SIMILAR, **rates[0]), *mixture(NAMES, **rates[1])])
    assert verdicts[ELL_OF_COO_IN_ALL, "paper"].says == "agrees"


def test_what_compares_two_mixtures_needs_both() -> None:
    verdicts = judged(mixture(NAMES, **PRINTED))
    assert {verdicts[text, "paper"].says for text in (ELL_FALLS, OTHERS_DO_NOT)} == {"no data"}
    assert verdicts[ELL_OF_COO_IN_ALL, "paper"].says == "disagrees"


def test_the_order_of_a_mixed_batch_is_that_of_throughput_and_of_bandwidth() -> None:
    assert judged(mixture(SIMILAR, **PRINTED | {"csri": 56.0}))[ORDER, "paper"].says == "disagrees"
    # As fast is not faster.
    assert judged(mixture(SIMILAR, **PRINTED | {"csri": 54.9}))[ORDER, "paper"].says == "disagrees"
    # The paper counts padding as read, whatever the kernel reads.
    padded = [m.with_(stored_bytes=10_000_000) if m.kernel == "ell/thread" else m for m in mixture(SIMILAR, **PRINTED)]
    assert judged(padded)[BANDWIDTH, "paper"].says == "agrees"
    assert judged(mixture(SIMILAR, **PRINTED))[BANDWIDTH, "paper"].says == "disagrees"
    # CSR-smart has less than COO, CSR-I more.
    csri = [m.with_(stored_bytes=8_000_000) if m.kernel == "csri/warp" else m for m in padded]
    assert judged(csri)[BANDWIDTH, "paper"].says == "disagrees"


def test_the_gain_of_the_summary_is_over_launches_of_a_mixed_batch() -> None:
    verdicts = judged(mixture(SIMILAR, coo=55, csri=50, smart=49, loop=2))
    assert verdicts[SUMMARY, "paper"] == (
        "agrees",
        "Holds for 1 of 1. For 12 matrices mixed (west0989, G45, ex25 and 9 more) csr/smart 24.5 × cusparse/loop, "
        "coo/segmented 27.5 × cusparse/loop.",
    )
    assert judged(mixture(SIMILAR, coo=55, csri=50, smart=48, loop=2))[SUMMARY, "paper"].says == "disagrees"


def test_the_largest_batch_with_the_times_is_judged_or_the_chosen_one() -> None:
    skipped = [m for m in copies(batch_size=10_000) if m.kernel != "cusparse/chain"]
    small = [multiplied("csr/smart", 30.0, 10), multiplied("cusparse/chain", 1.0, 10)]
    measurements = [*copies(batch_size=1000), *skipped, *small]
    assert judged(measurements)[TEN_TIMES, "paper"].numbers.startswith("Holds for 0 of 1. Not for west0989 csr/vector")
    assert judged(measurements, batch="10")[TEN_TIMES, "paper"].says == "agrees"
    assert judged(measurements, batch="10000")[TEN_TIMES, "paper"].says == "no data"


def test_devices_are_judged_apart() -> None:
    verdicts = conclusions(shown(*copies(), *copies(device="cpu")))
    assert [(c.device, c.statement) for c in verdicts] == [
        (device, statement.text) for device in ("cuda:0", "cpu") for statement in STATEMENTS
    ]
    assert [(row[0], row[2]) for row in table(shown(*copies())).rows] == [
        (c.statement, c.says) for c in verdicts if c.device == "cuda:0"
    ]


@pytest.mark.parametrize("nothing", [StudyData(), shown(refused("csr/smart", "no entries"))])
def test_no_results(nothing: StudyData) -> None:
    assert {c.says for c in conclusions(nothing)} == {"no data"}
    assert table(nothing).rows == ()
