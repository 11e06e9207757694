"""Statements of the CPMS PageRank paper on Figure 4, checked against measured SpMVs."""

from collections.abc import Iterable
from dataclasses import dataclass

from gpu_engine.findings.conclusions import Conclusion, Says, Statement, conclude, table_of
from gpu_engine.findings.data import StudyData
from gpu_engine.findings.pagerank.figure_four import figure_four, on_all_bits
from gpu_engine.findings.reduced_spmv.groups import ProductGroup, Setting, group_by_setting, product_groups
from gpu_engine.pagerank.products import Block, Product
from gpu_engine.text.tables import Table

RESULTS: tuple[Says, ...] = ("agrees", "mostly", "seldom", "disagrees")
"""Possible results of a statement with data."""


@dataclass(frozen=True, slots=True)
class Heads:
    """SpMVs of the paper on a graph in one layout: both operands in segments, in one block size."""

    group: ProductGroup
    layout: str
    block: Block

    def gain(self, segments: int, read: int) -> float | None:
        """Return the speedup over fp64 in the same layout; None without two times."""
        return self.group.gain(self.layout, Product(segments, read, "both", self.block))

    def name(self, data: StudyData) -> str:
        """Return the name of the graph and the layout."""
        return f"{data.matrix(self.group.matrix_id).name} in {self.layout.partition('/')[0]}"


def conclusions(data: StudyData) -> list[Conclusion]:
    """Return the conclusion of each statement per device, separately for complete graphs and lower triangles."""
    return _conclusions(group_by_setting(product_groups(data)), data)


def _conclusions(settings: Iterable[Setting], data: StudyData) -> list[Conclusion]:
    cases: dict[tuple[str, str], list[tuple[str, Heads]]] = {}
    for setting in settings:
        cases.setdefault((setting.name, "warm"), []).extend((heads.name(data), heads) for heads in _heads(setting))
    return conclude(STATEMENTS, cases, data)


def table(data: StudyData) -> Table:
    """Return a table with one row per statement and device."""
    return table_of(conclusions(data))


def agreement(data: StudyData) -> str:
    """Return `Of the paper's 6 statements on Figure 4, 2 agree …`; empty if none has data.

    Lower triangles are used if they were measured, as in the paper.
    """
    settings = group_by_setting(product_groups(data))
    papers = [setting for setting in settings if setting.triangle == "lower"] or settings
    results = [conclusion.says for conclusion in _conclusions(papers, data) if conclusion.says != "no data"]
    counts = [_count_text(results.count(says), says) for says in RESULTS if says in results]
    return (
        f"Of the paper's {len(results)} statements on Figure 4, {', '.join(counts)} with these times."
        if results
        else ""
    )


def _count_text(count: int, says: Says) -> str:
    """Return `2 agree`, `1 agrees`, `2 mostly agree`, or `1 disagrees`."""
    verb = f"{says} agrees" if says in ("mostly", "seldom") else says
    return f"{count} {verb if count == 1 else verb.removesuffix('s')}"


def _heads(setting: Setting) -> list[Heads]:
    return [Heads(group, layout, setting.block) for group in setting.groups for layout in setting.layouts]


STATEMENTS: tuple[Statement[Heads], ...] = (*figure_four(Heads.gain), *on_all_bits(Heads.gain))
"""Statements on SpMV with both operands in segments."""
