"""The paper's statements on Figure 4, judged by SpMVs of which the numbers are known."""

from dataclasses import replace
from typing import Any

import pytest

from gpu_engine.findings.conclusions import Conclusion, Scope
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.reduced_spmv.conclusions import STATEMENTS, agreement, conclusions, table
from gpu_engine.findings.reduced_spmv.figure_four import PRINTED
from gpu_engine.pagerank.products import Product
from gpu_engine.text.units import THIN
from tests.samples.reduced_spmv import GRAPHS, every, shown

TEXTS = tuple(statement.text for statement in STATEMENTS)
TWO, TWO_ELL, FOUR, FOUR_ELL, LESS, _, FORTY_EIGHT = TEXTS[:7]
CSR = ("csr/thread",)


def judged(*measurements: Any, scope: Scope = "all") -> dict[str, tuple[str, str]]:
    """Statement → (what the SpMVs say, the numbers) of a lone device."""
    judgments = [c for c in conclusions(shown(*measurements)) if c.scope == scope]
    return {c.statement: (c.says, c.numbers.replace(THIN, " ")) for c in judgments}


def named(name: str, *measurements: Any) -> StudyData:
    """The data with another name of the matrix lux."""
    return StudyData(measurements, {**GRAPHS, "lux": replace(GRAPHS["lux"], name=name)})


def of(data: StudyData, text: str = FORTY_EIGHT) -> dict[Scope, Conclusion]:
    """Scope → conclusion of a statement on a lone device."""
    return {c.scope: c for c in conclusions(data) if c.statement == text}


def test_every_statement_is_judged_by_layout() -> None:
    judgments = judged(*every(), *every("del", layouts=CSR))
    assert {text: says for text, (says, _) in judgments.items()} == {
        **dict.fromkeys(TEXTS, "agrees"),
        **dict.fromkeys((FOUR, FOUR_ELL), "disagrees"),
    }
    assert judgments[TWO][1].startswith(
        "Geometric mean 1.600 × (graphs: 2), from 1.600 × (luxembourg_osm) to 1.600 × ("
    )
    assert judgments[TWO_ELL][1] == "Only luxembourg_osm 1.600 ×."
    assert judgments[FOUR][1].startswith("Geometric mean 1.250 × (graphs: 2)")
    assert judgments[LESS][1].startswith("Geometric mean 0.688 × (graphs: 2)")
    assert judgments[FORTY_EIGHT][1].startswith(
        "Holds for 2 of 2, geometric mean 0.95 ×. For luxembourg_osm 0.95 × (slower)"
    )


def test_the_mean_over_the_graphs_decides_and_its_ends_are_named() -> None:
    def gains(factor: float) -> dict[tuple[str, Product], float]:
        return {("csr/thread", Product(2, 1)): factor}

    for low, high, says in (
        (1.0, 2.2, "agrees"),
        (1.0, 2.0, "disagrees"),
        (1.4, 1.6, "agrees"),
        (1.4, 1.44, "disagrees"),
    ):
        both = (*every(layouts=CSR, gains=gains(high)), *every("del", layouts=CSR, gains=gains(low)))
        judgments = judged(*both)[TWO]
        assert judgments[0] == says
        assert judgments[1].endswith(f"from {low:.3f} × (delaunay_n15) to {high:.3f} × (luxembourg_osm).")


@pytest.mark.parametrize(
    ("ratio", "says"),
    [(0.64, "disagrees"), (0.66, "agrees"), (0.74, "agrees"), (0.76, "disagrees"), (1.0, "disagrees")],
)
def test_four_segments_have_about_thirty_percent_less_than_two(ratio: float, says: str) -> None:
    heads = {("csr/thread", Product(2, 1)): 1.5, ("csr/thread", Product(4, 2)): 1.5 * ratio}
    assert judged(*every(layouts=CSR, gains=heads))[LESS][0] == says


@pytest.mark.parametrize(
    ("text", "key", "least"), [(TWO, (2, 1), 1.45), (FOUR, (4, 1), 1.5)], ids=["two segments", "four segments"]
)
def test_a_number_is_reached_from_half_a_unit_below(text: str, key: tuple[int, int], least: float) -> None:
    assert PRINTED[key].least == pytest.approx(least)
    for gain, says in ((least + 0.001, "agrees"), (least - 0.001, "disagrees"), (3.0, "agrees")):
        heads = {("csr/thread", Product(*key)): gain}
        assert judged(*every(layouts=CSR, gains=heads))[text][0] == says


def test_slower_is_a_verdict() -> None:
    for gain, says in ((0.9, "agrees"), (0.995, "disagrees"), (1.2, "disagrees")):
        assert judged(*every(layouts=CSR, gains={("csr/thread", Product(4, 3)): gain}))[FORTY_EIGHT][0] == says


def test_it_speaks_of_every_graph_and_of_the_papers_blocks() -> None:
    worse = {("csr/thread", Product(4, 3)): 1.1}
    three = [*every(), *every("del", layouts=CSR), *every("third", layouts=CSR, gains=worse)]
    assert judged(*three)[FORTY_EIGHT][0] == "mostly"
    assert judged(*every(layouts=CSR), *every("del", layouts=CSR, gains=worse))[FORTY_EIGHT][0] == "seldom"
    # In blocks of 32 bytes all gains are a tenth less: they count where there are no others.
    assert "1.455 ×" in judged(*every(blocks=("32",)))[TWO][1]
    assert "1.600 ×" in judged(*every(blocks=("32", "128")))[TWO][1]


def test_the_papers_problems_are_judged_apart_and_with_all_others() -> None:
    faster = {("csr/thread", Product(4, 3)): 1.1}
    whole, lower = every(layouts=CSR, gains=faster), every(layouts=CSR, triangle="lower")
    symmetric = named("road_usa (stand-in)", *whole, *lower)
    assert {scope: c.says for scope, c in of(symmetric).items()} == {"paper": "agrees", "all": "seldom"}
    assert "road_usa (stand-in), whole" in of(symmetric)["all"].numbers
    assert {c.device for c in conclusions(symmetric)} == {"cuda:0"}
    assert agreement(symmetric) == agreement(named("road_usa", *lower))
    (web,) = of(named("Stanford", *whole, *lower)).values()
    assert (web.scope, web.says) == ("paper", "agrees")
    assert of(named("Stanford", *whole))["paper"].says == "disagrees"
    assert of(shown(*lower))["paper"].says == "no data"


def test_the_agreement_counts_statements() -> None:
    assert agreement(shown(*every())).startswith("Of the paper's 12 statements on Figure 4, 10 agree, 2 disagree ")
    assert agreement(shown(*every(layouts=CSR))).startswith(
        "Of the paper's 6 statements on Figure 4, 5 agree, 1 disagrees "
    )


def test_without_spmvs_nothing_is_judged() -> None:
    assert [c.says for c in conclusions(StudyData())] == ["no data"] * len(STATEMENTS)
    assert (agreement(StudyData()), table(StudyData()).rows) == ("", ())
    only_fp64 = [m for m in every() if m.kernel.endswith("+fp64")]
    assert {c.says for c in conclusions(shown(*only_fp64))} == {"no data"}
