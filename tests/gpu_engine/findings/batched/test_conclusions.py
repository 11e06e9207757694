from collections.abc import Sequence

import pytest

from gpu_engine.findings.batched.conclusions import STATEMENTS, conclusions, table
from gpu_engine.findings.batched.groups import PAPER
from gpu_engine.findings.data import StudyData
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.batched import copies, mixed, multiplied, refused, shown

COO, ELL, NEXT, BEFORE_CSR, BALANCED, SCALAR, CSRI, SMART, LOOP = (statement.text for statement in STATEMENTS)


def judged(found: Sequence[Measurement], batch: str = "") -> dict[str, tuple[str, str]]:
    """Statement → (what the records say, the numbers) of a lone place."""
    return {
        c.statement: (c.says, c.numbers.replace(THIN, " "))
        for c in conclusions(shown(*found, chosen={"batch": (batch,)} if batch else {}))
    }


def rated(matrix: str, compose: str = "uniform", **rates: float) -> list[Measurement]:
    """The paper's kernels by their first letters and the loop; those that are not given run at 1 GFLOP/s."""
    names = dict(zip(("coo", "scalar", "vector", "smart", "csri", "ell"), PAPER, strict=True))
    found = [multiplied(kernel, rates.get(name, 1.0), 1000, matrix, compose) for name, kernel in names.items()]
    return [*found, multiplied("cusparse/chain", rates.get("loop", 1.0), 1000, matrix, compose)]


def test_coo_on_mixed_batches() -> None:
    assert judged(mixed("west", "nos3"))[COO] == (
        "disagrees",
        "Holds for 0 of 1. Not for 2 matrices mixed (west0989 and nos3) 0.80 × csri/warp.",
    )
    assert judged(rated("west", coo=5))[COO] == ("no data", "No mixed batch has the required timings.")


def test_the_same_as_the_fastest_is_good_enough_and_ours_do_not_compete() -> None:
    found = [*rated("west", "mixed", coo=99.5, csri=100), multiplied("auto/shared", 500.0, compose="mixed")]
    assert judged(found)[COO][0] == "agrees"
    assert judged(rated("west", "mixed", coo=98, csri=100))[COO][0] == "disagrees"


def test_ell_on_balanced_matrices_alone() -> None:
    found = [*rated("nos3", ell=5, coo=4), *rated("r2", ell=2, coo=4), *rated("west", coo=9)]
    assert judged(found)[ELL] == (
        "seldom",
        "Holds for 1 of 2. Not for rows_2 0.50 × coo/segmented.",
    )


def test_coo_on_copies_beside_all_and_beside_csr() -> None:
    found = judged([*rated("west", coo=5, csri=4), *rated("nos3", ell=9, coo=5), *rated("r2", ell=9, csri=8, coo=5)])
    assert found[NEXT] == ("mostly", "Holds for 2 of 3. Not for rows_2 0.56 × ell/thread.")
    assert found[BEFORE_CSR] == ("mostly", "Holds for 2 of 3. Not for rows_2 0.62 × csri/warp.")
    mixture = judged(rated("west", "mixed", coo=5))
    assert {mixture[text][0] for text in (NEXT, BEFORE_CSR, BALANCED)} == {"no data"}


def test_csri_or_smart_is_the_best_on_csr() -> None:
    found = [*rated("west", csri=5, coo=50), *rated("nos3", smart=3), *rated("r2", scalar=6, smart=3)]
    assert judged(found)[BALANCED] == ("agrees", "Holds for 2 of 3. Not for rows_2 0.17 × csr/scalar.")
    assert judged(rated("west", vector=6))[BALANCED][0] == "disagrees"


def test_scalar_is_the_best_up_to_four_and_not_beyond() -> None:
    assert judged([*rated("r2", scalar=5, smart=4), *rated("r16", vector=5, scalar=1)])[SCALAR] == (
        "agrees",
        "Holds for 2 of 2. For rows_2 (2.0 per row) 1.25 × csr/smart; rows_16 (16 per row) 0.20 × csr/vector.",
    )
    assert judged([*rated("r2", vector=5), *rated("r16", scalar=5)])[SCALAR][0] == "disagrees"
    # A kernel on another format is not what it is about.
    assert judged(rated("r2", scalar=5, ell=50))[SCALAR][0] == "agrees"


def test_csri_where_few_rows_are_dense() -> None:
    found = [*rated("d2", csri=8, scalar=2), *rated("d32", csri=3, vector=2), *rated("west", scalar=9)]
    assert judged(found)[CSRI] == (
        "agrees",
        "Holds for 2 of 2. For dense_2 4.00 × csr/scalar; dense_32 1.50 × csr/vector.",
    )
    assert judged(rated("west", scalar=9))[CSRI][0] == "no data"


def test_smart_where_nothing_is_prepared() -> None:
    found = [*rated("west", smart=5, scalar=4, csri=50, coo=50), *rated("nos3", "mixed", smart=3, vector=4)]
    assert judged(found)[SMART] == (
        "seldom",
        "Holds for 1 of 2. Not for mixed 0.75 × csr/vector.",
    )


def test_every_kernel_is_ten_times_a_loop() -> None:
    assert judged(rated("west", coo=40, scalar=30, vector=30, smart=30, csri=30, ell=20, loop=1.6))[LOOP] == (
        "agrees",
        "Holds for 1 of 1. For west0989 ell/thread 12.50 ×, coo/segmented 25.00 × cusparse/chain.",
    )
    assert judged(copies())[LOOP][0] == "disagrees", "ell/thread is four times as fast"
    assert judged([multiplied("csr/smart", 9.0), refused("cusparse/chain", "too many")])[LOOP][0] == "no data"


def test_the_largest_batch_with_the_times_is_judged_or_the_chosen_one() -> None:
    skipped = [m for m in copies(batch_size=10_000) if m.kernel != "cusparse/chain"]
    small = [multiplied("csr/smart", 30.0, 10), multiplied("cusparse/chain", 1.0, 10)]
    found = [*copies(batch_size=1000), *skipped, *small]
    assert judged(found)[LOOP][1].startswith("Holds for 0 of 1. Not for west0989 ell/thread 4.00 ×")
    assert judged(found, batch="10")[LOOP][0] == "agrees"
    assert judged(found, batch="10000")[LOOP][0] == "no data"


def test_exceptions_are_named() -> None:
    found = [m for matrix in ("r2", "r16", "nos3") for m in rated(matrix, smart=5)]
    numbers = judged([*found, *rated("west", vector=5), *rated("d2", smart=4)])[SMART][1]
    assert numbers == "Holds for 4 of 5. Not for west0989 0.20 × csr/vector."


def test_devices_are_judged_apart() -> None:
    found = conclusions(shown(*copies(), *copies(device="cpu")))
    assert [(c.device, c.statement) for c in found] == [
        (device, statement.text) for device in ("cuda:0", "cpu") for statement in STATEMENTS
    ]
    assert [row[:2] for row in table(shown(*copies())).rows] == [
        (c.statement, c.says) for c in found if c.device == "cuda:0"
    ]


@pytest.mark.parametrize("nothing", [StudyData(), shown(refused("csr/smart", "no entries"))])
def test_no_results(nothing: StudyData) -> None:
    assert {c.says for c in conclusions(nothing)} == {"no data"}
    assert table(nothing).rows == ()
