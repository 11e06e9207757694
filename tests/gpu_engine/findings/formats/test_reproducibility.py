"""What reproducibility costs: on one matrix, over several, and where nobody has looked."""

import math
from typing import Any

import pytest

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.formats import findings
from gpu_engine.findings.formats.reproducibility import cost, overview
from gpu_engine.records import Measurement
from gpu_engine.text.units import THIN
from tests.samples.formats import sized, timed, untimed

SAME: dict[str, Any] = {"replays": 50, "bitwise_reproducible": True, "reproducible_rebuild": True}
OTHER: dict[str, Any] = {"replays": 50, "bitwise_reproducible": False}


def pair(matrix: str, atomic_s: float, steady_s: float, **fields: Any) -> list[Measurement]:
    """A kernel that adds in any order, and one that does not."""
    return [
        timed("coo/segmented", atomic_s, matrix=matrix, **OTHER, **fields),
        timed("csr/vector", steady_s, matrix=matrix, **SAME, **fields),
    ]


def said(*measurements: Measurement) -> tuple[str, ...]:
    """The sentences of the lone finding after the first."""
    (finding,) = findings(StudyData(measurements))
    return tuple(sentence.replace(THIN, " ") for sentence in finding.sentences[1:])


def over(*measurements: Measurement) -> list[str]:
    """The sentences on all of them."""
    return [sentence.replace(THIN, " ") for sentence in overview(StudyData(measurements, {"m1": sized("one")}))]


def test_the_fastest_reproducible_kernel_stands_beside_the_fastest_of_all() -> None:
    assert said(*pair("m1", 1e-3, 1.25e-3)) == (
        "csr/vector is the fastest bitwise reproducible kernel: slowdown 1.25 × against coo/segmented.",
    )
    assert said(*pair("m1", 1e-3, 0.5e-3)) == ("csr/vector is bitwise reproducible (identical y in all runs).",)
    assert said(timed("coo/segmented", 1e-3, **OTHER)) == ("No timed kernel is bitwise reproducible.",)
    # What nobody has looked at is not spoken of.
    assert said(timed("coo/segmented", 1e-3), timed("csr/vector", 2e-3)) == ()


def test_a_second_build_with_other_bits_is_not_reproducible() -> None:
    rebuilt = timed("hyb/segmented", 0.5e-3, replays=50, bitwise_reproducible=True, reproducible_rebuild=False)
    found = cost([rebuilt, *pair("m1", 1e-3, 1.25e-3)])
    assert found is not None
    assert found.reproducible is not None
    assert (found.fastest.kernel, found.reproducible.kernel, found.ratio) == ("hyb/segmented", "csr/vector", 2.5)


def test_over_several_matrices_it_costs_the_geometric_mean() -> None:
    (sentence,) = over(*pair("m1", 1e-3, 1.2e-3), *pair("m2", 1e-3, 1.5e-3), *pair("m3", 1e-3, 0.9e-3))
    mean = math.prod((1.2, 1.5, 1.0)) ** (1 / 3)
    assert sentence == (
        f"Cost of bitwise reproducibility on cpu, warm: {mean:.2f} × (geometric mean over 3 matrices), at most 1.50 ×. "
        "The fastest kernel is reproducible on 1."
    )


def test_what_was_not_recorded_is_left_out_and_said() -> None:
    old = timed("csr/vector", 1e-9, matrix="m3")
    none = timed("coo/segmented", 1e-3, matrix="m4", **OTHER)
    (sentence,) = over(*pair("m1", 1e-3, 1.2e-3), *pair("m2", 1e-3, 1.2e-3), old, none)
    assert "over 2 matrices" in sentence
    assert sentence.endswith("reproducible on 0. On 1 more, no kernel is reproducible. On 1 more, it was not recorded.")
    assert over(old) == ["Bitwise reproducibility was not recorded on cpu, warm."]
    # The finding of a lone matrix has said it.
    assert over(*pair("m1", 1e-3, 1.2e-3)) == []


def test_places_and_transposes_are_spoken_of_apart() -> None:
    several = [
        m
        for matrix, slower in (("m1", 1.1), ("m2", 1.2))
        for transposed in (False, True)
        for m in pair(matrix, 1e-3, (slower + transposed) * 1e-3, transposed=transposed)
    ]
    assert [sentence.partition(", over")[0] for sentence in over(*several)] == [
        "Cost of bitwise reproducibility on cpu, warm: 1.15 × (geometric mean over 2 matrices), at most 1.20 ×. "
        "The fastest kernel is reproducible on 0.",
        "Cost of bitwise reproducibility on cpu, warm, Aᵀ: 2.15 × (geometric mean over 2 matrices), at most 2.20 "
        "×. The fastest kernel is reproducible on 0.",
    ]
    assert ["1.15 ×" in sentence for sentence in over(*several)] == [True, False]


@pytest.mark.parametrize(
    ("fields", "cell"),
    [
        (SAME, "yes"),
        (SAME | {"reproducible_rebuild": None}, "yes (one build)"),
        (SAME | {"reproducible_rebuild": False}, "runs only"),
        (OTHER, "no"),
        ({}, "not recorded"),
    ],
)
def test_the_table_says_it_of_each_kernel(fields: dict[str, Any], cell: str) -> None:
    measured = timed("ell/thread", 2e-3, **fields), *pair("m1", 1e-3, 1.2e-3), untimed("jad/thread", "failed", "wrong")
    (finding,) = findings(StudyData(measured))
    column = [head.text for head in finding.table.heads].index("bitwise reproducible")
    cells = {row[0]: row[column] for row in finding.table.rows}
    assert cells == {"coo/segmented": "no", "csr/vector": "yes", "ell/thread": cell, "jad/thread": "–"}


def test_results_of_which_nothing_is_known_have_no_such_column() -> None:
    (finding,) = findings(StudyData([timed("csr/vector", 1e-3)]))
    assert "same bits" not in [head.text for head in finding.table.heads]
