"""What the CPMS PageRank paper says of its Figure 4 beside the products that were measured."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_engine.findings.conclusions import Conclusion, Says, Statement, conclude, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.figure_four import figure_four, on_all_bits
from gpu_engine.findings.reduced_spmv.groups import Place, ProductGroup, places, product_groups
from gpu_engine.pagerank.products import Block, Product
from gpu_engine.text.tables import Table

SAID: tuple[Says, ...] = ("agrees", "mostly", "seldom", "disagrees")
"""What may be said of a statement that is judged."""


@dataclass(frozen=True, slots=True)
class Heads:
    """The paper's products of a graph in one layout: both operands in segments, in one size of a block."""

    group: ProductGroup
    layout: str
    block: Block

    def gain(self, segments: int, read: int) -> float | None:
        """Over fp64 in the same layout."""
        return self.group.gain(self.layout, Product(segments, read, "both", self.block))

    def name(self, data: StudyData) -> str:
        """The graph and the layout."""
        return f"{data.matrix(self.group.matrix_id).name} in {self.layout.partition('/')[0]}"


def conclusions(data: StudyData) -> list[Conclusion]:
    """Every statement on each device, of whole graphs and of lower triangles apart."""
    return _judged(places(product_groups(data)), data)


def _judged(of: Iterable[Place], data: StudyData) -> list[Conclusion]:
    found: dict[tuple[str, str], list[tuple[str, Heads]]] = {}
    for place in of:
        found.setdefault((place.name, "warm"), []).extend((heads.name(data), heads) for heads in _heads(place))
    return conclude(STATEMENTS, found, data)


def table(data: StudyData) -> Table:
    """A row a statement and device."""
    return table_of(conclusions(data))


def said(data: StudyData) -> str:
    """`Of the paper's 6 statements on Figure 4, 2 agree with these times, 1 mostly …`; empty where none is judged.

    They are of lower triangles, as the paper's products are, where these were measured.
    """
    found = places(product_groups(data))
    papers = [place for place in found if place.triangle == "lower"] or found
    judged = [conclusion.says for conclusion in _judged(papers, data) if conclusion.says != "no data"]
    counts = [_counted(judged.count(says), says) for says in SAID if says in judged]
    return (
        f"Of the paper's {len(judged)} statements on Figure 4, {', '.join(counts)} with these times." if judged else ""
    )


def _counted(count: int, says: Says) -> str:
    """`2 agree`, `1 agrees`, `2 mostly agree`, `1 disagrees`."""
    verb = f"{says} agrees" if says in ("mostly", "seldom") else says
    return f"{count} {verb if count == 1 else verb.removesuffix('s')}"


def _heads(place: Place) -> list[Heads]:
    return [Heads(group, layout, place.block) for group in place.groups for layout in place.layouts]


STATEMENTS: tuple[Statement[Heads], ...] = (*figure_four(Heads.gain), *on_all_bits(Heads.gain))
"""Of products with both operands in segments."""
