"""The paper's statements on Figure 4, judged by products of which the numbers are known."""

from gpu_engine.findings.data import StudyData
from gpu_engine.findings.reduced_spmv.conclusions import STATEMENTS, agreement, conclusions, table
from gpu_engine.pagerank.products import Product
from gpu_engine.text.units import THIN
from tests.samples.reduced_spmv import every, shown

TWO, FOUR, ALIKE, FORTY_EIGHT, ALL_OF_TWO, ALL_OF_FOUR = range(6)


def judged(*measurements: object) -> list[tuple[str, str]]:
    found = conclusions(shown(*measurements))  # type: ignore[arg-type]
    return [(c.says, c.numbers.replace(THIN, " ")) for c in found]


def test_every_statement_is_judged_by_both_layouts_of_each_graph() -> None:
    found = judged(*every(), *every("del", layouts=("csr/thread",)))
    assert [says for says, _ in found] == ["agrees", "disagrees", "agrees", "agrees", "agrees", "agrees"]
    assert found[TWO][1] == (
        "Holds for 3 of 3, geometric mean 1.60 ×. For luxembourg_osm in csr 1.60 ×; luxembourg_osm in ell 1.60 ×; "
        "delaunay_n15 in csr 1.60 ×."
    )
    assert found[FOUR][1].startswith("Holds for 0 of 3, geometric mean 1.25 ×. Not for luxembourg_osm in csr 1.25 ×")
    assert found[ALIKE][1].startswith("Holds for 3 of 3. For luxembourg_osm in csr 1.10 × to 1.60 ×")


def test_a_number_that_is_said_to_be_about_holds_from_nine_tenths_on() -> None:
    for gain, says in ((1.36, "agrees"), (1.34, "disagrees")):
        heads = {("csr/thread", Product(2, 1)): gain}
        assert judged(*every(layouts=("csr/thread",), gains=heads))[TWO][0] == says


def test_it_speaks_of_most_graphs_and_of_the_papers_blocks() -> None:
    worse = {("ell/thread", Product(4, 3)): 1.2, ("csr/thread", Product(4, 3)): 1.1}
    assert judged(*every(), *every("del", gains=worse, layouts=("ell/thread",)))[FORTY_EIGHT][0] == "agrees"
    assert judged(*every(layouts=("csr/thread",)), *every("del", gains=worse))[FORTY_EIGHT][0] == "seldom"
    # In blocks of 32 bytes all gains are a tenth less: they count where there are no others.
    assert "1.45 ×" in judged(*every(blocks=("32",)))[TWO][1]
    assert "1.60 ×" in judged(*every(blocks=("32", "128")))[TWO][1]


def test_lower_triangles_are_judged_apart_and_are_what_the_paper_has() -> None:
    faster = {("csr/thread", Product(4, 3)): 1.1}
    data = shown(*every(layouts=("csr/thread",), gains=faster), *every(layouts=("csr/thread",), triangle="lower"))
    settings = {c.device: c.says for c in conclusions(data) if c.statement == STATEMENTS[FORTY_EIGHT].text}
    assert settings == {"cuda:0": "disagrees", "cuda:0, lower triangles": "agrees"}
    assert agreement(data) == agreement(shown(*every(layouts=("csr/thread",), triangle="lower")))


def test_without_products_nothing_is_judged() -> None:
    assert [c.says for c in conclusions(StudyData())] == ["no data"] * len(STATEMENTS)
    assert (agreement(StudyData()), table(StudyData()).rows) == ("", ())
    only_fp64 = [m for m in every() if m.kernel.endswith("+fp64")]
    assert {says for says, _ in judged(*only_fp64)} == {"no data"}
