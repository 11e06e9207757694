"""What the CPMS PageRank paper says of its Figure 4 beside the products that were measured."""

from collections.abc import Callable
from dataclasses import dataclass

from gpu_engine.findings import units
from gpu_engine.findings.conclusions import Conclusion, Says, Statement, Trial, conclude, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.conclusions import ABOUT
from gpu_engine.findings.products.groups import Place, ProductGroup, places, product_groups
from gpu_engine.findings.tables import Table
from gpu_engine.pagerank.products import Block, Product

PRINTED: dict[tuple[int, int], float] = {(2, 1): 1.5, (4, 1): 2.0, (4, 2): 0.7 * 1.5}
"""(segments, read) → speed-up over fp64 that the text of §V gives, in the mean over the graphs: about 1.5, about twice,
about 30 % less than the first. On more bits it says slower, and gives no number.
"""

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
        part = " (lower)" if self.group.part == "lower" else ""
        return f"{data.matrix(self.group.matrix_id).name}{part} in {self.layout.partition('/')[0]}"


def conclusions(data: StudyData) -> list[Conclusion]:
    """Every statement on each device, all of the graphs and lower triangles alike."""
    found: dict[tuple[str, str], list[tuple[str, Heads]]] = {}
    for place in places(product_groups(data)):
        found.setdefault((place.device, "warm"), []).extend((heads.name(data), heads) for heads in _heads(place))
    return conclude(STATEMENTS, found, data)


def table(data: StudyData) -> Table:
    """A row a statement and device."""
    return table_of(conclusions(data))


def said(data: StudyData) -> str:
    """`Of the paper's 6 statements on Figure 4, 2 agree with these times, 1 mostly …`; empty where none is judged."""
    judged = [conclusion.says for conclusion in conclusions(data) if conclusion.says != "no data"]
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


def _about(segments: int, read: int) -> Callable[[Heads, StudyData], Trial | None]:
    def judge(heads: Heads, data: StudyData) -> Trial | None:  # noqa: ARG001
        gain = heads.gain(segments, read)
        return None if gain is None else Trial(gain >= ABOUT * PRINTED[segments, read], units.ratio(gain), gain)

    return judge


def _slower(segments: int, read: int) -> Callable[[Heads, StudyData], Trial | None]:
    def judge(heads: Heads, data: StudyData) -> Trial | None:  # noqa: ARG001
        gain = heads.gain(segments, read)
        return None if gain is None else Trial(gain < 1.0, units.ratio(gain), gain)

    return judge


def _two_of_four(heads: Heads, data: StudyData) -> Trial | None:  # noqa: ARG001
    one, two = heads.gain(2, 1), heads.gain(4, 2)
    return Trial(two < one, f"{units.ratio(two)} to {units.ratio(one)}") if one and two else None


STATEMENTS: tuple[Statement[Heads], ...] = (
    Statement(
        "A product on 32 of two segments' bits is about 1.5 times as fast as in fp64.",
        "graph",
        _about(2, 1),
        True,
        source="Figure 4",
    ),
    Statement(
        "A product on 16 of four segments' bits is about twice as fast as in fp64.",
        "graph",
        _about(4, 1),
        True,
        source="Figure 4",
    ),
    Statement(
        "On 32 bits, four segments gain less than two.",
        "graph",
        _two_of_four,
        True,
        source="Figure 4",
    ),
    Statement(
        "On 48 bits a product is slower than in fp64.",
        "graph",
        _slower(4, 3),
        True,
        source="Figure 4",
    ),
    Statement(
        "On all 64 bits of two segments it is slower than in fp64.",
        "graph",
        _slower(2, 2),
        True,
        source="Figure 4",
    ),
    Statement(
        "On all 64 bits of four segments it is slower than in fp64.",
        "graph",
        _slower(4, 4),
        True,
        source="Figure 4",
    ),
)
"""As §V of the paper has them, on a V100, of products with both operands in segments; they speak of most graphs."""
